"""Display for logs and pipes: plain lines."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self, TextIO

from harness.core.protocols import BoardRow
from harness.core.terminal_text import clean_for_terminal
from harness.shell.streams import never_failing

_QUIET_S = 20.0
"""A plain log reports progress after so long."""


class PlainTask:
    """Task as lines: now and then one about its progress."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self._name = name
        self._stream = stream
        self._total: float | None = None
        self._text: str | None = None
        self._printed = time.monotonic()

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        """Print the progress, if the last line is long ago."""
        self._total = total if total is not None else self._total
        self._text = text if text is not None else self._text
        now = time.monotonic()
        if now - self._printed < _QUIET_S:
            return
        self._printed = now
        share = f" {completed / self._total:.0%}" if completed is not None and self._total else ""
        detail = f" ({self._text})" if self._text else ""
        _print_line(f"... {self._name}{share}{detail}", self._stream)


class PlainBoard:
    """Board as lines: one for each row that is decided, and now and then one about progress.

    Args:
        header: Headings of the columns.
        stream: Stream to write to.
        clock: Seconds.
        name: Beginning of its lines, so that those of several boards can be distinguished.
    """

    def __init__(
        self,
        header: Sequence[str],
        stream: TextIO,
        clock: Callable[[], float] = time.monotonic,
        name: Callable[[], str] = str,
    ) -> None:
        self._name = name
        self._header = header
        self._stream = stream
        self._clock = clock
        self._known: dict[int, str] = {}
        self._printed = clock()

    def show(self, rows: Sequence[BoardRow]) -> None:
        """Print rows that are newly decided, and after a while how many are."""
        for number, row in enumerate(rows):
            state = row.cells[-1]
            if row.is_decided and self._known.get(number) != state:
                self._known[number] = state
                self._print(f"{self._name()}{row.cells[0]}: {state} ({self._figures(row)})")
        if self._clock() - self._printed >= _QUIET_S:
            decided = sum(row.is_decided for row in rows)
            open_row = next((f"; {row.cells[0]}: {self._figures(row)}" for row in rows if not row.is_decided), "")
            self._print(f"... {self._name()}{decided} of {len(rows)} decided{open_row}")

    def _figures(self, row: BoardRow) -> str:
        """Join the cells between first and last that have letters or digits, with their headings."""
        named = list(zip(self._header, row.cells, strict=True))[1:-1]
        return ", ".join(f"{name} {cell.strip()}" for name, cell in named if any(map(str.isalnum, cell)))

    def _print(self, line: str) -> None:
        self._printed = self._clock()
        _print_line(line, self._stream)


class PlainDisplay:
    """Display that prints plain lines."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = never_failing(stream)
        self._boards: list[str] = []
        self._beside = False
        """Whether there were ever two boards at the same time."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    @contextlib.contextmanager
    def task(self, text: str, total: float | None = None) -> Iterator[PlainTask]:
        """Print a line when the task begins."""
        self.say(text)
        task = PlainTask(text, self._stream)
        task.update(total=total)
        yield task

    @contextlib.contextmanager
    def board(self, title: str, header: Sequence[str]) -> Iterator[PlainBoard]:
        """Print a line for each row that is decided, until the context ends."""
        self.say(title)
        self._boards.append(title)
        self._beside = self._beside or len(self._boards) > 1
        try:
            yield PlainBoard(header, self._stream, name=lambda: f"{title}: " if self._beside else "")
        finally:
            self._boards.remove(title)

    def say(self, text: str) -> None:
        """Print one line."""
        _print_line(text, self._stream)


def _print_line(text: str, stream: TextIO) -> None:
    print(clean_for_terminal(text), file=stream, flush=True)
