"""What a person sees while it works: a live display on a terminal, plain lines elsewhere; always on standard error."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

_REFRESH_HZ = 4
"""Few enough that drawing does not disturb what is measured on another core."""
_QUIET_S = 20.0
"""A plain log says again that something goes on after so long."""


class LiveTask:
    """One moving line."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        """Move it."""
        self._progress.update(self._task, completed=completed, total=total)
        if text is not None:
            self._progress.update(self._task, detail=text)


class LiveBoard:
    """A table above the moving lines."""

    def __init__(self, title: str, header: Sequence[str], redraw: Callable[[Table], None]) -> None:
        self._title = title
        self._header = header
        self._redraw = redraw

    def show(self, rows: Sequence[Sequence[str]]) -> None:
        """Draw it anew."""
        table = Table(title=self._title, title_justify="left", header_style="bold", pad_edge=False)
        for number, name in enumerate(self._header):
            table.add_column(name, justify="left" if number in {0, len(self._header) - 1} else "right", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        self._redraw(table)


class LiveDisplay:
    """Spinners, bars, remaining time, and a board above them."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("[dim]{task.fields[detail]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(compact=True),
        )
        self._live = Live(self._progress, console=console, transient=True, refresh_per_second=_REFRESH_HZ)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    @contextlib.contextmanager
    def task(self, text: str, total: float | None = None) -> Iterator[LiveTask]:
        """A line that moves until the context ends."""
        task = self._progress.add_task(text, total=total, detail="")
        try:
            yield LiveTask(self._progress, task)
        finally:
            self._progress.remove_task(task)

    @contextlib.contextmanager
    def board(self, title: str, header: Sequence[str]) -> Iterator[LiveBoard]:
        """A table above the moving lines until the context ends."""
        try:
            yield LiveBoard(title, header, lambda table: self._live.update(Group(table, self._progress)))
        finally:
            self._live.update(self._progress)

    def say(self, text: str) -> None:
        """A line that stays above the moving ones."""
        self.console.print(text, markup=False, highlight=False)


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
    """Says a row when its last word changes: when something is decided."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._known: dict[str, str] = {}

    def show(self, rows: Sequence[Sequence[str]]) -> None:
        """Tell what is new."""
        for row in rows:
            if row[-1] and self._known.get(row[0]) != row[-1]:
                self._known[row[0]] = row[-1]
                print("  ".join(cell for cell in row if cell), file=self._stream, flush=True)


class PlainDisplay:
    """Lines for logs and pipes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

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
    def board(self, title: str, header: Sequence[str]) -> Iterator[PlainBoard]:  # noqa: ARG002 - lines need no header
        """Says what is decided."""
        self.say(title)
        yield PlainBoard(self._stream)

    def say(self, text: str) -> None:
        """One line."""
        print(text, file=self._stream, flush=True)


def display(stream: TextIO | None = None) -> LiveDisplay | PlainDisplay:
    """Live on a terminal, plain elsewhere."""
    console = Console(file=stream or sys.stderr)
    return LiveDisplay(console) if console.is_terminal and not console.is_dumb_terminal else PlainDisplay(console.file)  # type: ignore[arg-type]
