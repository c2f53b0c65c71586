"""Operators that changed between control and treatment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from harness.core.comparison import Comparison, OperatorComparison
from harness.core.result import Result
from harness.core.verdict import Verdict
from harness.presentation.explanations import head_interval
from harness.presentation.numbers import format_change, format_interval, format_quantity
from harness.presentation.tables import Column, Row, tabulate
from harness.presentation.text import Span, Tone, make_printable
from harness.presentation.verdicts import VerdictCategory

_CATEGORIES: Final = {
    Verdict.REGRESSION: VerdictCategory.REGRESSION,
    Verdict.IMPROVEMENT: VerdictCategory.IMPROVEMENT,
}


class OperatorRow(Struct, frozen=True):
    """Operator that became slower or faster, or that only one side has; texts are not escaped for any format.

    Attributes:
        category: Regression or improvement; None where only one side has the operator.
        change: `slower`, `faster`, `new` or `gone`.
        name: Name of the operator.
        control: Median of its medians in the control's launches.
        treatment: The control's figure changed by the difference; of a new operator the median of its medians.
        difference: Relative change, signed, in percent.
        interval: 95 % interval of the relative change.
        contribution: Time that it adds, as a share of the time of all operators of the control: 0.02 is 2 %.
    """

    category: VerdictCategory | None
    change: str
    name: str
    control: str
    treatment: str
    difference: str
    interval: str
    contribution: float


def find_changed_operators(comparison: Comparison) -> list[OperatorRow]:
    """Return a row for each operator that changed; the largest contribution first."""
    return [_operator_row(operator, contribution) for operator, contribution in comparison.contributions()]


def build_changes_table(results: Sequence[Result], at_most: int | None = None) -> list[Column]:
    """Build the table of each comparison's changed operators; a benchmark is named in its first row only."""
    rows: list[Row] = []
    for result in results:
        changes = find_changed_operators(result.comparison) if result.ok and result.comparison else []
        title = make_printable(result.benchmark.title)
        for change in changes[:at_most]:
            rows.append(_change_row(title, change))
            title = ""
        if rest := changes[len(changes[:at_most]) :]:
            total = format_change(sum(change.contribution for change in rest))
            texts = ("", f"and {len(rest)} more in its result.json", "", "", "", "", total)
            rows.append((Span(""), *map(Span, texts)))
    interval = head_interval(results)
    names = ("benchmark", "change", "operator", "control", "treatment", "difference", interval, "contribution")
    return tabulate(names, rows, first_right=3)


def _operator_row(operator: OperatorComparison, contribution: float) -> OperatorRow:
    treatment = operator.typical_treatment
    if operator.is_shared and operator.difference is not None:
        treatment = operator.typical_control + operator.added
    category = _CATEGORIES.get(operator.verdict) if operator.is_shared else None
    if category is None:
        change = "gone" if operator.control else "new"
    else:
        change = "slower" if category is VerdictCategory.REGRESSION else "faster"
    return OperatorRow(
        category=category,
        change=change,
        name=operator.name,
        control=format_quantity(operator.typical_control, operator.unit) if operator.control else "",
        treatment=format_quantity(treatment, operator.unit) if operator.treatment else "",
        difference=format_change(operator.difference),
        interval=format_interval(operator.low, operator.high),
        contribution=contribution,
    )


def _change_row(title: str, change: OperatorRow) -> Row:
    figures = (change.control, change.treatment, change.difference, change.interval, format_change(change.contribution))
    tone = change.category.tone if change.category else Tone.NORMAL
    return (Span(title), Span(change.change, tone), Span(make_printable(change.name)), *map(Span, figures))
