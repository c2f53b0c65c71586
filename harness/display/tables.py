"""Tables and lines of the presentation on a terminal or in a pipe, drawn with rich."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, JustifyMethod, OverflowMethod
from rich.containers import Lines
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from harness.display.console import CleanConsole
from harness.presentation.tables import KEEP, Column, TitledTable, select_informative
from harness.presentation.text import Line, Span, Tone, make_printable

STYLES: Final = {
    Tone.NORMAL: "",
    Tone.STRONG: "bold",
    Tone.MUTED: "dim",
    Tone.GOOD: "bold green",
    Tone.WARNING: "yellow",
    Tone.BAD: "bold red",
}

_HANGING: Final = 2
"""Columns by which the continuations of a broken line are indented."""

_WORD: Final = r"\S+(?: %\S*)?"
_NAME_PART: Final = r"[^\s/_.-]*[/_.-]+|[^\s/_.-]+"
"""Units between which a line may be broken: words, with `%` behind a number, and parts of names with a separator."""

_ENDLESS: Final = 1_000_000
"""Screen columns of a stream that is no screen."""


def widen(console: Console) -> Console:
    """Return the console itself where it is a terminal, else one on the same stream that neither folds nor cuts."""
    return console if console.is_terminal else CleanConsole(file=console.file, width=_ENDLESS)


class _Cell(Text):
    """Text of a cell, which is broken between words, and then behind separators of names: `mv2-xnnpack_`, `fp32-t1`."""

    def wrap(
        self,
        console: Console,
        width: int,
        *,
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        tab_size: int = 8,
        no_wrap: bool | None = None,
    ) -> Lines:
        """Break the text where it is longer than the width."""
        lines = Lines()
        for words in [self] if no_wrap else _break(self, width):
            for part in [words] if no_wrap or words.cell_len <= width else _break(words, width, _NAME_PART):
                lines.extend(
                    Text.wrap(
                        part, console, width, justify=justify, overflow=overflow, tab_size=tab_size, no_wrap=no_wrap
                    )
                )
        return lines


def fit_table(columns: Sequence[Column], console: Console) -> Table:
    """Draw the informative columns, without the lightest ones where the console has no room for them."""
    return _table(_select_fitting(columns, console))


def find_hidden(columns: Sequence[Column], console: Console) -> Sequence[str]:
    """Return the headings of the informative columns for which a console has no room."""
    shown = {column.name for column in _select_fitting(columns, console)}
    return [column.name for column in select_informative(columns) if column.name not in shown]


def show_hidden(columns: Sequence[Column], console: Console) -> None:
    """Name the informative columns for which a console has no room."""
    if hidden := find_hidden(columns, console):
        show_muted(f"a wider terminal also shows: {', '.join(hidden)}", console)


def _select_fitting(columns: Sequence[Column], console: Console) -> list[Column]:
    shown = select_informative(columns)
    while _width(_table(shown), console) > console.width:
        lightest = min(shown, key=lambda column: column.weight)
        if lightest.weight >= KEEP:
            break
        shown.remove(lightest)
    return shown


def draw_rows(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str | None = None,
    caption: str | None = None,
    right: Collection[str] = (),
    whole: Collection[str] = (),
) -> Table:
    """Draw rows of texts with all of their columns, whatever characters they hold.

    Args:
        header: Headings; empty for rows of a name and its value.
        rows: Texts of each row.
        title: Text above the table.
        caption: Text below the table.
        right: Headings of the columns that are aligned to the right.
        whole: Headings of the columns that are neither folded nor cut, such as those of what a person has to type.
    """
    texts = [[_Cell(make_printable(cell)) for cell in row] for row in rows]
    table = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        title=None if title is None else plain_text(title),
        title_justify="left",
        caption=None if caption is None else plain_text(caption),
        caption_justify="left",
        show_header=bool(header),
        header_style="bold",
    )
    for number, name in enumerate(header):
        width = max((row[number].cell_len for row in texts), default=0) if name in whole else None
        table.add_column(name, justify="right" if name in right else "left", no_wrap=name in whole, min_width=width)
    for row in texts:
        table.add_row(*row)
    return table


def style_line(line: Line) -> Text:
    """Give a line its colours."""
    return Text.assemble(*map(_style_span, line.spans))


def print_output(output: Table | Text, console: Console) -> None:
    """Print on standard output; in a pipe nothing is folded or cut."""
    console = widen(console)
    if isinstance(output, Text):
        _print_text(output, console)
    else:
        console.print(output)


def plain_text(text: str) -> Text:
    """Return a text that may come from anywhere: it has no colours, and moves no cursor."""
    return Text(make_printable(text))


def print_line(line: Line, console: Console) -> None:
    """Print a line, broken between words where it is longer than the console, with its continuations indented."""
    _print_text(style_line(line), console)


def _print_text(text: Text, console: Console) -> None:
    """Print a text broken between words; a word that is longer than the console, as a path, is left to the terminal.

    Lines of the text stay lines. A text that says `no_wrap`, such as JSON, is left to the terminal, for copying.
    """
    if text.no_wrap:
        console.print(text, soft_wrap=True)
        return
    for line in text.split("\n", allow_blank=True):
        if line.cell_len <= console.width:
            console.print(line, soft_wrap=True)
            continue
        indent = len(line.plain) - len(line.plain.lstrip(" ")) + _HANGING
        for number, part in enumerate(_break(line, max(console.width - indent, 1))):
            console.print(Text(" " * indent if number else "").append_text(part), soft_wrap=True)


def _break(line: Text, room: int, unit: str = _WORD) -> Iterator[Text]:
    """Yield the parts of a line between words or other units, each as long as there is room, and at least one unit."""
    begin = end = 0
    for match in re.finditer(unit, line.plain):
        if end > begin and cell_len(line.plain[begin : match.end()]) > room:
            yield line[begin:end]
            begin = match.start()
        end = match.end()
    yield line[begin:end]


def _style_span(span: Span) -> Text:
    return Text(span.text, style=STYLES[span.tone])


def _table(columns: Sequence[Column]) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(
            column.name, justify="right" if column.right else "left", no_wrap=column.right, overflow="fold"
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*(_Cell(span.text, style=STYLES[span.tone]) for span in row))
    return table


def _width(table: Table, console: Console) -> int:
    return Measurement.get(console, console.options.update(width=_ENDLESS), table).maximum


def show_table(table: TitledTable, console: Console) -> None:
    """Show a table under its heading, unless it has no rows."""
    if table.has_rows:
        console.print()
        print_line(Line.of(Span(table.heading, Tone.STRONG)), console)
        console.print(fit_table(table.columns, console))


def show_muted(sentence: str, console: Console) -> None:
    """Show an explanation, unless it is empty."""
    if sentence:
        print_line(Line.of(Span(sentence, Tone.MUTED)), console)
