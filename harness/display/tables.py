"""Tables that say only what tells their rows apart, and fit the screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

KEEP: Final = 100
"""Weight of a column that no lack of room removes."""

_ENDLESS: Final = 1_000_000
"""Screen columns of a place that is no screen."""


class _Pipe(Console):
    """A console that is no terminal: a reader that has gone is an error there like any other."""

    def on_broken_pipe(self) -> None:
        """Rich would end the process, with the exit status that means a regression."""
        raise BrokenPipeError("its reader has gone")


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        name: Its heading.
        cells: One for each row.
        weight: Those of little weight make room for others on narrow screens; `KEEP` never does.
        right: Whether it is aligned to the right, as numbers are.
        distinguishing: Whether it is worth showing only where its cells differ.
    """

    name: str
    cells: Sequence[Text]
    weight: int = KEEP
    right: bool = False
    distinguishing: bool = False

    @property
    def telling(self) -> bool:
        """Whether a reader learns anything from it."""
        texts = {cell.plain for cell in self.cells}
        return len(texts) > 1 if self.distinguishing else texts != {""} and bool(texts)


def widened(console: Console) -> Console:
    """The console itself where it is a terminal, else one on the same stream that neither folds nor cuts."""
    return console if console.is_terminal else _Pipe(file=console.file, width=_ENDLESS)


def fitted(columns: Sequence[Column], console: Console) -> Table:
    """The columns that are telling, without the lightest ones where the console has no room for them."""
    shown = [column for column in columns if column.telling]
    while _width(table := _table(shown), console) > console.width:
        lightest = min(shown, key=lambda column: column.weight)
        if lightest.weight >= KEEP:
            break
        shown.remove(lightest)
    return table


def _table(columns: Sequence[Column]) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(
            column.name, justify="right" if column.right else "left", no_wrap=column.right, overflow="fold"
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*row)
    return table


def _width(table: Table, console: Console) -> int:
    return Measurement.get(console, console.options.update(width=_ENDLESS), table).maximum
