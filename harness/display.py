"""What a person sees while it works: a live display on a terminal, plain lines elsewhere; always on standard error."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self, TextIO, cast

from rich.cells import cell_len
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from harness.core.comparison import Verdict
from harness.core.protocols import Task

_REFRESH_HZ = 4
"""Few enough that drawing does not disturb what is measured on another core."""
_QUIET_S = 20.0
"""A plain log says again that something goes on after so long."""
_AROUND_BOARD = 8
"""Lines of a terminal that rows leave to title, headings, progress and the last things said."""
_LEAST_NAME = 12
"""A name is cut to so many characters at the least."""
_TONES = {
    Verdict.REGRESSION.value: "bold red",
    Verdict.IMPROVEMENT.value: "bold green",
    Verdict.UNDECIDED.value: "yellow",
    Verdict.NO_CHANGE.value: "dim",
}
"""Any other last word is a failure."""


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
    """A table above the moving lines, and a line that says how many of its rows are decided.

    A row is decided when its last cell says something, and not as a question. Columns never become narrower, and rows
    keep their places.
    """

    def __init__(
        self,
        title: str,
        header: Sequence[str],
        *,
        console: Console,
        task: Task,
        redraw: Callable[[RenderableType], None],
    ) -> None:
        self._title = title
        self._header = header
        self._console = console
        self._task = task
        self._redraw = redraw
        self._widths = [*(cell_len(name) for name in header[:-1]), max(map(cell_len, (header[-1], *_TONES)))]

    def show(self, rows: Sequence[Sequence[str]]) -> None:
        """Draw it anew."""
        for row in rows:
            self._widths = [max(width, cell_len(cell)) for width, cell in zip(self._widths, row, strict=True)]
        decided = sum(map(_is_decided, rows))
        self._task.update(completed=decided, total=len(rows), text=f"{decided} of {len(rows)} decided")
        shown = _fitting(rows, self._console.height - _AROUND_BOARD)
        parts: list[RenderableType] = [Text(self._title, style="italic"), self._table(shown)]
        if len(shown) < len(rows):
            parts.append(Text(f"and {len(rows) - len(shown)} more", style="dim"))
        self._redraw(Group(*parts))

    def _table(self, rows: Sequence[Sequence[str]]) -> Table:
        table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
        last = len(self._header) - 1
        # Names give way where there is no room; figures never do.
        room = self._console.width - sum(self._widths[1:]) - 2 * last
        widths = [max(min(self._widths[0], room), _LEAST_NAME), *self._widths[1:]]
        for number, (name, width) in enumerate(zip(self._header, widths, strict=True)):
            justify: JustifyMethod = "left" if number in {0, last} else "right"
            table.add_column(name, justify=justify, width=width, no_wrap=True, overflow="ellipsis")
        for row in rows:
            tone = _TONES.get(row[-1], "red" if _is_decided(row) else "yellow")
            table.add_row(*map(Text, row[:-1]), Text(row[-1], style=tone))
        return table


def _is_decided(row: Sequence[str]) -> bool:
    return bool(row[-1]) and not row[-1].endswith("?")


def _fitting(rows: Sequence[Sequence[str]], room: int) -> Sequence[Sequence[str]]:
    """As many rows as there is room for, in their order: the first of those that are not decided go first."""
    if len(rows) <= room:
        return rows
    wanted = sorted(range(len(rows)), key=lambda number: _is_decided(rows[number]))[: max(room, 1)]
    return [rows[number] for number in sorted(wanted)]


class LiveDisplay:
    """Spinners, bars, remaining time, and a board above them."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description}", table_column=_cut(console.width // 2 - 10)),
            BarColumn(bar_width=14),
            TextColumn("[dim]{task.fields[detail]}", table_column=_cut(console.width // 4 - 2)),
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
            self.refresh()  # at once: what others print next must not stand where this line still is

    @contextlib.contextmanager
    def board(self, title: str, header: Sequence[str]) -> Iterator[LiveBoard]:
        """A table above the moving lines until the context ends."""
        with self.task("comparing") as task:
            try:
                yield LiveBoard(
                    title,
                    header,
                    console=self.console,
                    task=task,
                    redraw=lambda drawn: self._live.update(Group(drawn, self._progress)),
                )
            finally:
                self._live.update(self._progress)

    def refresh(self) -> None:
        """Draw everything now."""
        self._live.refresh()

    def say(self, text: str) -> None:
        """A line that stays above the moving ones."""
        self.console.print(text, markup=False, highlight=False)


def _cut(width: int) -> Column:
    """A column that leaves room for the figures behind it."""
    return Column(no_wrap=True, overflow="ellipsis", max_width=max(width, 10))


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
    """

    def __init__(self, header: Sequence[str], stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._header = header
        self._stream = stream
        self._clock = clock
        self._known: dict[int, str] = {}
        self._told = clock()

    def show(self, rows: Sequence[Sequence[str]]) -> None:
        """Tell what is new, or after a while what is not."""
        for number, row in enumerate(rows):
            if _is_decided(row) and self._known.get(number) != row[-1]:
                self._known[number] = row[-1]
                self._say(f"{row[0]}: {row[-1]} ({self._figures(row)})")
        if self._clock() - self._told >= _QUIET_S:
            decided = sum(map(_is_decided, rows))
            going = next((f"; {row[0]}: {self._figures(row)}" for row in rows if not _is_decided(row)), "")
            self._say(f"... {decided} of {len(rows)} decided{going}")

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
        self._stream = _unfailing(stream)

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
        yield PlainBoard(header, self._stream)

    def say(self, text: str) -> None:
        """One line."""
        print(text, file=self._stream, flush=True)


class _Unfailing(io.TextIOBase):
    """A stream that goes silent when it cannot be written: nobody's benchmark fails because nobody can watch it.

    Args:
        stream: Where to; a full disk, a closed pipe or a closed file is no error.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream: TextIO | None = stream
        self._encoding = stream.encoding or "utf-8"

    @property
    def encoding(self) -> str:  # type: ignore[override]  # an attribute there
        """Of the stream."""
        return self._encoding

    def isatty(self) -> bool:
        """Whether somebody looks."""
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        """Of the stream."""
        if self._stream is None:
            raise io.UnsupportedOperation("fileno")
        return self._stream.fileno()

    def write(self, text: str) -> int:
        """Write, or go silent."""
        if self._stream is not None:
            try:
                self._stream.write(text)
            except (OSError, ValueError):
                self._go_silent()
        return len(text)

    def flush(self) -> None:
        """Flush, or go silent."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except (OSError, ValueError):
                self._go_silent()

    def _go_silent(self) -> None:
        """Send what the stream still holds to nowhere: nobody shall fail to write it later (at exit: status 120)."""
        stream, self._stream = self._stream, None
        if stream is None:
            return
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(nowhere, stream.fileno())
            finally:
                os.close(nowhere)


def _unfailing(stream: TextIO) -> TextIO:
    """The stream, which from now on is silent when it cannot be written."""
    return cast("TextIO", _Unfailing(stream))


def display(stream: TextIO | None = None) -> LiveDisplay | PlainDisplay:
    """Live on a terminal, plain elsewhere; silent where nothing can be written."""
    stream = _unfailing(stream or sys.stderr or io.StringIO())  # a closed standard error is None
    console = Console(file=stream)
    return LiveDisplay(console) if console.is_terminal and not console.is_dumb_terminal else PlainDisplay(stream)
