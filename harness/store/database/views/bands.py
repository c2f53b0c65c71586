"""Bands: ranges in which most medians of a stretch of a history lie. They describe a picture, and decide nothing.

The level of a cell is another from each proven change on, so stretches end there. In each, the band is median
plus or minus 2 x 1.4826 x MAD: 1.4826 MAD estimates the standard deviation of normal noise (Rousseeuw and Croux,
"Alternatives to the median absolute deviation", JASA 88, 1993), half of the points may be outliers, and about 95 % of
normal noise lie within two. It is taken of logarithms, since noise of times is relative and they cannot be negative;
where a value is not positive, of the values themselves.

Where a picture has fewer places than points, a stretch is divided into parts of as many points each, and the band of a
part is the range between its 5 % and 95 % quantiles, beside its median.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from harness.core.order_statistics import median_deviation, median_of_ordered, quantile
from harness.store.history import Band

MOST_BANDS: Final = 200
"""Parts of a picture with more points than places: fewer pixels than this have none."""

_FEWEST: Final = 3
"""Fewer points have no range worth drawing."""

_LARGEST: Final = 1e300
"""Differences of such values do not leave the range of a double."""

_DEVIATIONS: Final = 2 * 1.4826
_OUTER: Final = 0.05

Point = tuple[float, float]
"""Time and median."""


def make_bands(points: Sequence[Point], changes: Sequence[float], places: int) -> tuple[Band, ...]:
    """Return the bands of points, oldest first.

    Args:
        points: Times and medians, by time. Those beyond `_LARGEST` are in no band.
        changes: Times of proven changes: a stretch begins with each.
        places: Number of points that a picture shows one by one.
    """
    points = [(time, value) for time, value in points if abs(value) <= _LARGEST]
    times = [time for time, _ in points]
    limits = sorted({0, len(points), *(bisect_left(times, change) for change in changes)})
    stretches = [points[start:end] for start, end in pairwise(limits)]
    if len(points) <= places:
        return tuple(_describe_level(stretch) for stretch in stretches if len(stretch) >= _FEWEST)
    size = max(_FEWEST, math.ceil(len(points) / MOST_BANDS))
    return tuple(
        _describe_part(part) for stretch in stretches for part in _divide(stretch, size) if len(part) >= _FEWEST
    )


def _describe_level(points: Sequence[Point]) -> Band:
    """Return the band of a stretch by median and MAD."""
    values = sorted(value for _, value in points)
    if values[0] > 0:
        logarithms = [math.log(value) for value in values]
        middle, extent = median_of_ordered(logarithms), _DEVIATIONS * median_deviation(logarithms)
        low, high = math.exp(middle - extent), math.exp(min(middle + extent, math.log(_LARGEST)))
    else:
        middle, extent = median_of_ordered(values), _DEVIATIONS * median_deviation(values)
        low, high = middle - extent, middle + extent
    return _make(points, low, median_of_ordered(values), high)


def _describe_part(points: Sequence[Point]) -> Band:
    """Return the band of a part by quantiles."""
    values = sorted(value for _, value in points)
    return _make(points, quantile(values, _OUTER), median_of_ordered(values), quantile(values, 1 - _OUTER))


def _make(points: Sequence[Point], low: float, middle: float, high: float) -> Band:
    """Return a band that contains its middle, also after rounding."""
    return Band(
        start=points[0][0],
        end=points[-1][0],
        low=min(low, middle),
        middle=middle,
        high=max(high, middle),
        count=len(points),
    )


def _divide(points: Sequence[Point], size: int) -> Iterator[Sequence[Point]]:
    """Yield parts of about equal size, at most `size`."""
    parts = math.ceil(len(points) / size)
    limits = [len(points) * part // parts for part in range(parts + 1)] if parts else []
    for start, end in pairwise(limits):
        yield points[start:end]
