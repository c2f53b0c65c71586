"""Statistics of one launch, and log ratios of one pair of launches."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.core.comparison import GAIN_STATISTICS, STATISTICS, Pair

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
