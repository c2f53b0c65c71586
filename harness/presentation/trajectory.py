"""The differences of the pairs, one after the other, and what they add up to."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from harness.core.comparison import STATISTICS, Comparison, Pair

_QUARTILE: Final = STATISTICS.index("p25")
"""What `Comparison.difference` is estimated from; the upper quartile has the same place where higher is better."""

_LARGEST_LOG: Final = 700.0
"""exp of more leaves the range of doubles."""


@dataclass(frozen=True, slots=True)
class Point:
    """One pair.

    Attributes:
        difference: Treatment / control - 1 of the better quartiles of its two launches.
        estimate: The median over this pair and all before it, as the comparison estimated it then.
        control_first: What the coin said.
    """

    difference: float
    estimate: float
    control_first: bool


@dataclass(frozen=True, slots=True)
class Figure:
    """One statistic of the launches.

    Attributes:
        name: `min`, `p25`, `median`, `mean` or `p90`; of a gain `max`, `p75`, `median`, `mean` or `p10`.
        control: Its median over the control's launches, in the unit of the metric.
        treatment: Its median over the treatment's launches.
        difference: Median of treatment / control - 1 over the pairs.
    """

    name: str
    control: float
    treatment: float
    difference: float


def trajectory(pairs: Sequence[Pair]) -> Iterator[Point]:
    """Every pair in measured order; a pair of which no ratio can be taken is left out."""
    ordered: list[float] = []
    for pair in pairs:
        ratio = _log_ratio(pair, _QUARTILE)
        if ratio is not None:
            insort(ordered, ratio)
            yield Point(_relative(ratio), _relative(median(ordered)), pair.control_first)


def figures(comparison: Comparison) -> tuple[Figure, ...]:
    """The five statistics of the launches over all pairs; nothing without pairs."""
    whole = [pair for pair in comparison.pairs if all(_log_ratio(pair, n) is not None for n in range(len(STATISTICS)))]
    if not whole:
        return ()
    return tuple(
        Figure(
            name,
            control=median(pair.control[number] for pair in whole),
            treatment=median(pair.treatment[number] for pair in whole),
            difference=_relative(median(_log_ratio(pair, number) or 0.0 for pair in whole)),
        )
        for number, name in zip(range(len(STATISTICS)), comparison.statistics, strict=False)
    )


def _log_ratio(pair: Pair, number: int) -> float | None:
    if len(pair.control) <= number or len(pair.treatment) <= number:
        return None
    control, treatment = pair.control[number], pair.treatment[number]
    return math.log(treatment) - math.log(control) if control > 0 and treatment > 0 else None


def _relative(log_ratio: float) -> float:
    return math.expm1(min(log_ratio, _LARGEST_LOG))
