"""Section of a report about evaluations, as data and in the order in which a terminal and pages show it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from harness.core.result import Result
from harness.presentation.evaluation_table import (
    build_evaluation_table,
    build_layer_table,
    build_stage_table,
    describe_evaluations,
)
from harness.presentation.measurement_table import format_title
from harness.presentation.pareto import describe_compromises
from harness.presentation.tables import Column, TitledTable
from harness.presentation.text import Line


class EvaluationSection(Struct, frozen=True):
    """Everything about what lowering and quantisation did to outputs.

    Attributes:
        results: Results with an evaluation, in the order of measurement.
        title: Attributes that all results have in common.
        overview: Table with one row per result: latency, size and fidelity.
        compromises: Lines that name the best compromises and those that are dominated.
        stages: Every stage of each result with every statistic.
        layers: Layers where the gap opens.
        lines: Examples, faults, and how much they can tell.
    """

    results: Sequence[Result]
    title: Line
    overview: Sequence[Column]
    compromises: Sequence[Line]
    stages: TitledTable
    layers: TitledTable
    lines: Sequence[Line]


def describe_evaluated(results: Sequence[Result], *, layers_at_most: int | None = None) -> EvaluationSection:
    """Describe evaluations.

    Args:
        results: With an evaluation, in the order of measurement.
        layers_at_most: Layers to list for each result, those with the largest gaps; None lists all.
    """
    return EvaluationSection(
        results=results,
        title=format_title(results),
        overview=build_evaluation_table(results),
        compromises=list(describe_compromises(results)),
        stages=TitledTable("Stages", build_stage_table(results)),
        layers=TitledTable("Layers with the largest gaps", build_layer_table(results, layers_at_most)),
        lines=list(describe_evaluations(results)),
    )
