"""How likely pairs are where the number stands at a level: Student t around it, with four degrees of freedom.

Pairs of launches have heavier tails than a normal distribution has; with t (4) a burst on one launch says little
instead of everything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.analysis.compare.scale import PRIOR_SCALE, PRIOR_WEIGHT

Array = NDArray[np.float64]

_COUNT: Final = 161
"""Levels that are told apart: finer than what a hundred pairs resolve at the usual noise."""

_REACH: Final = 3.0
"""How far beyond the outermost estimate a level may be, in scales."""

_DEGREES: Final = 4.0
_MAD_OF_NORMAL: Final = 0.6745
_MAD_OF_T4: Final = 0.7407
"""Upper quartiles of the standard normal distribution and of Student's t (4)."""


def scale_of(groups: Iterable[Sequence[float]]) -> float:
    """The scale of t (4) that pairs of the same two commits scatter with.

    From differences of successive pairs of a group, so that it does not matter at which level each group stands; drawn
    towards the usual scale while they are few.

    Args:
        groups: Log ratios, one group for each two commits.
    """
    jumps = sorted(chain.from_iterable((abs(b - a) for a, b in pairwise(group)) for group in groups))
    spread = float(np.median(jumps)) / (math.sqrt(2) * _MAD_OF_NORMAL) if jumps else 0.0
    deviation = (PRIOR_WEIGHT * PRIOR_SCALE + len(jumps) * spread) / (PRIOR_WEIGHT + len(jumps))
    return deviation * _MAD_OF_NORMAL / _MAD_OF_T4


def level_grid(estimates: Sequence[float], scale: float) -> Array:
    """Levels that a commit may stand at, evenly spaced: exactly 0, the good commit's, is among them.

    Args:
        estimates: Where the measured commits seem to stand, as log ratios to the good one.
        scale: Of a pair.
    """
    bottom = min(0.0, *estimates) - _REACH * scale if estimates else -_REACH * scale
    top = max(0.0, *estimates) + _REACH * scale if estimates else _REACH * scale
    spacing = (top - bottom) / (_COUNT - 1)
    below = round(-bottom / spacing)
    return np.asarray(spacing * np.arange(-below, _COUNT - below), dtype=np.float64)


def log_likelihood(log_ratios: Sequence[float], levels: Array, scale: float) -> Array:
    """Logarithm of the likelihood of the pairs at each level, up to a constant; of the shape of `levels`."""
    scores = (np.asarray(log_ratios, dtype=np.float64) - levels[..., None]) / scale
    likelihoods = -0.5 * (_DEGREES + 1) * np.log1p(scores**2 / _DEGREES)
    return np.asarray(likelihoods.sum(axis=-1))
