"""Course of a comparison: the relative change of each pair in order, their running median, and launch statistics."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterator
from statistics import median

from msgspec import Struct

from harness.core.comparison import ESTIMATED_STATISTIC, STATISTICS, Comparison, Pair
from harness.core.effect import relative_change


class PairPoint(Struct, frozen=True):
    """Pair of launches.

    Attributes:
        relative_change: Treatment / control - 1 of one statistic of its two launches.
        median: Median over this pair and all before it. The reported difference is without what the order of the
            launches explains, and mostly of all statistics: it may differ.
        control_first: Whether the coin put the control first.
    """

    relative_change: float
    median: float
    control_first: bool


class LaunchStatistic(Struct, frozen=True):
    """Statistic of the launches.

    Attributes:
        name: `min`, `p25`, `median`, `mean` or `p90`; where higher is better `max`, `p75`, `median`, `mean` or `p10`.
        control: Median over the control's launches, in the unit of the metric.
        treatment: Median over the treatment's launches.
        relative_change: Median of treatment / control - 1 over the pairs.
    """

    name: str
    control: float
    treatment: float
    relative_change: float


def trace_comparison(comparison: Comparison) -> Iterator[PairPoint]:
    """Yield every pair in measured order; a pair that has no ratio is left out.

    The statistic is that which the stated difference is about, else the better quartile of each launch.
    """
    names = comparison.statistics
    number = names.index(comparison.figure) if comparison.figure in names else ESTIMATED_STATISTIC
    sorted_ratios: list[float] = []
    for pair in comparison.pairs:
        log_ratio = _log_ratio(pair, number)
        if log_ratio is not None:
            insort(sorted_ratios, log_ratio)
            yield PairPoint(relative_change(log_ratio), relative_change(median(sorted_ratios)), pair.control_first)


def compute_launch_statistics(comparison: Comparison) -> tuple[LaunchStatistic, ...]:
    """Return the five statistics of the launches over all pairs; nothing without pairs."""
    if not (complete := comparison.complete_pairs):
        return ()
    return tuple(
        LaunchStatistic(
            name,
            control=median(pair.control[number] for pair in complete),
            treatment=median(pair.treatment[number] for pair in complete),
            relative_change=relative_change(median(_log_ratio(pair, number) or 0.0 for pair in complete)),
        )
        for number, name in enumerate(comparison.statistics[: len(STATISTICS)])
    )


def _log_ratio(pair: Pair, number: int) -> float | None:
    return math.log(pair.treatment[number]) - math.log(pair.control[number]) if pair.has_ratio(number) else None
