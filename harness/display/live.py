"""Display for terminals: spinners, bars, remaining time, and a board above them."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

from rich.cells import cell_len
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from harness.core.protocols import BoardRow, Task
from harness.display.tables import STYLES
from harness.presentation.text import Tone
from harness.presentation.verdicts import CATEGORY_OF_VERDICT

_REFRESH_HZ = 4
"""Few enough that drawing does not disturb what is measured on another core."""
_AROUND_BOARD = 8
"""Lines of a terminal that rows leave to title, headings, progress and the latest messages."""
_LEAST_NAME = 12
"""A name is never cut to fewer characters."""
_STATES = tuple(category.word for category in CATEGORY_OF_VERDICT.values())
"""Usual last cells of rows, for which room is kept from the beginning."""


class LiveTask:
    """Moving line about a task."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        """Draw the new figures."""
        self._progress.update(self._task, completed=completed, total=total)
        if text is not None:
            self._progress.update(self._task, detail=text)


class LiveBoard:
    """Table above the moving lines, and a line with the number of decided rows.

    Columns never become narrower, and rows keep their places. Of a thousand benchmarks only the rows that there is room
    for are made, and not more often than they are drawn, except that a decision is shown at once.
    """

    def __init__(
        self,
        title: str,
        header: Sequence[str],
        *,
        console: Console,
        task: Task,
        redraw: Callable[[RenderableType], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._title = title
        self._header = header
        self._console = console
        self._task = task
        self._redraw = redraw
        self._clock = clock
        self._drawn = -math.inf
        self._rows: list[BoardRow] = []
        self._newer: dict[int, Callable[[], BoardRow]] = {}
        self._is_decided: list[bool] = []
        self._decided = 0
        self._widths = [*(cell_len(name) for name in header[:-1]), max(map(cell_len, (header[-1], *_STATES)))]

    def show(self, rows: Sequence[BoardRow]) -> None:
        """Draw these rows."""
        self._rows = list(rows)
        self._newer.clear()
        self._is_decided = [row.is_decided for row in rows]
        self._decided = sum(self._is_decided)
        for row in rows:
            self._widen(row)
        self._draw()

    def update(self, number: int, row: Callable[[], BoardRow], *, is_decided: bool) -> None:
        """Draw a row, now or with one of the next."""
        self._newer[number] = row
        was_decided, self._is_decided[number] = self._is_decided[number], is_decided
        self._decided += is_decided - was_decided
        if is_decided is not was_decided or self._clock() - self._drawn >= 1 / _REFRESH_HZ:
            self._draw()

    def _draw(self) -> None:
        self._drawn = self._clock()
        total = len(self._rows)
        self._task.update(completed=self._decided, total=total, text=f"{self._decided} of {total} decided")
        shown = _select_rows(self._is_decided, self._console.height - _AROUND_BOARD)
        for number in shown:
            if (newer := self._newer.pop(number, None)) is not None:
                self._rows[number] = newer()
                self._widen(self._rows[number])
        parts: list[RenderableType] = [Text(self._title, style="italic"), self._table([self._rows[n] for n in shown])]
        if len(shown) < total:
            parts.append(Text(f"and {total - len(shown)} more", style="dim"))
        self._redraw(Group(*parts))

    def _widen(self, row: BoardRow) -> None:
        self._widths = [max(width, cell_len(cell)) for width, cell in zip(self._widths, row.cells, strict=True)]

    def _table(self, rows: Sequence[BoardRow]) -> Table:
        table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
        last = len(self._header) - 1
        # Names give way where there is no room; figures never do.
        room = self._console.width - sum(self._widths[1:]) - 2 * last
        widths = [max(min(self._widths[0], room), _LEAST_NAME), *self._widths[1:]]
        for number, (name, width) in enumerate(zip(self._header, widths, strict=True)):
            justify: JustifyMethod = "left" if number in {0, last} else "right"
            table.add_column(name, justify=justify, width=width, no_wrap=True, overflow="ellipsis")
        for row in rows:
            table.add_row(*map(Text, row.cells[:-1]), Text(row.cells[-1], style=STYLES[_tone(row)]))
        return table


def _tone(row: BoardRow) -> Tone:
    if row.verdict is not None:
        return CATEGORY_OF_VERDICT[row.verdict].tone
    return Tone.BAD if row.failed else Tone.WARNING


def _select_rows(is_decided: Sequence[bool], room: int) -> Sequence[int]:
    """Return the numbers of as many rows as there is room for, in order; open rows are preferred to decided ones."""
    numbers = range(len(is_decided))
    if len(is_decided) <= room:
        return numbers
    return sorted(sorted(numbers, key=is_decided.__getitem__)[: max(room, 1)])


class LiveDisplay:
    """Display that redraws the lower lines of a terminal."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description}", markup=False, table_column=_cut(console.width // 2 - 10)),
            BarColumn(bar_width=14),
            TextColumn("{task.fields[detail]}", style="dim", markup=False, table_column=_cut(console.width // 4 - 2)),
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
        """Show a moving line until the context ends."""
        task = self._progress.add_task(text, total=total, detail="")
        try:
            yield LiveTask(self._progress, task)
        finally:
            self._progress.remove_task(task)
            self.refresh()  # at once: what others print next must not stand where this line still is

    @contextlib.contextmanager
    def board(self, title: str, header: Sequence[str]) -> Iterator[LiveBoard]:
        """Show a table above the moving lines until the context ends."""
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
        """Print a line that stays above the moving ones."""
        self.console.print(text, markup=False, highlight=False)

    def warn(self, text: str) -> None:
        """Print a line about something that went wrong."""
        self.say(text)


def _cut(width: int) -> Column:
    """Return a column that leaves room for the figures behind it."""
    return Column(no_wrap=True, overflow="ellipsis", max_width=max(width, 10))
