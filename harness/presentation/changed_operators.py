"""What changed inside a benchmark: operators that are slower, faster, new or gone, those that matter most first."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Final

from harness.core.comparison import Comparison, OperatorComparison, Verdict
from harness.presentation.numbers import quantity
from harness.presentation.shares import signed, span
from harness.presentation.verdicts import Standing

_STANDINGS: Final = {Verdict.REGRESSION: Standing.REGRESSION, Verdict.IMPROVEMENT: Standing.IMPROVEMENT}


@dataclass(frozen=True, slots=True)
class ChangedOperator:
    """One row; texts are as they came, not escaped for any format.

    Attributes:
        standing: Whether it became slower or faster; None where only one side has it.
        change: `slower`, `faster`, `new` or `gone`.
        name: The operator.
        control: The median of its medians in the control's launches.
        treatment: That in the treatment's.
        difference: Signed, in percent.
        interval: Its 95 % interval.
        contribution: What it adds to the time of all operators of the control: 0.02 is 2 %.
    """

    standing: Standing | None
    change: str
    name: str
    control: str
    treatment: str
    difference: str
    interval: str
    contribution: float


def changed_operators(comparison: Comparison) -> list[ChangedOperator]:
    """The discovered operators, and those that only one side has; the largest contribution first."""
    whole = sum(_typical(one.control) for one in comparison.operators)
    rows = [_row(one, whole) for one in comparison.operators if one.discovered or not one.is_shared]
    return sorted((row for row in rows if row is not None), key=lambda row: -abs(row.contribution))


def _row(one: OperatorComparison, whole: float) -> ChangedOperator | None:
    if not one.pairs or not whole:  # never in the same pair
        return None
    control, treatment = _typical(one.control), _typical(one.treatment)
    standing = _STANDINGS.get(one.verdict) if one.is_shared else None
    added = (one.difference or 0.0) * control if one.is_shared else treatment - control
    return ChangedOperator(
        standing=standing,
        change=_change(one, standing),
        name=one.name,
        control=quantity(control, one.unit) if one.control else "",
        treatment=quantity(treatment, one.unit) if one.treatment else "",
        difference=signed(one.difference),
        interval=span(one.low, one.high),
        contribution=added / whole,
    )


def _change(one: OperatorComparison, standing: Standing | None) -> str:
    if standing is None:
        return "gone" if one.control else "new"
    return "slower" if standing is Standing.REGRESSION else "faster"


def _typical(medians: tuple[float, ...]) -> float:
    return median(medians) if medians else 0.0
