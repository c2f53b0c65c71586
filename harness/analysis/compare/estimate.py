"""Limits that the effect on one statistic lies between, readable after any pair: what a search for a culprit proves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.analysis.compare.evidence import BETS, CLIP, Refutes

CONFIDENCE_ALPHA: Final = 0.05
"""Probability that the interval ever leaves out the true difference."""

_RESOLUTION: Final = 1e-6
"""Limits are found to this log ratio: a ten-thousandth of a percent."""

Limits = tuple[float | None, float | None]
"""Lower and upper limit of log ratios; None where nothing is excluded on that side."""


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
