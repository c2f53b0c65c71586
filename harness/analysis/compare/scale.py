"""Scale of the log ratios of pairs, as far as it is known before the next pair."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Final

PRIOR_SCALE: Final = 0.01
"""Scale assumed before the first pair: neighbouring launches of one MobileNetV2 runner differed by 0.5 to 1.7 %,
between a quiet machine and a crowded one."""

PRIOR_WEIGHT: Final = 2
"""Pairs that the assumption counts for."""


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


def _nearest(ordered: Sequence[float], center: float, count: int) -> float:
    """Return the distance from `center` within which `count` of the values lie.

    The nearest values are neighbours. Of all runs of `count` neighbours the left end comes nearer to the center while
    the right end leaves it, so the best run is where the left end stops being the farther.
    """
    runs = range(len(ordered) - count + 1)
    turn = bisect_left(runs, True, key=lambda start: ordered[start] + ordered[start + count - 1] >= 2 * center)
    near = (start for start in (turn - 1, turn) if start in runs)
    return min(max(center - ordered[start], ordered[start + count - 1] - center) for start in near)
