"""Size of the difference, and the limits that it lies between: both may be read after any pair."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.analysis.compare.evidence import BETS, CLIP, Refutes
from harness.core.effect import relative_change

CONFIDENCE_ALPHA: Final = 0.05
"""Probability that the interval ever leaves out the true difference."""

_RESOLUTION: Final = 1e-6
"""Limits are found to this log ratio: a ten-thousandth of a percent."""

Limits = tuple[float | None, float | None]
"""Lower and upper limit of log ratios; None where nothing is excluded on that side."""

Interval = tuple[float | None, float | None]
"""The same as relative differences."""


class Estimate:
    """Log ratios of one statistic, pair by pair, with the limits of their difference."""

    def __init__(self) -> None:
        self._log_ratios: list[float] = []
        self._scales: list[float] = []
        self._limits: Limits | None = None

    @property
    def pairs(self) -> int:
        """Number of pairs that were added."""
        return len(self._log_ratios)

    @property
    def log_ratios(self) -> Sequence[float]:
        """The log ratio of each pair, in order."""
        return self._log_ratios

    def add(self, log_ratio: float, scale: float) -> None:
        """Add one more pair, with the scale that was known before it."""
        self._log_ratios.append(log_ratio)
        self._scales.append(scale)
        self._limits = None

    def interval(self, log_step: float) -> Interval:
        """Return the 95 % interval of the relative difference, at a resolution that depends on the pairs alone."""
        return relative_interval(*self._current_limits(log_step))

    def is_unsteady(self, log_step: float) -> bool:
        """Return whether the pairs refute every single difference."""
        return crossed(*self._current_limits(log_step))

    def _current_limits(self, log_step: float) -> Limits:
        if self._limits is None:  # a table shows every comparison after each pair of one of them
            self._limits = limits(self._log_ratios, self._scales, CONFIDENCE_ALPHA, log_step=log_step)
        return self._limits


def limits(
    log_ratios: Sequence[float], scales: Sequence[float], alpha: float = CONFIDENCE_ALPHA, *, log_step: float = 0.0
) -> Limits:
    """Return the ends of what no evidence so far refutes: valid whenever they are read, and ever nearer to each other.

    An effect m is between them while neither "at most m" nor "at least m" has ever been refuted at alpha / 2. Evidence
    against "at most m" falls as m grows, for every factor of it does and scales do not depend on m; so what is refuted
    is everything below one limit, and in the mirror everything above another, and bisection finds both.

    If the effect changed while it was measured, every single m can be refuted: then the limits have crossed.

    Args:
        log_ratios: ln(treatment / control) of one statistic, pair by pair.
        scales: The scale of each, known before it.
        alpha: Probability that the true effect is ever outside.
        log_step: Largest rounding error of each log ratio (see `harness.analysis.compare.resolution`): the limits
            are further out by so much on either side. None is excluded where it is infinite.

    Returns:
        The lower and the upper limit as log ratios.
    """
    if not log_ratios or math.isinf(log_step):
        return None, None
    differences, known = np.asarray(log_ratios, dtype=np.float64), np.asarray(scales, dtype=np.float64)
    reach = CLIP * float(known.max())  # beyond it every pair says all that it can
    bottom, top = float(differences.min()) - reach, float(differences.max()) + reach

    def refuted(refutes: Refutes) -> Callable[[float], bool]:
        return lambda effect: _largest_log(refutes * (differences - effect) / known) >= math.log(2 / alpha)

    low = _last(refuted(Refutes.AT_MOST), bottom, top)
    high = _last(refuted(Refutes.AT_LEAST), top, bottom)
    return (None if low is None else low - log_step), (None if high is None else high + log_step)


def crossed(low: float | None, high: float | None) -> bool:
    """Return whether no effect is left between two limits: it was not one and the same in all pairs."""
    return low is not None and high is not None and low > high


def interval(
    log_ratios: Sequence[float], scales: Sequence[float], alpha: float = CONFIDENCE_ALPHA, *, log_step: float = 0.0
) -> Interval:
    """Return what lies between the limits (`limits`, with the same arguments), as relative differences."""
    return relative_interval(*limits(log_ratios, scales, alpha, log_step=log_step))


def relative_interval(low: float | None, high: float | None) -> Interval:
    """Convert two limits into relative differences; none where they have crossed, for nothing lies between them."""
    if crossed(low, high):
        return None, None
    return (None if low is None else relative_change(low)), (None if high is None else relative_change(high))


def _largest_log(scores: NDArray[np.float64]) -> float:
    """Return the largest log evidence that one statistic ever had: what `EProcess` keeps, for all pairs at once."""
    clipped = np.minimum(CLIP, np.maximum(-CLIP, scores))
    logs = np.cumsum(np.log1p(np.tanh(np.multiply.outer(BETS, clipped))), axis=1)
    return float(np.logaddexp.reduce(logs, axis=0).max()) - math.log(len(BETS))


def _last(holds: Callable[[float], bool], start: float, end: float) -> float | None:
    """Return how far from `start` towards `end` a condition holds that fails from some point on; None if nowhere."""
    if not holds(start):
        return None
    while abs(end - start) > _RESOLUTION:
        middle = 0.5 * (start + end)
        if middle in (start, end):
            break
        if holds(middle):
            start = middle
        else:
            end = middle
    return start
