"""Slot effect: the second launch of a pair may be slower or faster than the first, whichever build it is of.

A device warms within a pair; caches and clocks are left as the first launch leaves them. With a slot effect b a log
ratio is `effect + side * b + noise`, where side is +1 if the treatment ran second and -1 if it ran first. The coin
makes that fair but wide: half of the pairs say too much and half too little. So evidence bets on `ratio - side * b`,
with b estimated from earlier pairs alone.

That is as exact as a bet on the ratio. Let the treatment take exp(m) times what the control would have taken in its
place, and let x be ln(second launch / first launch) as it would be if both were of the control. Then `ratio - m` is
`side * x`, and `ratio - m - side * b` is `side * (x - b)`. Given everything before the pair, b is a number; given x as
well, the sign of the bet is the coin's, whatever b is. A better treatment only lowers the ratio, so "at most m" is
refuted as rarely as "exactly m". A bad b costs power and no validity.

b is half the difference between the medians of the pairs in which the treatment ran second and of those in which it ran
first: the effect of the treatment is in both and cancels, so that a large effect is not taken for one of the slot. It
is drawn towards 0 while one of the two has few pairs, and is 0 while one of them has a single pair or none.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from harness.analysis.compare.statistics import middle
from harness.core.comparison import Pair


def side_of(pair: Pair) -> int:
    """Return +1 if the treatment was launched second, and -1 if it was launched first."""
    return 1 if pair.control_first else -1


class PredictableSlotEffect:
    """Slot effect on one statistic, estimated from the pairs so far: ask for `next` before `add`."""

    __slots__ = ("_first", "_second")

    def __init__(self) -> None:
        self._first: list[float] = []
        self._second: list[float] = []

    def next(self) -> float:
        """Return half the log ratio by which the order of the next pair is expected to move its log ratio."""
        fewer = min(len(self._first), len(self._second))
        if fewer < 2:
            return 0.0
        return (1 - 1 / fewer) * 0.5 * (middle(self._second) - middle(self._first))

    def add(self, log_ratio: float, side: int) -> None:
        """Add one more log ratio, as it was measured."""
        insort(self._second if side > 0 else self._first, log_ratio)


def remove_slot_effect(log_ratios: Sequence[float], sides: Sequence[int]) -> NDArray[np.float64]:
    """Return the log ratios without the slot effect that all of them show: for one exact test of all pairs at the end.

    It is the mean of the middle half of `side * ratio`, which is an effect of the order alone: a large effect of the
    treatment is in it with both signs. Under the hypothesis that the treatment has no effect, `side * ratio` does not
    depend on the coin, and so neither does its mean: given the magnitudes that remain, all choices of signs are equally
    likely. If the treatment is better by some common effect, the mean moves by that at most, so that no result rises.
    """
    ratios, orders = np.asarray(log_ratios, dtype=np.float64), np.asarray(sides, dtype=np.float64)
    ordered = np.sort(orders * ratios)
    cut = len(ordered) // 4
    return np.asarray(ratios - orders * ordered[cut : len(ordered) - cut].mean())
