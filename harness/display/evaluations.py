"""Evaluations of outputs on a terminal or in a pipe."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from harness.core.result import Result
from harness.display.tables import fit_table, print_line, show_hidden, show_muted, show_table
from harness.presentation.evaluation_section import describe_evaluated
from harness.presentation.evaluation_table import LAYERS, format_evaluation_legend


def show_evaluations(results: Sequence[Result], console: Console) -> None:
    """Show what lowering and quantisation did to the outputs of results that have an evaluation."""
    section = describe_evaluated(results, layers_at_most=LAYERS)
    console.print()
    table = fit_table(section.overview, console)
    console.print(table)
    show_muted(format_evaluation_legend([str(column.header) for column in table.columns]), console)
    show_hidden(section.overview, console)
    for line in (*section.compromises, *section.lines):
        print_line(line, console)
    show_table(section.stages, console)
    show_table(section.layers, console)
