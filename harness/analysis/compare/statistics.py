"""What one launch, and one pair of launches, contributes to a comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.core.comparison import STATISTICS, Pair

LaunchStatistics = tuple[float, float, float, float, float]
"""min, p25, median, mean and p90 of the iterations of a launch: `harness.core.comparison.STATISTICS`."""


def launch_statistics(samples: Sequence[float]) -> LaunchStatistics:
    """The five figures of a launch that evidence is gathered from.

    Several, because each is blind to something: `min` and `p25` hardly move with the noise, but do not see one
    iteration in ten that takes longer; `mean` and `p90` see it, but move with the noise. Percentiles interpolate
    linearly at position (n - 1) p / 100 of the sorted samples, as in `harness.analysis.summary`.

    Args:
        samples: Iterations of one launch, at least one, in any order and unit.

    Returns:
        min, p25, median, mean and p90, in the unit of the samples.

    Raises:
        ValueError: There is no sample, or one is not a finite number above zero: ratios of it would mean nothing.
    """
    if not samples:
        raise ValueError("a launch without samples has no statistics")
    ordered = sorted(samples)
    for sample in samples:
        if not 0 < sample < math.inf:
            raise ValueError(f"only finite samples above zero can be compared as ratios, not {sample}")
    mean = math.fsum(sample / len(ordered) for sample in ordered)  # divided first: a sum may leave the range of doubles
    return (
        ordered[0],
        _percentile(ordered, 0.25),
        _percentile(ordered, 0.5),
        min(max(mean, ordered[0]), ordered[-1]),
        _percentile(ordered, 0.9),
    )


def log_ratios(pair: Pair) -> LaunchStatistics:
    """ln(treatment / control) of each statistic.

    Raises:
        ValueError: The pair does not have five statistics on each side, or one is not a finite number above zero.
    """
    if not len(pair.control) == len(pair.treatment) == len(STATISTICS):
        raise ValueError(f"pair {pair.index} does not have the statistics {', '.join(STATISTICS)} on both sides")
    for value in (*pair.control, *pair.treatment):
        if not 0 < value < math.inf:
            raise ValueError(f"pair {pair.index} has a statistic that is not a finite number above zero: {value}")
    lowest, quartile, median, mean, p90 = map(_log_ratio, pair.treatment, pair.control)
    return lowest, quartile, median, mean, p90


def _log_ratio(treatment: float, control: float) -> float:
    """Exactly 0 for equal values. The difference of logarithms stays finite where the quotient does not."""
    quotient = treatment / control
    if 0 < quotient < math.inf:
        return math.log(quotient)
    return math.log(treatment) - math.log(control)


def _percentile(ordered: Sequence[float], share: float) -> float:
    position = (len(ordered) - 1) * share
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
