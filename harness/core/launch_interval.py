"""Confidence intervals of medians over launches, which are the unit: the iterations of one launch are not independent.

The medians of the launches are sorted, and the interval reaches from the k-th smallest to the k-th largest. Whatever
their distribution, the number of independent launches below its median is binomial with probability 1/2 (the sign
test), so the coverage is known, without normality or symmetry. Few launches are not enough for that: the interval is
then wider than their range, by what normal noise needs.

Launches are added until the interval is narrow, which would favour intervals that are narrow by chance. So the
precision is examined after few, planned numbers of launches, and all of them together may miss with `_LEVEL`, divided
equally (Bonferroni). That holds for any rule of stopping; where time ends the launches before the first look, there is
one interval only. It is half of the 5 % that are promised, because neighbouring launches correlate: by 0.35 in 30
recorded ones. `tests/benchmarks/decisions/test_launch_intervals.py` is the study.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from harness.core.metric import DYNAMIC_ENERGY, LaunchInterval, Metric
from harness.core.order_statistics import median

CONFIDENCE: Final = 0.95
_LEVEL: Final = 0.025
"""Probability with which any of the intervals of a benchmark misses, if its launches are independent."""

_FEWEST: Final = 5
"""Launches at the first look: intervals over fewer are several times as wide as their range."""

_GROWTH: Final = 1.5
"""Factor from one look to the next: at most half more launches than needed, and few looks."""

_NEARLY_ALL: Final = 0.8
"""A look at more than this share of the largest number waits for that number."""

_STEPS: Final = 400
_LARGEST_FACTOR: Final = 1e4


def plan_looks(fewest: int, most: int) -> tuple[int, ...]:
    """Return the numbers of launches after which the precision is examined, ascending; the last one ends it anyway.

    Args:
        fewest: Launches that are made in any case.
        most: Largest number of launches.
    """
    looks = [max(fewest, min(_FEWEST, most))]
    while looks[-1] < most:
        following = math.ceil(_GROWTH * looks[-1])
        looks.append(most if following > _NEARLY_ALL * most else following)
    return tuple(looks)


def interval_of(metric: Metric, looks: int = 1) -> LaunchInterval | None:
    """Return the interval of a metric's median over its launches; None for a single launch, and without samples.

    It contains the median of all samples, which tables show, although it is about the median launch.

    Args:
        metric: The metric.
        looks: Number of intervals of which this is one, each of which could have been the last.
    """
    if metric.median is None:
        return None
    by_launch: dict[int, list[float]] = {}
    for launch, sample in zip(metric.launches, metric.samples, strict=False):
        by_launch.setdefault(launch, []).append(sample)
    medians = [median(samples) for samples in by_launch.values()]
    return compute_interval(medians, metric.median, looks, is_difference=metric.metric == DYNAMIC_ENERGY)


def known_interval(metric: Metric) -> LaunchInterval | None:
    """Return the interval that a metric was stored with; older versions stored none, and then it is computed."""
    return metric.interval or interval_of(metric)


def compute_interval(
    medians: Sequence[float], center: float, looks: int = 1, *, is_difference: bool = False
) -> LaunchInterval | None:
    """Return the interval of launches with these medians; None where it is not finite, and for a single launch.

    Args:
        medians: The median of each launch.
        center: Value that the interval shall contain.
        looks: Number of intervals of which this is one.
        is_difference: Whether the values are differences, which may be negative even if none of these is.
    """
    if len(medians) < 2 or not all(map(math.isfinite, (*medians, center))):
        return None
    level, ranked = _LEVEL / looks, sorted(medians)
    rank = _rank(len(ranked), level)
    if rank:
        low, high = ranked[rank - 1], ranked[-rank]
    else:
        low, high = _widen(ranked[0], ranked[-1], _widening(len(ranked), level), is_difference=is_difference)
    low, high = min(low, center), max(high, center)
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    return LaunchInterval(low=low, high=high, confidence=CONFIDENCE, launches=len(ranked))


@lru_cache(maxsize=256)
def _rank(count: int, level: float) -> int:
    """Return the largest k for which the k-th smallest and k-th largest of `count` values miss with `level`; or 0.

    The median lies below the k-th smallest if fewer than k values lie below it: a binomial probability.
    """
    rank, below = 0, 0.0
    while 2 * (below + math.comb(count, rank) / 2**count) <= level:
        below += math.comb(count, rank) / 2**count
        rank += 1
    return rank


@lru_cache(maxsize=256)
def _widening(count: int, level: float) -> float:
    """Return the share of their range by which `count` normal values are widened at either end to miss with `level`."""
    low, high = 0.0, 1.0
    while _miss(count, high) > level and high < _LARGEST_FACTOR:
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _miss(count, middle) > level else (low, middle)
    return high


def _miss(count: int, factor: float) -> float:
    """Return the probability that the median of a normal distribution lies outside of the widened range of a sample.

    It lies below if the smallest value m is positive and all others are within m (1 + 1 / factor): one integral over m.
    """
    if factor == 0:
        return float(2 ** (1 - count))
    ratio, total, end = 1 + 1 / factor, 0.0, 9.0
    for step in range(_STEPS):
        smallest = (step + 0.5) * end / _STEPS
        inside = (math.erf(ratio * smallest / math.sqrt(2)) - math.erf(smallest / math.sqrt(2))) / 2
        total += math.exp(-smallest * smallest / 2) * inside ** (count - 1)
    return 2 * count * total * (end / _STEPS) / math.sqrt(2 * math.pi)


def _widen(low: float, high: float, factor: float, *, is_difference: bool) -> tuple[float, float]:
    """Widen a range at either end by a factor of it: of positive values as ratios, so that its ends stay positive."""
    if low > 0 and not is_difference:
        growth = factor * math.log(high / low)
        return (low * math.exp(-growth), high * math.exp(growth)) if growth < 500 else (0.0, math.inf)
    extent = factor * (high - low)
    return low - extent, high + extent
