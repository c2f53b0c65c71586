"""Comparisons on a terminal or in a pipe."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from harness.core.result import Result
from harness.display.tables import fit_table, print_line, show_hidden, show_muted, show_table
from harness.presentation.comparison_section import describe_comparisons
from harness.presentation.text import Line, Span, Tone, make_printable


def show_comparisons(
    results: Sequence[Result], console: Console, *, operators_at_most: int, verbose: bool = False
) -> None:
    """Show comparisons in their order.

    Args:
        results: Of comparisons, ordered for a reader.
        console: Where to show them.
        operators_at_most: Changed operators to list for each result.
        verbose: Show each note in full instead of one line for each cause.
    """
    console.print()
    section = describe_comparisons(results, operators_at_most=operators_at_most)
    print_line(section.title, console)
    for name, text in section.sides:
        print_line(Line.of(Span(f"{name:<10}", Tone.STRONG), make_printable(text)), console)
    table = fit_table(section.columns, console)
    console.print(table)
    if {"control", "treatment"} <= {str(column.header) for column in table.columns}:
        show_muted(section.legend, console)
    show_hidden(section.columns, console)
    show_muted(section.error_rate, console)
    for line in section.lines if verbose else section.folded_lines:
        print_line(line, console)
    show_table(section.operators, console)
