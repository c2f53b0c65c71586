"""Sections of a report about results, as data and in the order in which a terminal and pages show them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from harness.core.comparison import Comparison
from harness.core.result import Result
from harness.presentation.comparison_table import (
    ComparisonRow,
    build_columns,
    build_row,
    describe_sides,
    explain_launches,
    format_legend,
    list_lines,
    tabulate_launches,
)
from harness.presentation.evaluation_table import (
    build_evaluation_table,
    build_layer_table,
    build_stage_table,
    describe_evaluations,
)
from harness.presentation.explanations import (
    collect_rules,
    describe_false_discoveries,
    explain_in_full,
    select_measured_comparisons,
    tabulate_evidence,
)
from harness.presentation.fleets import Fleet, describe_fleet, find_fleets
from harness.presentation.folded_remarks import fold_remarks
from harness.presentation.functions import build_functions_table
from harness.presentation.generations import build_definitions, build_generations
from harness.presentation.measurement_table import build_further_metrics, build_overview, format_title
from harness.presentation.operators import build_changes_table, build_profile_table, describe_coverage
from harness.presentation.pareto import describe_compromises
from harness.presentation.phases import build_phases
from harness.presentation.ranks import describe_ranks
from harness.presentation.remarks import list_remarks
from harness.presentation.scenarios import build_paced, build_scenarios
from harness.presentation.speeds import describe_fastest
from harness.presentation.tables import Column
from harness.presentation.text import Line


class TitledTable(Struct, frozen=True):
    """Table under a heading, which is left out when it has no rows."""

    heading: str
    columns: Sequence[Column]

    @property
    def has_rows(self) -> bool:
        """True if there is anything to show."""
        return bool(self.columns[0].cells)


class ComparisonSection(Struct, frozen=True):
    """Everything about comparisons.

    Attributes:
        results: Results of comparisons, most severe first.
        title: Attributes that all results have in common.
        sides: Control, treatment and metric, where all results have the same.
        columns: Table with one row per result.
        legend: Explanation of the columns; empty where they need none.
        error_rate: Sentence on how many of the regressions may be false; empty where nothing was measured.
        fleets: Benchmarks that were compared on several devices.
        lines: A verdict for each of these, reasons, other metrics that changed, notes and hints.
        operators: Operators that changed.
        rules: Rules of the decisions, once for all results that share them.
    """

    results: Sequence[Result]
    title: Line
    sides: Sequence[tuple[str, str]]
    columns: Sequence[Column]
    legend: str
    error_rate: str
    fleets: Sequence[Fleet]
    lines: Sequence[Line]
    operators: TitledTable
    rules: Sequence[Sequence[tuple[str, str]]]


class ComparisonDetails(Struct, frozen=True):
    """Grounds of one verdict.

    Attributes:
        number: Index of the result in its section.
        result: Result of the comparison.
        comparison: The comparison, with at least one pair.
        row: Its row of the table.
        reason: Reason of the verdict, and pairs that were discarded.
        launches: Statistics of the launches, under `LAUNCH_HEADINGS`.
        launches_key: Explanation of these statistics.
        evidence: Evidence for and against, under `EVIDENCE_HEADINGS`.
    """

    number: int
    result: Result
    comparison: Comparison
    row: ComparisonRow
    reason: str
    launches: Sequence[tuple[str, ...]]
    launches_key: str
    evidence: Sequence[tuple[str, ...]]


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


def describe_comparisons(results: Sequence[Result], *, operators_at_most: int | None = None) -> ComparisonSection:
    """Describe comparisons.

    Args:
        results: Of comparisons, ordered for a reader.
        operators_at_most: Changed operators to list for each result; None lists all.
    """
    columns, fleets = build_columns(results), find_fleets(results)
    return ComparisonSection(
        results=results,
        title=format_title(results, with_runner=False),
        sides=describe_sides(results),
        columns=columns,
        legend=format_legend(columns),
        error_rate=describe_false_discoveries(results),
        fleets=fleets,
        lines=[*map(describe_fleet, fleets), *list_lines(results)],
        operators=TitledTable("Changed operators", build_changes_table(results, operators_at_most)),
        rules=collect_rules(results),
    )


def describe_details(results: Sequence[Result]) -> list[ComparisonDetails]:
    """Describe the grounds of each verdict that rests on pairs.

    Args:
        results: Of comparisons, ordered for a reader.
    """
    compared = len(select_measured_comparisons(results))
    return [
        ComparisonDetails(
            number=number,
            result=result,
            comparison=comparison,
            row=build_row(result),
            reason=explain_in_full(result, compared),
            launches=tabulate_launches(comparison),
            launches_key=explain_launches(comparison),
            evidence=tabulate_evidence(comparison),
        )
        for number, result in enumerate(results)
        if (comparison := result.comparison) is not None and comparison.pairs
    ]


def describe_measurements(results: Sequence[Result], *, operators_at_most: int | None = None) -> MeasurementSection:
    """Describe measurements without a control.

    Args:
        results: In the order of measurement.
        operators_at_most: Operators to list for each result; None lists all.
    """
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
