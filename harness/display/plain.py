"""Lines for logs and pipes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self, TextIO

from harness.display.decided import is_decided
from harness.shell.streams import never_failing

_QUIET_S = 20.0
"""A plain log says again that something goes on after so long."""


class PlainTask:
    """Says now and then how far it is."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self._name = name
        self._stream = stream
        self._total: float | None = None
        self._text: str | None = None
        self._told = time.monotonic()

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        """Tell it, if the last telling is long ago."""
        self._total = total if total is not None else self._total
        self._text = text if text is not None else self._text
        now = time.monotonic()
        if now - self._told < _QUIET_S:
            return
        self._told = now
        share = f" {completed / self._total:.0%}" if completed is not None and self._total else ""
        detail = f" ({self._text})" if self._text else ""
        print(f"... {self._name}{share}{detail}", file=self._stream, flush=True)


class PlainBoard:
    """Says a row when it is decided (see `LiveBoard`), and now and then how far it is.

    Args:
        header: What the cells of a row are called.
        stream: Where to.
        clock: Seconds.
        name: What its lines begin with, so that those of several boards can be told apart.
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
        self._told = clock()

    def show(self, rows: Sequence[Sequence[str]]) -> None:
        """Tell what is new, or after a while what is not."""
        for number, row in enumerate(rows):
            if is_decided(row) and self._known.get(number) != row[-1]:
                self._known[number] = row[-1]
                self._say(f"{self._name()}{row[0]}: {row[-1]} ({self._figures(row)})")
        if self._clock() - self._told >= _QUIET_S:
            decided = sum(map(is_decided, rows))
            going = next((f"; {row[0]}: {self._figures(row)}" for row in rows if not is_decided(row)), "")
            self._say(f"... {self._name()}{decided} of {len(rows)} decided{going}")

    def _figures(self, row: Sequence[str]) -> str:
        """The cells between first and last that say something in letters or digits, with their names."""
        named = list(zip(self._header, row, strict=True))[1:-1]
        return ", ".join(f"{name} {cell.strip()}" for name, cell in named if any(map(str.isalnum, cell)))

    def _say(self, line: str) -> None:
        self._told = self._clock()
        print(line, file=self._stream, flush=True)


class PlainDisplay:
    """Lines for logs and pipes."""

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
        """Says when it begins; what comes of it is said by others."""
        self.say(text)
        task = PlainTask(text, self._stream)
        task.update(total=total)
        yield task

    @contextlib.contextmanager
    def board(self, title: str, header: Sequence[str]) -> Iterator[PlainBoard]:
        """Says what is decided."""
        self.say(title)
        self._boards.append(title)
        self._beside = self._beside or len(self._boards) > 1
        try:
            yield PlainBoard(header, self._stream, name=lambda: f"{title}: " if self._beside else "")
        finally:
            self._boards.remove(title)

    def say(self, text: str) -> None:
        """One line."""
        print(text, file=self._stream, flush=True)
