"""The last bet is an exact test: checked by tossing the coin in every possible way."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.analysis.compare.decision import SequentialTest
from harness.analysis.compare.final_test import RESERVE, log_final_payoff, signed_rank_p
from harness.analysis.compare.recompute import replay
from harness.core.comparison import Pair, Parameters, Verdict
from tests.analysis.compare.made_pairs import feed_pairs, flat

values = st.floats(min_value=-0.1, max_value=0.1) | st.integers(-2, 2).map(float)
few_values = st.lists(values, min_size=1, max_size=8)
ALPHA = 0.2
PAIRS = 9
SLOTS = (0.011, 0.002, 0.015, 0.003, 0.013, 0.001, 0.017, 0.002, 0.014)
NOISE = (0.021, -0.026, 0.009, 0.024, -0.019, -0.022, 0.012, 0.025, -0.011, -0.014)
"""Slow to convince on the way, and clear at the end."""


def tosses(magnitudes: Sequence[float]) -> list[list[float]]:
    return [
        [sign * size for sign, size in zip(signs, magnitudes, strict=True)]
        for signs in itertools.product((-1, 1), repeat=len(magnitudes))
    ]


def slowly_convincing() -> list[Pair]:
    return flat(0.007 + NOISE[index % len(NOISE)] for index in range(100))


@settings(max_examples=40)
@given(few_values)
def test_no_level_is_reached_more_often_than_it_says(magnitudes: list[float]) -> None:
    told = sorted(signed_rank_p(toss) for toss in tosses(magnitudes))
    for count, p in enumerate(told, start=1):
        assert p >= count / len(told) - 1e-12


@given(st.lists(values, min_size=1, max_size=30), st.data())
def test_a_larger_difference_never_speaks_less_against_equality(differences: list[float], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(differences) - 1))
    larger = list(differences)
    larger[place] += data.draw(st.floats(min_value=0, max_value=0.2))
    assert signed_rank_p(larger) <= signed_rank_p(differences) + 1e-9


@pytest.mark.parametrize("pairs", [5, 12, 40])
def test_it_is_wilcoxons_test(pairs: int) -> None:
    differences = np.random.default_rng(pairs).normal(0.3, 1.0, pairs)
    expected = stats.wilcoxon(differences, alternative="greater", method="exact").pvalue
    assert signed_rank_p(differences.tolist()) == pytest.approx(float(expected))


@pytest.mark.parametrize("pairs", [500, 3000])
def test_of_many_pairs_it_differs_from_wilcoxons_test_by_the_coarseness_of_the_ranks(pairs: int) -> None:
    differences = np.random.default_rng(pairs).normal(0.05, 1.0, pairs)
    expected = stats.wilcoxon(differences, alternative="greater", method="approx").pvalue
    assert signed_rank_p(differences.tolist()) == pytest.approx(float(expected), rel=0.2)


def test_figures_that_are_always_equal_give_no_evidence() -> None:
    assert signed_rank_p([0.0] * 20) == 1.0
    assert log_final_payoff([0.0] * 20, ALPHA) == -math.inf


def test_with_the_last_bet_the_mean_evidence_over_all_tosses_stays_at_most_one() -> None:
    parameters = Parameters(seed=1, alpha=ALPHA, max_pairs=PAIRS)
    told = [feed_pairs(flat(toss), parameters).evidence() for toss in tosses(SLOTS)]
    for mean in (statistics.fmean(one.regression for one in told), statistics.fmean(one.improvement for one in told)):
        assert 1 - RESERVE < mean <= 1.0


def test_of_all_tosses_no_more_than_alpha_are_called_a_regression_and_some_of_them_at_the_end() -> None:
    parameters = Parameters(seed=1, alpha=ALPHA, max_pairs=PAIRS)
    tests = [replay(flat(toss), parameters, higher_is_better=False) for toss in tosses(SLOTS)]
    verdicts = [test.decided for test in tests]
    at_the_end = [test.decided for test in tests if f"{PAIRS} pairs" in test.reason()]
    for false_alarm in (Verdict.REGRESSION, Verdict.IMPROVEMENT):
        assert at_the_end.count(false_alarm) > 0
        assert verdicts.count(false_alarm) <= ALPHA * len(verdicts)


@pytest.mark.slow
def test_a_treatment_that_is_faster_is_called_slower_less_often_still() -> None:
    parameters = Parameters(seed=1, alpha=ALPHA, max_pairs=PAIRS)

    def share(effect: float) -> float:
        moved = [[effect + difference for difference in toss] for toss in tosses(SLOTS)]
        verdicts = [replay(flat(toss), parameters, higher_is_better=False).decided for toss in moved]
        return verdicts.count(Verdict.REGRESSION) / len(verdicts)

    assert share(-0.002) <= share(0.0) <= ALPHA


@pytest.mark.parametrize(("higher_is_better", "verdict"), [(False, Verdict.REGRESSION), (True, Verdict.IMPROVEMENT)])
def test_a_change_that_only_all_pairs_together_show_is_found_at_the_end(
    higher_is_better: bool, verdict: Verdict
) -> None:
    pairs = slowly_convincing()
    before = feed_pairs(pairs[:-1], higher_is_better=higher_is_better)
    assert before.verdict() is None
    test = replay(pairs, Parameters(seed=1), higher_is_better)
    assert (test.verdict(), test.pairs) == (verdict, 100)
    told = test.evidence()
    assert max(told.regression, told.improvement) >= 100
    assert test.reason().startswith("100 pairs reject")
    assert "at the 1 % level" in test.reason()


def test_a_budget_of_time_ends_with_the_last_bet_too() -> None:
    test = replay(slowly_convincing(), Parameters(seed=1, max_pairs=1000, max_seconds=100.0), higher_is_better=False)
    assert (test.verdict(), test.pairs) == (Verdict.REGRESSION, 100)


def test_it_is_made_once() -> None:
    test = SequentialTest(Parameters(seed=1, max_pairs=20), higher_is_better=False)
    for one in flat([0.01] * 20):
        test.add(one)
    at_the_end = test.evidence().regression
    for one in flat([-0.02] * 20):
        test.add(one)
    assert 100 <= test.evidence().regression < at_the_end
