"""Results on a terminal or in a pipe, from top to bottom: comparisons first, then measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console

from harness.core.result import Result
from harness.display.tables import find_hidden, fit_table, print_line, widen
from harness.presentation.evaluation_table import LAYERS, format_evaluation_legend
from harness.presentation.measurement_table import format_legend
from harness.presentation.sections import (
    ComparisonSection,
    EvaluationSection,
    MeasurementSection,
    TitledTable,
    describe_comparisons,
    describe_evaluated,
    describe_measurements,
)
from harness.presentation.text import Line, Span, Tone, make_printable
from harness.presentation.verdicts import separate_comparisons

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
        verbose: Show each note on measurements in full instead of one line for each cause.
        again: Command that shows them again.

    Raises:
        OSError: The stream cannot be written.
        ValueError: It is closed, or its encoding lacks a character.
    """
    console = widen(console)
    compared, measured = separate_comparisons(results)
    if compared:
        console.print()
        _show_comparisons(describe_comparisons(compared, operators_at_most=_OPERATORS), console)
    if measured:
        evaluated = [result for result in measured if result.evaluation is not None]
        console.print()
        section = describe_measurements(measured, operators_at_most=_OPERATORS)
        _show_measurements(section, console, verbose=verbose, with_overview=len(evaluated) < len(measured))
        if evaluated:
            _show_evaluations(describe_evaluated(evaluated, layers_at_most=LAYERS), console)
        if not verbose and any(result.notes for result in measured if result.ok):
            _show_muted(f"`{again} -v` shows every note in full, and how to measure again", console)


def _show_comparisons(section: ComparisonSection, console: Console) -> None:
    print_line(section.title, console)
    for name, text in section.sides:
        print_line(Line.of(Span(f"{name:<10}", Tone.STRONG), make_printable(text)), console)
    table = fit_table(section.columns, console)
    console.print(table)
    if {"control", "treatment"} <= {str(column.header) for column in table.columns}:
        _show_muted(section.legend, console)
    _show_muted(section.error_rate, console)
    for line in section.lines:
        print_line(line, console)
    _show_table(section.operators, console)


def _show_measurements(
    section: MeasurementSection, console: Console, *, verbose: bool, with_overview: bool = True
) -> None:
    """Show measurements; without the overview where that of evaluations follows, which has latencies too."""
    print_line(section.title, console)
    if with_overview:
        table = fit_table(section.overview, console)
        console.print(table)
        _show_muted(format_legend({str(column.header) for column in table.columns}), console)
        if hidden := find_hidden(section.overview, console):
            _show_muted(f"a wider terminal also shows: {', '.join(hidden)}", console)
    for line in section.fastest:
        print_line(line, console)
    _show_table(section.generations, console)
    _show_table(section.definitions, console)
    _show_table(section.scenarios, console)
    _show_table(section.paced, console)
    _show_table(section.further_metrics, console)
    _show_table(section.phases, console)
    _show_table(section.functions, console)
    _show_table(section.operators, console)
    for sentence in section.coverage:
        _show_muted(sentence, console)
    for line in section.remarks if verbose else section.folded_remarks:
        print_line(line, console)


def _show_evaluations(section: EvaluationSection, console: Console) -> None:
    console.print()
    table = fit_table(section.overview, console)
    console.print(table)
    _show_muted(format_evaluation_legend([str(column.header) for column in table.columns]), console)
    for line in (*section.compromises, *section.lines):
        print_line(line, console)
    _show_table(section.stages, console)
    _show_table(section.layers, console)


def _show_muted(sentence: str, console: Console) -> None:
    if sentence:
        print_line(Line.of(Span(sentence, Tone.MUTED)), console)


def _show_table(table: TitledTable, console: Console) -> None:
    if table.has_rows:
        console.print()
        print_line(Line.of(Span(table.heading, Tone.STRONG)), console)
        console.print(fit_table(table.columns, console))
