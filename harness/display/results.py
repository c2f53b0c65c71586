"""Results on a terminal or in a pipe, from top to bottom: comparisons first, then measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console

from harness.core.result import Result
from harness.display.tables import fit_table, print_line, show_hidden, show_muted, show_table, widen
from harness.presentation.measurement_section import MeasurementSection, describe_measurements
from harness.presentation.measurement_table import format_legend

_OPERATORS: Final = 5
"""Operators that are listed for each benchmark; pages list all."""

_OF_LAST_RUN: Final = "harness report LAST"
"""Command that shows the results of a run that has just ended."""


def show_results(
    results: Sequence[Result], console: Console, *, verbose: bool = False, again: str = _OF_LAST_RUN
) -> None:
    """Show comparisons, most severe first, and then measurements. In a pipe nothing is folded or cut.

    Args:
        results: What to show.
        console: Where to show it.
        verbose: Show each note in full instead of one line for each cause.
        again: Command that shows them again.

    Raises:
        OSError: The stream cannot be written.
        ValueError: It is closed, or its encoding lacks a character.
    """
    console = widen(console)
    measured = results
    if any(result.comparison is not None for result in results):
        # Nothing else about comparisons is imported by a command that only measures.
        from harness.display.comparisons import show_comparisons  # noqa: PLC0415
        from harness.presentation.verdicts import separate_comparisons  # noqa: PLC0415

        compared, measured = separate_comparisons(results)
        show_comparisons(compared, console, operators_at_most=_OPERATORS, verbose=verbose)
    if measured:
        evaluated = [result for result in measured if result.evaluation is not None]
        console.print()
        section = describe_measurements(measured, operators_at_most=_OPERATORS)
        _show_measurements(section, console, with_overview=len(evaluated) < len(measured))
        if evaluated:
            from harness.display.evaluations import show_evaluations  # noqa: PLC0415 - most runs evaluate nothing

            show_evaluations(evaluated, console)
        for line in section.remarks if verbose else section.folded_remarks:
            print_line(line, console)
    if not verbose and any(result.all_notes for result in results if result.ok):
        show_muted(f"`{again} -v` shows every note in full, and how to measure again", console)


def _show_measurements(section: MeasurementSection, console: Console, *, with_overview: bool = True) -> None:
    """Show measurements; without the overview where that of evaluations follows, which has latencies too."""
    print_line(section.title, console)
    if with_overview:
        table = fit_table(section.overview, console)
        console.print(table)
        show_muted(format_legend({str(column.header) for column in table.columns}), console)
        show_hidden(section.overview, console)
    for line in section.fastest:
        print_line(line, console)
    show_table(section.generations, console)
    show_table(section.definitions, console)
    show_table(section.scenarios, console)
    show_table(section.paced, console)
    show_table(section.further_metrics, console)
    show_table(section.phases, console)
    show_table(section.functions, console)
    show_table(section.operators, console)
    for sentence in section.coverage:
        show_muted(sentence, console)
