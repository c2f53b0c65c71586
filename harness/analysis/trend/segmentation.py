"""Change points of a stretch of a series: where the level changes, and over how many commits.

The place is found by a likelihood ratio that no single value can carry; the shape is a step from one commit to the
next, or a drift over several.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from harness.analysis.trend.samples import Array
from harness.core.comparison import ESTIMATED_STATISTIC

_CLIP: Final = 3.75
"""Largest weight of a single value, in standard errors: two must agree before a change is detected."""

_TWO_SUFFICE: Final = 1.01
"""Weight of a value beside that with which two that agree suffice, however few are on the other side. One never does:
that would take the root of (1 / w + 1) instead of (1 / w + 1/2), w being the weight of the other side."""

_WIDTHS: Final = (1, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64)
"""Over how many points a change may reach. Two are left out: they are a step with a point that is off."""

_DRIFT_GAIN: Final = 5.0
"""Least gain of a drift over a step in log likelihood. It has one parameter more, chosen from many."""

_TWO_STEPS_GAIN: Final = 3.0
"""Least gain of two steps over a drift, which is then none. They have one parameter more still."""


class DetectionThresholds(Struct, frozen=True):
    """Thresholds of detection.

    Attributes:
        score: Distance of two levels in standard errors, in the better quartile. Of quiet series of 200 commits, looked
            at after each, one in a hundred or less shows a change at 5.
        other_score: The same in the other figures of a launch: five tests at 5.3 together are as rarely wrong as one at
            5 (Bonferroni).
        smallest_log_ratio: Smallest change that is reported. Builds of the same code are not equally fast, so with
            enough commits every control differs from them.
        outlier_score: Distance at which a single point is measured again.
    """

    score: float = 5.0
    other_score: float = 5.3
    smallest_log_ratio: float = 0.005
    outlier_score: float = 4.0

    def of_figure(self, figure: int) -> DetectionThresholds:
        """Return the thresholds of one figure of a launch."""
        return self if figure == ESTIMATED_STATISTIC else replace(self, score=self.other_score)


class ChangePoint(Struct, frozen=True):
    """Place where a stretch changes.

    Attributes:
        index: First value at the new level.
        score: Distance of the two levels in standard errors.
    """

    index: int
    score: float


def find_change_point(
    levels: Array, errors: Array, exact: NDArray[np.bool_], allowed: NDArray[np.bool_], thresholds: DetectionThresholds
) -> ChangePoint | None:
    """Find the change point between the two most different levels (Worsley, JASA 74, 1979), if they differ enough.

    Levels are means weighted by errors. Medians of a few pairs have heavier tails than a normal distribution, so values
    on either side count as no farther from the mean of the other than a few of their errors: two values that agree
    suffice, also beside the control alone, and a single one never does.

    Args:
        levels: The values, at least two.
        errors: Their standard errors.
        exact: For each value whether it is certain, because nothing was measured.
        allowed: For each value whether a new level may begin with it.
        thresholds: Thresholds.
    """
    weights = errors**-2
    weight, total = np.cumsum(weights)[:-1], np.cumsum(weights * levels)[:-1]
    weight_after, total_after = float(weights.sum()) - weight, float(weights @ levels) - total
    sizes = total_after / weight_after - total / weight
    deviation = np.sqrt(1 / weight + 1 / weight_after)
    enough = (np.abs(sizes) >= thresholds.smallest_log_ratio) & (np.abs(sizes) >= thresholds.score * deviation)
    candidates = np.flatnonzero(enough & allowed[1:])
    if not candidates.size:
        return None
    is_new = np.arange(levels.size) > candidates[:, None]
    other = np.where(is_new, (total / weight)[candidates, None], (total_after / weight_after)[candidates, None])
    typical = float(np.median(weights))
    weight_beside = np.where(is_new, weight[candidates, None], weight_after[candidates, None]) / typical
    farthest = np.maximum(_CLIP, _TWO_SUFFICE * thresholds.score * np.sqrt(1 / weight_beside + 0.5))
    reach = np.where(exact, np.inf, farthest * errors)
    clipped = np.clip(levels - other, -reach, reach) * weights
    new = np.abs((clipped * is_new).sum(axis=1)) / weight_after[candidates]
    old = np.abs((clipped * ~is_new).sum(axis=1)) / weight[candidates]
    scores = np.minimum(new, old) / deviation[candidates]
    best = int(scores.argmax())
    return ChangePoint(int(candidates[best]) + 1, float(scores[best])) if scores[best] >= thresholds.score else None


class Shape(Struct, frozen=True):
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


def ramp(orders: Array, start: float, end: float) -> Array:
    """Return how much of a change between two places has happened at each place: 0 up to the first, 1 from the last."""
    return np.asarray(np.clip((orders - start) / (end - start), 0.0, 1.0))


def fit_size(orders: Array, levels: Array, errors: Array, ends: tuple[float, float]) -> tuple[float, float, float]:
    """Fit the size of a change whose place is known.

    Args:
        orders: Places in the history.
        levels: The values.
        errors: Their standard errors.
        ends: Places of the last value at the old level and of the first at the new one.

    Returns:
        The old level, the new level minus the old one, and the standard error of that: infinite where one is missing.
    """
    share = errors**-2 / (errors**-2).sum()
    passed = ramp(orders, *ends)
    mean, passed_mean = float(levels @ share), float(passed @ share)
    information = float(((passed - passed_mean) ** 2) @ errors**-2)
    if information <= 0.0:
        return mean, 0.0, math.inf
    size = float(((passed - passed_mean) * errors**-2) @ (levels - mean)) / information
    return mean - size * passed_mean, size, 1 / math.sqrt(information)


def _candidates(orders: Array) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
    """List every start and end between different commits."""
    widths = [np.arange(max(0, orders.size - width)) for width in _WIDTHS]
    starts = np.concatenate(widths)
    ends = starts + np.repeat(_WIDTHS, [len(places) for places in widths])
    apart = orders[starts] < orders[ends]
    return starts[apart], ends[apart]
