"""Display for logs and pipes: plain lines."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from harness.core.terminal_text import clean_for_terminal
from harness.files.streams import never_failing

if TYPE_CHECKING:
    from harness.core.protocols import BoardRow

_QUIET_S = 20.0
"""A plain log reports progress after so long."""


class PlainTask:
    """Task as lines: now and then one about its progress."""

    def __init__(self, name: str, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._stream = stream
        self._clock = clock
        self._total: float | None = None
        self._text: str | None = None
        self._begun = self._printed = clock()

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        """Print the progress, if the last line is long ago."""
        self._total = total if total is not None else self._total
        self._text = text if text is not None else self._text
        now = self._clock()
        if now - self._printed < _QUIET_S:
            return
        self._printed = now
        share = f" {completed / self._total:.0%}" if completed is not None and self._total else ""
        if completed and self._total and completed < self._total:
            share += f", about {_rounded((now - self._begun) * (self._total - completed) / completed)} left"
        detail = f" ({self._text})" if self._text else ""
        _print_line(f"... {self._name}{share}{detail}", self._stream)


def _rounded(duration_s: float) -> str:
    """Format an estimated duration with one unit."""
    minutes = round(duration_s / 60)
    return f"{minutes} min" if minutes else f"{duration_s:.0f} s"


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
        self._open: dict[int, Callable[[], BoardRow]] = {}
        self._rows = 0
        self._printed = clock()

    def show(self, rows: Sequence[BoardRow]) -> None:
        """Print rows that are newly decided, and after a while how many are."""
        self._rows = len(rows)
        self._open.clear()
        for number, row in enumerate(rows):
            self._take(number, partial(_same, row), is_decided=row.is_decided)
        self._print_progress()

    def update(self, number: int, row: Callable[[], BoardRow], *, is_decided: bool) -> None:
        """Print the row if it is newly decided, and after a while how many are."""
        self._take(number, row, is_decided=is_decided)
        self._print_progress()

    def _take(self, number: int, row: Callable[[], BoardRow], *, is_decided: bool) -> None:
        """Keep an open row, which is made only if it is printed; print a decided one."""
        if not is_decided:
            self._open[number] = row
            return
        self._open.pop(number, None)
        cells = row().cells
        if self._known.get(number) != cells[-1]:
            self._known[number] = cells[-1]
            self._print(f"{self._name()}{cells[0]}: {cells[-1]} ({self._figures(cells)})")

    def _print_progress(self) -> None:
        if self._clock() - self._printed < _QUIET_S:
            return
        open_row = ""
        if self._open:
            cells = self._open[min(self._open)]().cells
            open_row = f"; {cells[0]}: {self._figures(cells)}"
        self._print(f"... {self._name()}{self._rows - len(self._open)} of {self._rows} decided{open_row}")

    def _figures(self, cells: Sequence[str]) -> str:
        """Join the cells between first and last that have letters or digits, with their headings."""
        named = list(zip(self._header, cells, strict=True))[1:-1]
        return ", ".join(f"{name} {cell.strip()}" for name, cell in named if any(map(str.isalnum, cell)))

    def _print(self, line: str) -> None:
        self._printed = self._clock()
        _print_line(line, self._stream)


def _same(row: BoardRow) -> BoardRow:
    return row


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

    def warn(self, text: str) -> None:
        """Print one line about something that went wrong."""
        _print_line(text, self._stream)


def _print_line(text: str, stream: TextIO) -> None:
    stream.write(f"{clean_for_terminal(text)}\n")  # at once: `print` lets the line of another thread come in between
    stream.flush()
