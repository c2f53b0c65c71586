"""Change points of a stretch of a series: where the level changes, and over how many commits.

The place is found by a likelihood ratio that no single value can carry; the shape is a step from one commit to the
next, or a drift over several.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.analysis.trend.points import Array

_CLIP = 3.75
"""Largest weight of a single value, in standard errors: two must agree before a change is detected."""


_WIDTHS: Final = (1, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64)
"""Over how many points a change may reach. Two are left out: they are a step with a point that is off."""

_DRIFT_GAIN: Final = 5.0
"""Least gain of a drift over a step in log likelihood. It has one parameter more, chosen from many."""

_TWO_STEPS_GAIN: Final = 3.0
"""Least gain of two steps over a drift, which is then none. They have one parameter more still."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Thresholds of detection.

    Attributes:
        score: Distance of two levels in standard errors. Of quiet series of 200 commits, looked at after each, one in a
            hundred or less shows a change at 5.
        smallest_log_ratio: Smallest change that is reported. Builds of the same code are not equally fast, so with
            enough commits every control differs from them.
        outlier_score: Distance at which a single point is measured again.
    """

    score: float = 5.0
    smallest_log_ratio: float = 0.005
    outlier_score: float = 4.0


@dataclass(frozen=True, slots=True)
class Split:
    """Place where a stretch changes.

    Attributes:
        index: First value at the new level.
        score: Distance of the two levels in standard errors.
    """

    index: int
    score: float


def best_split(
    levels: Array, errors: Array, exact: NDArray[np.bool_], allowed: NDArray[np.bool_], sensitivity: Sensitivity
) -> Split | None:
    """Find the split between the two most different levels (Worsley, JASA 74, 1979), if they differ enough.

    Levels are means weighted by errors. Medians of a few pairs have heavier tails than a normal distribution, so values
    on either side count as no farther from the mean of the other than `_CLIP` of their errors.

    Args:
        levels: The values, at least two.
        errors: Their standard errors.
        exact: For each value whether it is certain, because nothing was measured.
        allowed: For each value whether a new level may begin with it.
        sensitivity: Thresholds.
    """
    weights = errors**-2
    weight, total = np.cumsum(weights)[:-1], np.cumsum(weights * levels)[:-1]
    weight_after, total_after = float(weights.sum()) - weight, float(weights @ levels) - total
    sizes = total_after / weight_after - total / weight
    deviation = np.sqrt(1 / weight + 1 / weight_after)
    enough = (np.abs(sizes) >= sensitivity.smallest_log_ratio) & (np.abs(sizes) >= sensitivity.score * deviation)
    candidates = np.flatnonzero(enough & allowed[1:])
    if not candidates.size:
        return None
    is_new = np.arange(levels.size) > candidates[:, None]
    other = np.where(is_new, (total / weight)[candidates, None], (total_after / weight_after)[candidates, None])
    reach = np.where(exact, np.inf, _CLIP * errors)
    clipped = np.clip(levels - other, -reach, reach) * weights
    new = np.abs((clipped * is_new).sum(axis=1)) / weight_after[candidates]
    old = np.abs((clipped * ~is_new).sum(axis=1)) / weight[candidates]
    scores = np.minimum(new, old) / deviation[candidates]
    best = int(scores.argmax())
    return Split(int(candidates[best]) + 1, float(scores[best])) if scores[best] >= sensitivity.score else None


@dataclass(frozen=True, slots=True)
class Shape:
    """A change from one level to another, linear in the order of commits between its ends.

    Attributes:
        start: Last value at the old level.
        end: First value at the new level.
        old: The old level, as a log ratio to the first control.
        log_ratio: New level minus the old one.
        error: Standard error of `log_ratio`.
    """

    start: int
    end: int
    old: float
    log_ratio: float
    error: float

    @property
    def is_drift(self) -> bool:
        """Return whether the change reaches over more than one commit."""
        return self.end > self.start + 1


def fit_shape(orders: Array, levels: Array, errors: Array) -> Shape:
    """Fit the shape of the one change in a stretch: a step, unless a drift is clearly better.

    Two steps one after the other look like a drift beside a single step, so a drift is also compared with them.

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
        log_ratio=float(sizes[best]),
        error=1 / math.sqrt(float(information[best])),
    )


def _gain_of_two_steps(levels: Array, weights: Array) -> float:
    """Gain of the best three levels over one, in log likelihood."""
    weight, total = np.cumsum(weights), np.cumsum(weights * (levels - levels @ weights / weights.sum()))
    first, second = np.triu_indices(levels.size - 1, k=1)
    middle = (total[second] - total[first]) ** 2 / (weight[second] - weight[first])
    outer = total[first] ** 2 / weight[first] + total[second] ** 2 / (weight[-1] - weight[second])
    return float(0.5 * (outer + middle).max(initial=0.0))


def _candidates(orders: Array) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
    """List every start and end between different commits."""
    values = np.arange(orders.size)
    pairs = [(start, start + width) for width in _WIDTHS for start in values[: max(0, orders.size - width)]]
    starts, ends = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    apart = orders[starts] < orders[ends]
    return starts[apart], ends[apart]
