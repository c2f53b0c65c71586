"""Statistics of one launch, log ratios of one pair of launches, and their scale over the pairs so far."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Final

from harness.core.comparison import GAIN_STATISTICS, STATISTICS, Pair

PRIOR_SCALE: Final = 0.01
"""Scale assumed before the first pair: neighbouring launches of one MobileNetV2 runner differed by 0.5 to 1.7 %,
between a quiet machine and a crowded one."""

PRIOR_WEIGHT: Final = 2
"""Pairs that the assumption counts for."""

LaunchStatistics = tuple[float, float, float, float, float]
"""min, p25, median, mean and p90 of the iterations of a launch: `harness.core.comparison.STATISTICS`."""


def statistics_of(*, higher_is_better: bool) -> tuple[str, ...]:
    """Return the names of the statistics of a launch."""
    return GAIN_STATISTICS if higher_is_better else STATISTICS


def launch_statistics(samples: Sequence[float], *, higher_is_better: bool = False) -> LaunchStatistics:
    """Return the five statistics of a launch that evidence is gathered from.

    Several, because each is blind to something: `min` and `p25` hardly move with the noise, but do not see one
    iteration in ten that takes longer; `mean` and `p90` see it, but move with the noise. What disturbs a machine makes
    it slower and never faster; so of a rate it is the high end that is quiet, and the low end where the tail shows.
    Percentiles interpolate linearly at position (n - 1) p / 100 of the sorted samples, as in
    `harness.analysis.summary`.

    Args:
        samples: Iterations of one launch, at least one, in any order and unit.
        higher_is_better: Whether they are gains, such as a throughput, and not costs.

    Returns:
        min, p25, median, mean and p90 of costs; max, p75, median, mean and p10 of gains. In the unit of the samples.

    Raises:
        ValueError: There is no sample, or one is not a finite number above zero: ratios of it would mean nothing.
    """
    if not samples:
        raise ValueError("a launch without samples has no statistics")
    ordered = sorted(samples)
    for sample in samples:
        if not 0 < sample < math.inf:
            raise ValueError(f"only finite samples above zero can be compared as ratios, not {sample}")
    largest = ordered[-1]
    mean = largest * (math.fsum(sample / largest for sample in ordered) / len(ordered))  # a sum may be no double
    best, quartile, tail = (1.0, 0.75, 0.1) if higher_is_better else (0.0, 0.25, 0.9)
    return (
        _percentile(ordered, best),
        _percentile(ordered, quartile),
        _percentile(ordered, 0.5),
        min(max(mean, ordered[0]), largest),
        _percentile(ordered, tail),
    )


def log_ratios(pair: Pair) -> LaunchStatistics:
    """Return ln(treatment / control) of each statistic.

    Raises:
        ValueError: The pair does not have five statistics on each side, or one is not a finite number above zero.
    """
    if not len(pair.control) == len(pair.treatment) == len(STATISTICS):
        raise ValueError(f"pair {pair.index} does not have {len(STATISTICS)} statistics on both sides")
    for value in (*pair.control, *pair.treatment):
        if not 0 < value < math.inf:
            raise ValueError(f"pair {pair.index} has a statistic that is not a finite number above zero: {value}")
    best, quartile, median, mean, tail = map(_log_ratio, pair.treatment, pair.control)
    return best, quartile, median, mean, tail


class PredictableScale:
    """The robust scale of the pairs so far, drawn towards `PRIOR_SCALE` while they are few.

    A test that is valid after every pair may weigh a pair by anything that was known before it, and by nothing else:
    ask for `next` before `add`.
    """

    __slots__ = ("_ordered",)

    def __init__(self) -> None:
        self._ordered: list[float] = []

    def next(self) -> float:
        """Return the scale of the next log ratio: always above zero."""
        count = len(self._ordered)
        spread = 1.4826 * median_deviation(self._ordered) if count > 1 else 0.0
        return (PRIOR_WEIGHT * PRIOR_SCALE + count * spread) / (PRIOR_WEIGHT + count)

    def add(self, log_ratio: float) -> None:
        """Add one more log ratio."""
        insort(self._ordered, log_ratio)

    def median(self) -> float | None:
        """Return the median of the log ratios so far; None without any."""
        return middle(self._ordered) if self._ordered else None


def middle(ordered: Sequence[float]) -> float:
    """Return the median of values in ascending order, at least one."""
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else 0.5 * (ordered[half - 1] + ordered[half])


def median_deviation(ordered: Sequence[float]) -> float:
    """Return the median absolute deviation from the median, unscaled, of values in ascending order, at least one.

    In logarithmic time, because it is needed after every pair of every benchmark.
    """
    center, half = middle(ordered), len(ordered) // 2
    upper = _nearest(ordered, center, half + 1)
    return upper if len(ordered) % 2 else 0.5 * (_nearest(ordered, center, half) + upper)


def _log_ratio(treatment: float, control: float) -> float:
    """Return exactly 0 for equal values; the difference of logarithms stays finite where the quotient does not."""
    quotient = treatment / control
    if 0 < quotient < math.inf:
        return math.log(quotient)
    return math.log(treatment) - math.log(control)


def _percentile(ordered: Sequence[float], share: float) -> float:
    position = (len(ordered) - 1) * share
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def _nearest(ordered: Sequence[float], center: float, count: int) -> float:
    """Return the distance from `center` within which `count` of the values lie.

    The nearest values are neighbours. Of all runs of `count` neighbours the left end comes nearer to the center while
    the right end leaves it, so the best run is where the left end stops being the farther.
    """
    runs = range(len(ordered) - count + 1)
    turn = bisect_left(runs, True, key=lambda start: ordered[start] + ordered[start + count - 1] >= 2 * center)
    near = (start for start in (turn - 1, turn) if start in runs)
    return min(max(center - ordered[start], ordered[start + count - 1] - center) for start in near)
