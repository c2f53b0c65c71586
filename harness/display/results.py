"""Results on a terminal or in a pipe, from top to bottom: comparisons first, then measurements."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from harness.core.result import Result
from harness.display.tables import fit_table, print_line, widen
from harness.presentation.comparison_table import build_columns, describe_sides, list_lines
from harness.presentation.measurement_table import build_further_metrics, build_overview, format_legend, format_title
from harness.presentation.operators import (
    CHANGES_HEADING,
    PROFILE_HEADING,
    SHORT,
    build_changes_table,
    build_profile_table,
    describe_coverage,
)
from harness.presentation.remarks import list_remarks
from harness.presentation.speeds import describe_fastest
from harness.presentation.tables import Column
from harness.presentation.text import Line, Span, Tone, make_printable
from harness.presentation.verdicts import separate_comparisons


def show_results(results: Sequence[Result], console: Console) -> None:
    """Show comparisons, gravest first, and then measurements. In a pipe nothing is folded or cut.

    Raises:
        OSError: The stream cannot be written.
        ValueError: It is closed, or its encoding lacks a character.
    """
    console = widen(console)
    compared, measured = separate_comparisons(results)
    if compared:
        console.print()
        _show_comparisons(compared, console)
    if measured:
        console.print()
        _show_measurements(measured, console)


def _show_comparisons(results: Sequence[Result], console: Console) -> None:
    print_line(format_title(results, with_runner=False), console)
    for name, text in describe_sides(results):
        print_line(Line.of(Span(f"{name:<10}", Tone.STRONG), make_printable(text)), console)
    console.print(fit_table(build_columns(results), console))
    for line in list_lines(results):
        print_line(line, console)
    _show_section(CHANGES_HEADING, build_changes_table(results, SHORT), console)


def _show_measurements(results: Sequence[Result], console: Console) -> None:
    print_line(format_title(results), console)
    table = fit_table(build_overview(results), console)
    console.print(table)
    if legend := format_legend({str(column.header) for column in table.columns}):
        print_line(Line.of(Span(legend, Tone.MUTED)), console)
    for line in describe_fastest(results):
        print_line(line, console)
    _show_section("Further metrics", build_further_metrics(results), console)
    _show_section(PROFILE_HEADING, build_profile_table(results, SHORT), console)
    for sentence in describe_coverage(results):
        print_line(Line.of(Span(sentence, Tone.MUTED)), console)
    for line in list_remarks(results):
        print_line(line, console)


def _show_section(heading: str, columns: Sequence[Column], console: Console) -> None:
    """Show a table under a heading, if it has rows."""
    if columns[0].cells:
        console.print()
        print_line(Line.of(Span(heading, Tone.STRONG)), console)
        console.print(fit_table(columns, console))
