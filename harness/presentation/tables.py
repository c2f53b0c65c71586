"""Tables as data: columns of toned cells, which a terminal, an HTML page and a Markdown page draw in their own ways."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from harness.presentation.text import Span, make_printable

Row: TypeAlias = tuple[Span, ...]

KEEP: Final = 100
"""Weight of a column that is shown however narrow the screen is."""


class Column(Struct, frozen=True):
    """Column of a table.

    Attributes:
        name: Heading.
        cells: One for each row.
        weight: Columns of little weight make room for others on narrow screens; those of weight `KEEP` never do.
        right: Whether it is aligned to the right, as numbers are.
        distinguishing: Whether it is worth showing only where its cells differ.
    """

    name: str
    cells: Sequence[Span]
    weight: int = KEEP
    right: bool = False
    distinguishing: bool = False

    @property
    def is_informative(self) -> bool:
        """True if a reader learns anything from it."""
        texts = {cell.text for cell in self.cells}
        return len(texts) > 1 if self.distinguishing else texts != {""} and bool(texts)


class TitledTable(Struct, frozen=True):
    """Table under a heading, which is left out when it has no rows."""

    heading: str
    columns: Sequence[Column]

    @property
    def has_rows(self) -> bool:
        """True if there is anything to show."""
        return bool(self.columns[0].cells)


def make_cells(texts: Iterable[str]) -> list[Span]:
    """Make a cell of each text, whatever characters it holds."""
    return [Span(make_printable(text)) for text in texts]


def select_informative(columns: Iterable[Column]) -> list[Column]:
    """Return the columns from which a reader learns anything."""
    return [column for column in columns if column.is_informative]


def tabulate(names: Sequence[str], rows: Sequence[Row], first_right: int) -> list[Column]:
    """Make columns of rows; from one of them on they are aligned to the right."""
    return [
        Column(name, [row[number] for row in rows], right=number >= first_right) for number, name in enumerate(names)
    ]
