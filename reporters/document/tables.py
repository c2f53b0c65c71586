"""Tables of a page as data: what each cell shows, links to and is sorted by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from harness.presentation.sorting import sort_number
from harness.presentation.tables import Column, select_informative
from harness.presentation.text import Span, Tone
from reporters.document.picture import Picture

_NAMES: Final = frozenset({"benchmark"})
"""Headings of columns that name their rows."""
_KINDS: Final = {
    Tone.NORMAL: "",
    Tone.STRONG: "strong",
    Tone.MUTED: "muted",
    Tone.GOOD: "good",
    Tone.WARNING: "warning",
    Tone.BAD: "bad",
}


class TableCell(Struct, frozen=True):
    """Cell of a row.

    Attributes:
        text: Its text, as it came.
        right: Whether it is aligned to the right.
        kind: Class of its text in the style sheet.
        badge: Whether its text is a verdict.
        is_name: Whether it names its row.
        href: Address that its text links to; empty for none.
        number: Number by which it is sorted; None sorts by its text.
        picture: Drawing in place of the text.
    """

    text: str
    right: bool = False
    kind: str = ""
    badge: bool = False
    is_name: bool = False
    href: str = ""
    number: float | None = None
    picture: Picture | None = None


class TableRow(Struct, frozen=True):
    """Row of a table, with a class of the style sheet."""

    cells: Sequence[TableCell]
    kind: str = ""


class Heading(Struct, frozen=True):
    """Heading of a column."""

    text: str
    right: bool = False


class PageTable(Struct, frozen=True):
    """Table of a page.

    Attributes:
        name: What it contains, for those who cannot see it.
        headings: One for each column.
        rows: Its rows.
        is_sortable: Whether a click on a heading sorts it.
    """

    name: str
    headings: Sequence[Heading]
    rows: Sequence[TableRow]
    is_sortable: bool = True


def build_table(
    name: str,
    columns: Sequence[Column],
    *,
    kinds: Sequence[str] = (),
    link: Callable[[int], str] | None = None,
) -> PageTable:
    """Build a table of the columns from which a reader learns anything.

    Args:
        name: What it contains.
        columns: Its columns.
        kinds: Class of each row in the style sheet.
        link: Returns the address that the name of a row links to, for its index.
    """
    shown = [_repeat_names(column) if column.name in _NAMES else column for column in select_informative(columns)]
    numbers = [_column_numbers(column) for column in shown]
    count = len(shown[0].cells) if shown else 0
    rows = [
        TableRow(
            [_build_cell(column, number, order[number], link) for column, order in zip(shown, numbers, strict=True)],
            kinds[number] if kinds else "",
        )
        for number in range(count)
    ]
    return PageTable(name, [Heading(column.name, column.right) for column in shown], rows)


def build_figures(name: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> PageTable:
    """Build a small table of texts: words in the first column, figures in the others."""
    return PageTable(
        name,
        [Heading(text, right=bool(number)) for number, text in enumerate(headings)],
        [
            TableRow([TableCell(text, right=bool(number), is_name=not number) for number, text in enumerate(row)])
            for row in rows
        ],
        is_sortable=False,
    )


def _repeat_names(column: Column) -> Column:
    """Name every row, also those below a row of the same benchmark: a sorted table separates them."""
    cells: list[Span] = []
    for cell in column.cells:
        cells.append(cell if cell.text or not cells else Span(cells[-1].text, Tone.MUTED))
    return replace(column, cells=cells)


def _column_numbers(column: Column) -> list[float | None]:
    """Return the numbers that its cells show, or none where any of them shows something else."""
    numbers = [sort_number(cell.text) for cell in column.cells]
    is_numeric = all(number is not None or not cell.text for number, cell in zip(numbers, column.cells, strict=True))
    return numbers if is_numeric else [None] * len(numbers)


def _build_cell(column: Column, row: int, number: float | None, link: Callable[[int], str] | None) -> TableCell:
    span = column.cells[row]
    is_name = column.name in _NAMES
    return TableCell(
        span.text,
        right=column.right,
        kind=_KINDS[span.tone],
        badge=column.name == "verdict",
        is_name=is_name,
        href=link(row) if link and is_name else "",
        number=number,
    )
