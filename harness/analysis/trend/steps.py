"""Whether and where a stretch of a series has changed its level: a likelihood ratio that no single value can carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.analysis.trend.points import Array

_CLIP = 3.75
"""What a single value can say at most, in standard errors: two must agree before anything is told."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """When a change is one.

    Attributes:
        score: Distance of two levels in standard errors. Of quiet series of 200 commits, looked at after each, one in a
            hundred or less shows a change at 5.
        smallest: Least change that is told, as a log ratio. Builds of the same code are not equally fast, so with
            enough commits every control differs from them.
        suspicious: Distance at which a single point is measured again.
    """

    score: float = 5.0
    smallest: float = 0.005
    suspicious: float = 4.0


@dataclass(frozen=True, slots=True)
class Split:
    """Where a stretch changes.

    Attributes:
        index: First value at the new level.
        score: Distance of the two levels in standard errors.
    """

    index: int
    score: float


def best_split(
    levels: Array, errors: Array, exact: NDArray[np.bool_], allowed: NDArray[np.bool_], sensitivity: Sensitivity
) -> Split | None:
    """The split between the two most different levels (Worsley, JASA 74, 1979), if they differ enough.

    Levels are means weighted by errors. Medians of a few pairs have heavier tails than a normal distribution, so values
    on either side count as no farther from the mean of the other than `_CLIP` of their errors.

    Args:
        levels: The values, at least two.
        errors: Their standard errors.
        exact: Whether a value is no measurement, and counts for what it is.
        allowed: Whether a new level may begin with each value.
        sensitivity: What is enough.
    """
    weights = errors**-2
    weight, total = np.cumsum(weights)[:-1], np.cumsum(weights * levels)[:-1]
    weight_after, total_after = float(weights.sum()) - weight, float(weights @ levels) - total
    sizes = total_after / weight_after - total / weight
    deviation = np.sqrt(1 / weight + 1 / weight_after)
    enough = (np.abs(sizes) >= sensitivity.smallest) & (np.abs(sizes) >= sensitivity.score * deviation)
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
