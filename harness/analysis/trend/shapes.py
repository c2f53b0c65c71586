"""The shape of a change: a step from one commit to the next, or a drift over several."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from harness.analysis.trend.points import Array

_WIDTHS: Final = (1, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64)
"""Over how many points a change may reach. Two are left out: they are a step with a point that is off."""

_DRIFT_GAIN: Final = 5.0
"""What a drift must gain over a step in log likelihood. It has one parameter more, chosen from many."""

_TWO_STEPS_GAIN: Final = 3.0
"""What two steps must gain over a drift: then it is none. They have one parameter more still."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A change from one level to another, linear in the order of commits between its ends.

    Attributes:
        start: Last value at the old level.
        end: First value at the new level.
        old: The old level.
        size: New level minus the old one.
        error: Standard error of `size`.
    """

    start: int
    end: int
    old: float
    size: float
    error: float

    @property
    def drifts(self) -> bool:
        """Whether it reaches over more than one commit."""
        return self.end > self.start + 1


def fit(orders: Array, levels: Array, errors: Array) -> Shape:
    """The change that explains a stretch with exactly one best: a step, unless a drift is clearly better.

    Two steps one after the other look like a drift too, to somebody who has only a step to compare it with.

    Args:
        orders: Places in the history, ascending; values of the same commit have the same.
        levels: The values, at least two at different places.
        errors: Their standard errors.
    """
    starts, ends = _candidates(orders)
    ramps = np.clip((orders - orders[starts, None]) / (orders[ends] - orders[starts])[:, None], 0.0, 1.0)
    weights = errors**-2
    share = weights / weights.sum()
    ramp_means, mean = ramps @ share, float(levels @ share)
    centred = ramps - ramp_means[:, None]
    information = (centred**2) @ weights
    sizes = (centred * weights) @ (levels - mean) / information
    gains = 0.5 * sizes**2 * information
    is_step = ends == starts + 1
    step, any_shape = int(np.where(is_step, gains, -1.0).argmax()), int(gains.argmax())
    drifts = gains[any_shape] > gains[step] + _DRIFT_GAIN
    drifts = drifts and gains[any_shape] > _gain_of_two_steps(levels, weights) - _TWO_STEPS_GAIN
    best = any_shape if drifts else step
    return Shape(
        start=int(starts[best]),
        end=int(ends[best]),
        old=mean - float(sizes[best] * ramp_means[best]),
        size=float(sizes[best]),
        error=1 / math.sqrt(float(information[best])),
    )


def _gain_of_two_steps(levels: Array, weights: Array) -> float:
    """What the best three levels gain over one, in log likelihood."""
    weight, total = np.cumsum(weights), np.cumsum(weights * (levels - levels @ weights / weights.sum()))
    first, second = np.triu_indices(levels.size - 1, k=1)
    middle = (total[second] - total[first]) ** 2 / (weight[second] - weight[first])
    outer = total[first] ** 2 / weight[first] + total[second] ** 2 / (weight[-1] - weight[second])
    return float(0.5 * (outer + middle).max(initial=0.0))


def _candidates(orders: Array) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
    """Every start and end between different commits."""
    values = np.arange(orders.size)
    pairs = [(start, start + width) for width in _WIDTHS for start in values[: max(0, orders.size - width)]]
    starts, ends = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    apart = orders[starts] < orders[ends]
    return starts[apart], ends[apart]
