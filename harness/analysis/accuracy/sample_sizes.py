"""Numbers of examples that tell one percentage point."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

from harness.analysis.accuracy.distributions import binomial_tail
from harness.analysis.accuracy.intervals import CONFIDENCE, TAIL

POINT: Final = 0.01
POWER: Final = 0.8
_MOST: Final = 2**17

_Z: Final = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
_Z_POWER: Final = NormalDist().inv_cdf(POWER)


def examples_for_proportion(proportion: float) -> int:
    """Return how many examples give a proportion an interval that ends within one point of it.

    For the exact interval; by the normal approximation it is z**2 p (1 - p) / 0.01**2: 9,604 for a half.
    """
    low, high = 1, _MOST
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_within_a_point(proportion, middle) else (middle + 1, high)
    return low


def examples_for_difference(discordant: float) -> int:
    """Return how many examples let McNemar's test find a difference of one point in four of five cases.

    n = (z sqrt(d) + z' sqrt(d - delta**2))**2 / delta**2 with the share d of discordant examples, z of the two-sided
    5 % level and z' of a power of 80 % (Connor 1987, Biometrics 43:207-211).

    Args:
        discordant: Share of examples that exactly one side gets right; at least one point is taken, because fewer make
            no difference of one.
    """
    share = max(discordant, POINT)
    root = _Z * math.sqrt(share) + _Z_POWER * math.sqrt(share - POINT**2)
    return math.ceil((root / POINT) ** 2)


def _is_within_a_point(proportion: float, trials: int) -> bool:
    """Return whether the exact interval of a proportion ends within one point of it: whether both tails are small."""
    successes = round(proportion * trials)
    center = successes / trials
    below, above = center - POINT, center + POINT
    low_is_near = below <= 0 or binomial_tail(successes, trials, below) <= TAIL
    high_is_near = above >= 1 or binomial_tail(trials - successes, trials, 1 - above) <= TAIL
    return low_is_near and high_is_near
