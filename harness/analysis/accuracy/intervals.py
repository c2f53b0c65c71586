"""95 % confidence intervals over examples: of proportions, positive means, ratios of sums, medians and differences.

The unit is the example: what an interval says is what other examples of the same kind would give. Elements of one
output are no independent observations, and are never counted as such.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Final, NamedTuple

from harness.analysis.accuracy.arrays import Floats
from harness.analysis.accuracy.distributions import binomial_tail, find_root, student_quantile

CONFIDENCE: Final = 0.95
TAIL: Final = (1 - CONFIDENCE) / 2
_Z: Final = NormalDist().inv_cdf(1 - TAIL)


class Interval(NamedTuple):
    """Confidence interval."""

    low: float
    high: float


def proportion_interval(successes: int, trials: int) -> Interval | None:
    """Return the exact interval of a proportion (Clopper and Pearson 1934); None without trials.

    It covers at least 95 % whatever the proportion. Wilson's is narrower, and covers as little as 84 % near 0 and 1,
    which is where agreements are.
    """
    if not trials:
        return None
    low = find_root(lambda p: TAIL - binomial_tail(successes, trials, p), 0.0, 1.0) if successes else 0.0
    missing = trials - successes
    high = 1.0 - find_root(lambda p: TAIL - binomial_tail(missing, trials, p), 0.0, 1.0) if missing else 1.0
    return Interval(low, high)


def mean_interval(values: Floats) -> Interval | None:
    """Return the interval of the mean of values that are not negative; None for fewer than two, and a mean of 0.

    Student's interval for the logarithm of the mean, by the delta method: its half-width is t s / (m sqrt(n)). Errors
    of examples are skewed to the right, and this lets the interval reach farther to that side: with ten examples whose
    errors are exponentially distributed it covers 93 %, Student's own 90 % (`tests/analysis/accuracy/test_intervals`).
    """
    return _multiply(float(values.mean()), values / values.mean()) if len(values) > 1 and values.any() else None


def ratio_interval(numerators: Floats, denominators: Floats) -> Interval | None:
    """Return the interval of sum(numerators) / sum(denominators), both positive; None for fewer than two examples.

    Of the logarithm of the ratio, by the delta method: the linear part of what one example contributes to it is
    numerator / mean - denominator / mean (Cochran 1977, Sampling Techniques, 6.3).
    """
    if len(numerators) < 2 or not numerators.any() or not denominators.any():
        return None
    contributions = numerators / numerators.mean() - denominators / denominators.mean()
    return _multiply(float(numerators.sum() / denominators.sum()), contributions)


def _multiply(center: float, contributions: Floats) -> Interval | None:
    """Return an interval around a positive estimate, given what each example contributes to its logarithm."""
    count = len(contributions)
    half = student_quantile(CONFIDENCE, count - 1) * float(contributions.std(ddof=1)) / math.sqrt(count)
    if not (math.isfinite(center) and half < 600):
        return None
    return Interval(center * math.exp(-half), center * math.exp(half))


def median_interval(ordered: Sequence[float]) -> Interval | None:
    """Return the interval of a median, from the k-th smallest to the k-th largest value (sign test).

    Args:
        ordered: Values in ascending order; infinite ones are allowed.

    Returns:
        The interval; None for fewer than six values, whose range covers less than 95 %.
    """
    count, rank = len(ordered), 0
    while rank < count and binomial_tail(count - rank, count, 0.5) <= TAIL:
        rank += 1
    return Interval(ordered[rank - 1], ordered[-rank]) if rank else None


def paired_difference_interval(gained: int, lost: int, pairs: int) -> Interval | None:
    """Return the interval of a difference of two proportions on the same examples, gained minus lost ones.

    Tango's score interval (1998, Statistics in Medicine 17:891-908), which also holds where few examples or none are
    discordant. Where McNemar's exact test does not reject equality it is widened to contain 0, so that both say the
    same.

    Args:
        gained: Number of examples that count for the second only.
        lost: Number of examples that count for the first only.
        pairs: Number of examples.

    Returns:
        The interval of (gained - lost) / pairs; None without pairs.
    """
    if not pairs:
        return None
    estimate = (gained - lost) / pairs
    low = find_root(lambda delta: _score(gained, lost, pairs, delta) - _Z, -1.0, estimate)
    high = find_root(lambda delta: _score(gained, lost, pairs, delta) + _Z, estimate, 1.0)
    if mcnemar_p_value(gained, lost) > 1 - CONFIDENCE:
        low, high = min(low, 0.0), max(high, 0.0)
    return Interval(low, high)


def mcnemar_p_value(gained: int, lost: int) -> float:
    """Return the two-sided p-value of McNemar's exact test.

    Of the discordant examples each belongs to either side with probability 1/2 if both are right equally often; the
    p-value is twice the smaller tail, at most 1.
    """
    return min(1.0, 2 * binomial_tail(max(gained, lost), gained + lost, 0.5))


def _score(gained: int, lost: int, pairs: int, delta: float) -> float:
    """Return Tango's score of a difference, which falls with it: standard normal if the difference is true."""
    b = -gained - lost + (2 * pairs - gained + lost) * delta
    c = -lost * delta * (1 - delta)
    share = (math.sqrt(max(b * b - 8 * pairs * c, 0.0)) - b) / (4 * pairs)
    deviation, variance = gained - lost - pairs * delta, pairs * (2 * share + delta * (1 - delta))
    if variance <= 0:
        return math.copysign(math.inf, deviation) if deviation else 0.0
    return deviation / math.sqrt(variance)
