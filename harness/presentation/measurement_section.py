"""Section of a report about measurements, as data and in the order in which a terminal and pages show it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from harness.core.result import Result
from harness.presentation.folded_remarks import fold_remarks
from harness.presentation.functions import build_functions_table
from harness.presentation.generations import build_definitions, build_generations
from harness.presentation.measurement_table import build_further_metrics, build_overview, format_title
from harness.presentation.operators import build_profile_table, describe_coverage
from harness.presentation.phases import build_phases
from harness.presentation.ranks import describe_ranks, order_by_rank
from harness.presentation.remarks import list_remarks
from harness.presentation.scenarios import build_paced, build_scenarios
from harness.presentation.speeds import describe_fastest
from harness.presentation.tables import Column, TitledTable
from harness.presentation.text import Line


class MeasurementSection(Struct, frozen=True):
    """Everything about measurements without a control.

    Attributes:
        results: Results in the order of measurement.
        title: Attributes that all results have in common.
        overview: Table with one row per result.
        fastest: Lines that name the fastest of several rivals.
        generations: Generations of tokens.
        definitions: The same in the definitions of other tools.
        further_metrics: Metrics that the overview leaves out.
        scenarios: Cold, warm and sustained figures.
        paced: How paced executions kept their deadline.
        phases: Memory and time of the phases of a launch, where they were asked for.
        functions: Functions in which probes found each program most often.
        operators: Operators of each result, with their share.
        coverage: Sentences on how much of the latency the operators take.
        remarks: Failures, notes and hints, in full.
        folded_remarks: The same, folded by cause.
    """

    results: Sequence[Result]
    title: Line
    overview: Sequence[Column]
    fastest: Sequence[Line]
    generations: TitledTable
    definitions: TitledTable
    further_metrics: TitledTable
    scenarios: TitledTable
    paced: TitledTable
    phases: TitledTable
    functions: TitledTable
    operators: TitledTable
    coverage: Sequence[str]
    remarks: Sequence[Line]
    folded_remarks: Sequence[Line]


def describe_measurements(results: Sequence[Result], *, operators_at_most: int | None = None) -> MeasurementSection:
    """Describe measurements without a control.

    Args:
        results: In the order of measurement; those of a ranking are shown by rank.
        operators_at_most: Operators to list for each result; None lists all.
    """
    results = order_by_rank(results)
    return MeasurementSection(
        results=results,
        title=format_title(results),
        overview=build_overview(results),
        fastest=[*describe_ranks(results), *describe_fastest([result for result in results if result.rank is None])],
        generations=TitledTable("Generation", build_generations(results)),
        definitions=TitledTable("The same in other definitions", build_definitions(results)),
        further_metrics=TitledTable("Further metrics", build_further_metrics(results)),
        scenarios=TitledTable("Cold, warm and sustained", build_scenarios(results)),
        paced=TitledTable("Paced executions", build_paced(results)),
        phases=TitledTable("Memory and load", build_phases(results)),
        functions=TitledTable("Functions", build_functions_table(results, operators_at_most)),
        operators=TitledTable("Operators", build_profile_table(results, operators_at_most)),
        coverage=list(describe_coverage(results)),
        remarks=list_remarks(results),
        folded_remarks=fold_remarks(results),
    )
