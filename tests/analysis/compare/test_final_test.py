"""The final test is exact: checked over every possible assignment."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.analysis.compare.decision import SequentialTest
from harness.analysis.compare.final_test import final_payoff, signed_rank_p
from harness.analysis.compare.recompute import replay
from harness.core.comparison import Pair, Parameters
from harness.core.levels import RESERVE
from harness.core.verdict import Verdict
from tests.analysis.compare.made_pairs import feed_pairs, flat, pair

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


def tossed_pairs(effect: float = 0.0) -> list[list[Pair]]:
    """Return the pairs of a comparison under every possible assignment."""
    return [
        [
            pair([effect + sign * slot] * 5, index=index, control_first=sign > 0)
            for index, (sign, slot) in enumerate(zip(signs, SLOTS, strict=True))
        ]
        for signs in itertools.product((-1, 1), repeat=PAIRS)
    ]


def slowly_convincing() -> list[Pair]:
    return flat(0.007 + NOISE[index % len(NOISE)] for index in range(100))


@settings(max_examples=40)
@given(few_values)
def test_p_values_are_valid(magnitudes: list[float]) -> None:
    p_values = sorted(signed_rank_p(toss) for toss in tosses(magnitudes))
    for count, p in enumerate(p_values, start=1):
        assert p >= count / len(p_values) - 1e-12


@given(st.lists(values, min_size=1, max_size=30), st.data())
def test_larger_differences_never_weaken_the_evidence(differences: list[float], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(differences) - 1))
    larger = list(differences)
    larger[place] += data.draw(st.floats(min_value=0, max_value=0.2))
    assert signed_rank_p(larger) <= signed_rank_p(differences) + 1e-9


@pytest.mark.parametrize("pairs", [5, 12, 40])
def test_p_values_equal_those_of_wilcoxon(pairs: int) -> None:
    differences = np.random.default_rng(pairs).normal(0.3, 1.0, pairs)
    expected = stats.wilcoxon(differences, alternative="greater", method="exact").pvalue
    assert signed_rank_p(differences.tolist()) == pytest.approx(float(expected))


@pytest.mark.parametrize("pairs", [500, 3000])
def test_for_many_pairs_p_values_differ_from_wilcoxon_only_by_rank_resolution(pairs: int) -> None:
    differences = np.random.default_rng(pairs).normal(0.05, 1.0, pairs)
    expected = stats.wilcoxon(differences, alternative="greater", method="approx").pvalue
    assert signed_rank_p(differences.tolist()) == pytest.approx(float(expected), rel=0.2)


def test_identical_figures_give_no_evidence() -> None:
    assert signed_rank_p([0.0] * 20) == 1.0
    assert final_payoff([0.0] * 20, ALPHA) == 0.0


def test_mean_evidence_with_the_final_test_is_at_most_one() -> None:
    parameters = Parameters(seed=1, alpha=ALPHA, max_pairs=PAIRS)
    evidences = [feed_pairs(toss, parameters).evidence() for toss in tossed_pairs()]
    for mean in (
        statistics.fmean(item.regression for item in evidences),
        statistics.fmean(item.improvement for item in evidences),
    ):
        assert 1 - RESERVE < mean <= 1.0


def test_false_alarms_including_the_final_test_are_at_most_alpha() -> None:
    parameters = Parameters(seed=1, alpha=ALPHA, max_pairs=PAIRS)
    tests = [replay(toss, parameters, higher_is_better=False) for toss in tossed_pairs()]
    verdicts = [test.decided for test in tests]
    at_the_end = [test.decided for test in tests if f"{PAIRS} pairs" in test.reason()]
    for false_alarm in (Verdict.REGRESSION, Verdict.IMPROVEMENT):
        assert at_the_end.count(false_alarm) > 0
        assert verdicts.count(false_alarm) <= ALPHA * len(verdicts)


@pytest.mark.slow
def test_a_faster_treatment_is_called_slower_even_less_often() -> None:
    parameters = Parameters(seed=1, alpha=ALPHA, max_pairs=PAIRS)

    def share(effect: float) -> float:
        verdicts = [replay(toss, parameters, False).decided for toss in tossed_pairs(effect)]
        return verdicts.count(Verdict.REGRESSION) / len(verdicts)

    assert share(-0.002) <= share(0.0) <= ALPHA


@pytest.mark.parametrize(("higher_is_better", "verdict"), [(False, Verdict.REGRESSION), (True, Verdict.IMPROVEMENT)])
def test_a_change_visible_only_in_all_pairs_is_found_by_the_final_test(
    higher_is_better: bool, verdict: Verdict
) -> None:
    pairs = slowly_convincing()
    before = feed_pairs(pairs[:-1], higher_is_better=higher_is_better)
    assert before.verdict() is None
    test = replay(pairs, Parameters(seed=1), higher_is_better)
    assert (test.verdict(), test.pairs) == (verdict, 100)
    evidence = test.evidence()
    assert max(evidence.regression, evidence.improvement) >= 100
    assert test.reason().startswith("100 pairs reject")
    assert "at the 1 % level" in test.reason()


def test_an_exhausted_time_budget_runs_the_final_test() -> None:
    test = replay(slowly_convincing(), Parameters(seed=1, max_pairs=1000, max_seconds=100.0), higher_is_better=False)
    assert (test.verdict(), test.pairs) == (Verdict.REGRESSION, 100)


def test_the_final_test_runs_once() -> None:
    test = SequentialTest(Parameters(seed=1, max_pairs=20), higher_is_better=False)
    for measured_pair in flat([0.01] * 20):
        test.add(measured_pair)
    at_the_end = test.evidence().regression
    for measured_pair in flat([-0.02] * 20):
        test.add(measured_pair)
    assert 100 <= test.evidence().regression < at_the_end
