"""Section of a report about comparisons, as data and in the order in which a terminal and pages show it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from harness.core.comparison import Comparison
from harness.core.result import Result
from harness.presentation.changed_operators import build_changes_table
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
from harness.presentation.explanations import (
    collect_rules,
    describe_false_discoveries,
    explain_in_full,
    select_measured_comparisons,
    tabulate_evidence,
)
from harness.presentation.fleets import Fleet, describe_fleet, find_fleets
from harness.presentation.measurement_table import format_title
from harness.presentation.tables import Column, TitledTable
from harness.presentation.text import Line


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
        folded_lines: The same, with notes folded by cause.
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
    folded_lines: Sequence[Line]
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


def describe_comparisons(results: Sequence[Result], *, operators_at_most: int | None = None) -> ComparisonSection:
    """Describe comparisons.

    Args:
        results: Of comparisons, ordered for a reader.
        operators_at_most: Changed operators to list for each result; None lists all.
    """
    columns, fleets = build_columns(results), find_fleets(results)
    verdicts = list(map(describe_fleet, fleets))
    return ComparisonSection(
        results=results,
        title=format_title(results, with_runner=False),
        sides=describe_sides(results),
        columns=columns,
        legend=format_legend(columns),
        error_rate=describe_false_discoveries(results),
        fleets=fleets,
        lines=[*verdicts, *list_lines(results)],
        folded_lines=[*verdicts, *list_lines(results, folded=True)],
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
