"""Binomial probabilities and quantiles of Student's t, both from the incomplete beta function."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Final

_SMALLEST: Final = 1e-300
_PRECISION: Final = 1e-15
_STEPS: Final = 100_000
_HALVINGS: Final = 60


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b).

    By its continued fraction (DLMF 8.17.22, https://dlmf.nist.gov/8.17#E22), evaluated by Lentz's method.

    Args:
        x: Upper limit of the integral, from 0 to 1.
        a: First parameter, above 0.
        b: Second parameter, above 0.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # where the fraction of the other tail converges faster
        return 1 - incomplete_beta(1 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1 / _nonzero(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, _STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _nonzero(1 + term * d)
            c = _nonzero(1 + term / c)
            fraction *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return min(math.exp(log_front) * fraction / a, 1.0)


def binomial_tail(successes: int, trials: int, probability: float) -> float:
    """Return the probability of at least so many successes."""
    if successes <= 0:
        return 1.0
    return 0.0 if successes > trials else incomplete_beta(probability, successes, trials - successes + 1)


@lru_cache(maxsize=4096)
def student_quantile(confidence: float, degrees: int) -> float:
    """Return t such that Student's distribution with so many degrees of freedom lies within ±t with `confidence`."""
    low, high = 0.0, 1.0
    while _two_tails(high, degrees) > 1 - confidence:
        high *= 2
    return find_root(lambda t: _two_tails(t, degrees) - (1 - confidence), low, high)


def find_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a decreasing function between two values, by halving; an end where it has none."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2


def _two_tails(t: float, degrees: int) -> float:
    return incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5)


def _nonzero(value: float) -> float:
    return value if abs(value) > _SMALLEST else _SMALLEST
