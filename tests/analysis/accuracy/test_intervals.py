from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, special, stats

from harness.analysis.accuracy.distributions import binomial_tail, incomplete_beta, student_quantile
from harness.analysis.accuracy.intervals import (
    _score,
    mcnemar_p_value,
    mean_interval,
    median_interval,
    paired_difference_interval,
    proportion_interval,
    ratio_interval,
)
from harness.analysis.accuracy.sample_sizes import examples_for_difference, examples_for_proportion

Array = NDArray[np.float64]
untimed = settings(deadline=None, max_examples=50)


@untimed
@given(st.floats(0, 1), st.floats(0.1, 1e4), st.floats(0.1, 1e4))
def test_incomplete_beta_is_that_of_scipy(x: float, a: float, b: float) -> None:
    assert incomplete_beta(x, a, b) == pytest.approx(special.betainc(a, b, x), rel=1e-7, abs=1e-12)


@untimed
@given(st.integers(0, 300), st.integers(0, 300), st.floats(0, 1))
def test_binomial_tails_are_those_of_scipy(successes: int, trials: int, probability: float) -> None:
    expected = stats.binom.sf(successes - 1, trials, probability)
    assert binomial_tail(successes, trials, probability) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("degrees", [1, 2, 3, 5, 9, 29, 99, 1000, 50_000])
def test_quantiles_of_student_are_those_of_scipy(degrees: int) -> None:
    assert student_quantile(0.95, degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-9)


@untimed
@given(st.integers(1, 2000), st.data())
def test_intervals_of_proportions_are_those_of_scipy(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    expected = stats.binomtest(successes, trials).proportion_ci(0.95, method="exact")
    interval = proportion_interval(successes, trials)
    assert interval is not None
    assert tuple(interval) == pytest.approx((expected.low, expected.high), rel=1e-8, abs=1e-10)


@untimed
@given(st.integers(0, 400), st.integers(0, 400))
def test_the_test_of_mcnemar_is_the_binomial_test_of_scipy(gained: int, lost: int) -> None:
    expected = stats.binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    assert mcnemar_p_value(gained, lost) == pytest.approx(expected, rel=1e-7)


def _tango_by_maximum_likelihood(gained: int, lost: int, pairs: int, delta: float) -> float:
    """Return the score by maximising the likelihood numerically over the lost share, with the difference fixed."""

    def loss(share: float) -> float:
        cells = [(gained, share + delta), (lost, share), (pairs - gained - lost, 1 - 2 * share - delta)]
        return -sum(count * math.log(max(p, 1e-300)) for count, p in cells if count)

    share = optimize.minimize_scalar(
        loss, bounds=(max(0.0, -delta), (1 - delta) / 2), method="bounded", options={"xatol": 1e-13}
    ).x
    return float((gained - lost - pairs * delta) / math.sqrt(pairs * (2 * share + delta - delta**2)))


@untimed
@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 100))
def test_ends_of_paired_intervals_solve_the_score_equation(gained: int, lost: int, both: int) -> None:
    assume(mcnemar_p_value(gained, lost) <= 0.05)
    pairs = gained + lost + both
    interval = paired_difference_interval(gained, lost, pairs)
    assert interval is not None
    assert _tango_by_maximum_likelihood(gained, lost, pairs, interval.low) == pytest.approx(1.96, abs=2e-3)
    assert _tango_by_maximum_likelihood(gained, lost, pairs, interval.high) == pytest.approx(-1.96, abs=2e-3)


def test_a_published_paired_interval_is_reproduced() -> None:
    """Fagerland, Lydersen and Laake (2014), Statistics in Medicine 33:2850-2875: counts 1, 1, 7, 12."""
    interval = paired_difference_interval(1, 7, 21)
    assert interval is not None
    assert interval.low == pytest.approx(-0.517, abs=5e-4)
    assert _score(1, 7, 21, -0.026) == pytest.approx(-1.96, abs=1e-3)
    assert interval.high == 0.0  # there -0.026; the exact test, p = 0.07, does not reject equality


def test_paired_intervals_and_the_exact_test_say_the_same() -> None:
    for discordant in range(61):
        for gained in range(discordant + 1):
            interval = paired_difference_interval(gained, discordant - gained, 500)
            assert interval is not None
            rejected = mcnemar_p_value(gained, discordant - gained) <= 0.05
            assert (interval.low <= 0 <= interval.high) != rejected, (gained, discordant)


def test_intervals_without_discordant_examples_are_not_empty() -> None:
    interval = paired_difference_interval(0, 0, 100)
    assert interval is not None
    assert interval.high == pytest.approx(3.8415 / 103.8415, rel=1e-3)
    assert interval.low == pytest.approx(-interval.high)


def test_too_few_examples_have_no_interval() -> None:
    assert mean_interval(np.array([1.0])) is None
    assert mean_interval(np.zeros(9)) is None
    assert ratio_interval(np.array([1.0]), np.array([2.0])) is None
    assert ratio_interval(np.array([1.0, 2.0]), np.zeros(2)) is None
    assert median_interval([1.0] * 5) is None
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0, math.inf]) == (1.0, math.inf)
    assert proportion_interval(0, 0) is None
    assert paired_difference_interval(0, 0, 0) is None


def _coverage(count: int, draw: Callable[[np.random.Generator, int], Array], mean: float, trials: int = 1000) -> float:
    chance = np.random.default_rng(1)
    intervals = (mean_interval(draw(chance, count)) for _ in range(trials))
    return sum(interval is not None and interval.low <= mean <= interval.high for interval in intervals) / trials


@pytest.mark.parametrize(
    ("draw", "mean", "at_10", "at_100"),
    [
        (lambda chance, n: chance.normal(5, 1, n), 5.0, 0.93, 0.93),
        (lambda chance, n: chance.exponential(1, n), 1.0, 0.91, 0.93),
        (lambda chance, n: chance.lognormal(0, 0.5, n), math.exp(0.125), 0.91, 0.93),
        (lambda chance, n: chance.lognormal(0, 1, n), math.exp(0.5), 0.86, 0.90),
    ],
)
def test_intervals_of_means_cover(
    draw: Callable[[np.random.Generator, int], Array], mean: float, at_10: float, at_100: float
) -> None:
    assert _coverage(10, draw, mean) >= at_10
    assert _coverage(100, draw, mean) >= at_100


def test_intervals_of_ratios_cover() -> None:
    """Signals and errors that are correlated over examples, as bright pictures have larger errors."""
    chance, hits = np.random.default_rng(2), 0
    signal_spread, error_spread = 0.5, 0.6
    truth = math.exp(signal_spread**2 / 2) / math.exp(error_spread**2 / 2 + (signal_spread / 2) ** 2 / 2)
    for _ in range(1000):
        signals = chance.lognormal(0, signal_spread, 30)
        errors = chance.lognormal(0, error_spread, 30) * np.sqrt(signals)
        interval = ratio_interval(signals, errors)
        hits += interval is not None and interval.low <= truth <= interval.high
    assert hits >= 920


@pytest.mark.parametrize("share", [0.9983, 0.95, 0.5])
def test_intervals_of_proportions_cover_also_near_one(share: float) -> None:
    trials = 100
    covered = sum(
        stats.binom.pmf(k, trials, share)
        for k in range(trials + 1)
        if (interval := proportion_interval(k, trials)) and interval.low <= share <= interval.high
    )
    assert covered >= 0.95


def test_paired_intervals_cover() -> None:
    chance, hits, trials = np.random.default_rng(3), 0, 1500
    for gained, lost in chance.multinomial(200, [0.01, 0.04, 0.95], trials)[:, :2].tolist():
        interval = paired_difference_interval(gained, lost, 200)
        hits += interval is not None and interval.low <= -0.03 <= interval.high
    assert hits / trials >= 0.93


def test_examples_for_a_point_of_a_proportion() -> None:
    assert examples_for_proportion(0.5) == pytest.approx(9604, rel=0.03)
    assert examples_for_proportion(1.0) == math.ceil(math.log(0.025) / math.log(0.99))
    assert examples_for_proportion(0.0) == examples_for_proportion(1.0)
    needed = examples_for_proportion(0.9)
    interval = proportion_interval(round(0.9 * needed), needed)
    assert interval is not None
    assert interval.high - interval.low <= 0.02


def test_examples_for_a_difference_give_the_promised_power() -> None:
    """Simulated: 5 % of the examples discordant, one point of difference."""
    needed = examples_for_difference(0.05)
    chance = np.random.default_rng(4)
    counts = chance.multinomial(needed, [0.02, 0.03, 0.95], 2000)[:, :2].tolist()
    found = sum(mcnemar_p_value(gained, lost) <= 0.05 for gained, lost in counts) / 2000
    assert found == pytest.approx(0.8, abs=0.04)
    assert examples_for_difference(0.0) == examples_for_difference(0.01)
