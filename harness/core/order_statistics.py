"""Order statistics of samples: medians and quantiles, as numpy defines them, without importing it.

Importing numpy takes as much time as all else that a run of a small program needs (docs/decisions/0047).
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def median(samples: Sequence[float]) -> float:
    """Return the median of at least one sample."""
    return median_of_ordered(sorted(samples))


def median_of_ordered(ordered: Sequence[float]) -> float:
    """Return the median of at least one sample, in ascending order."""
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the quantile of at least one sample, interpolated linearly as by `numpy.quantile`, to the last bit.

    Args:
        ordered: Samples in ascending order.
        share: From 0 to 1.
    """
    rank = (len(ordered) - 1) * share
    below = math.floor(rank)
    low, high, weight = ordered[below], ordered[min(below + 1, len(ordered) - 1)], rank - below
    step = high - low
    return low + step * weight if weight < 0.5 else high - step * (1 - weight)


def median_deviation(ordered: Sequence[float]) -> float:
    """Return the median of the absolute deviations from the median, unscaled, of at least one sample in order."""
    center = median_of_ordered(ordered)
    return median([abs(sample - center) for sample in ordered])
