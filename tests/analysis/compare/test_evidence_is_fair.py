"""The coin makes the evidence exact: checked by tossing it in every possible way."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.compare.evidence import EProcess, Refutes, fewest_pairs
from harness.analysis.compare.final_test import level_on_the_way
from harness.analysis.compare.statistics import PredictableScale
from harness.core.comparison import STATISTICS, Parameters
from harness.core.levels import RESERVE
from harness.core.verdict import Verdict
from tests.analysis.compare.made_pairs import feed_pairs, pair, tossed

differences = st.floats(min_value=-0.2, max_value=0.2)
launches = st.lists(st.tuples(*(differences,) * len(STATISTICS)), min_size=1, max_size=6)
few = settings(max_examples=30)


def tosses(pairs: int) -> Iterator[tuple[int, ...]]:
    return itertools.product((-1, 1), repeat=pairs)


def evidence(process: EProcess, log_ratios: Sequence[float]) -> float:
    scale = PredictableScale()
    for ratio in log_ratios:
        process.add([ratio], [scale.next()])
        scale.add(ratio)
    return math.exp(process.log_value)


@few
@given(launches)
def test_mean_evidence_over_all_tosses_is_one_without_an_effect(slots: list[tuple[float, ...]]) -> None:
    evidences = [feed_pairs(tossed(signs, slots)).evidence() for signs in tosses(len(slots))]
    assert statistics.fmean(item.regression for item in evidences) == pytest.approx(1 - RESERVE)
    assert statistics.fmean(item.improvement for item in evidences) == pytest.approx(1 - RESERVE)


@few
@given(st.lists(differences, min_size=1, max_size=7), differences, st.sampled_from(Refutes))
def test_mean_evidence_is_one_under_the_hypothesis(slots: list[float], effect: float, refutes: Refutes) -> None:
    evidences = [
        evidence(
            EProcess(refutes, effect, [0]), [effect + sign * slot for sign, slot in zip(signs, slots, strict=True)]
        )
        for signs in tosses(len(slots))
    ]
    assert statistics.fmean(evidences) == pytest.approx(1.0)


@few
@given(
    st.lists(differences, min_size=1, max_size=7),
    differences,
    st.floats(min_value=0, max_value=0.1),
    st.sampled_from(Refutes),
)
def test_evidence_decreases_inside_the_hypothesis(
    slots: list[float], effect: float, inside: float, refutes: Refutes
) -> None:
    true = effect - refutes * inside
    evidences = [
        evidence(EProcess(refutes, effect, [0]), [true + sign * slot for sign, slot in zip(signs, slots, strict=True)])
        for signs in tosses(len(slots))
    ]
    assert statistics.fmean(evidences) <= 1.0 + 1e-9


@pytest.mark.parametrize("alpha", [0.2, 0.05])
def test_false_alarms_over_all_tosses_are_at_most_alpha(alpha: float) -> None:
    slots = [0.011, -0.02, 0.015, 0.08, -0.013, 0.012, -0.017, 0.021, 0.014]
    parameters = Parameters(seed=1, alpha=alpha, max_pairs=1000)
    verdicts = [
        feed_pairs(tossed(signs, [[slot] * 5 for slot in slots]), parameters).decided for signs in tosses(len(slots))
    ]
    for false_alarm in (Verdict.REGRESSION, Verdict.IMPROVEMENT):
        assert 0 < verdicts.count(false_alarm) <= alpha * len(verdicts)


def test_equal_launches_give_no_evidence() -> None:
    total_evidence = feed_pairs(pair([0.0] * 5) for _ in range(20)).evidence()
    assert (total_evidence.regression, total_evidence.improvement) == pytest.approx((1 - RESERVE, 1 - RESERVE))


@pytest.mark.parametrize(("alpha", "pairs"), [(0.05, 6), (0.01, 8)])
def test_too_few_pairs_refute_nothing(alpha: float, pairs: int) -> None:
    assert fewest_pairs(level_on_the_way(alpha)) == pairs
    assert feed_pairs([pair([1.0] * 5)] * (pairs - 1)).evidence().regression < 1 / alpha
    assert feed_pairs([pair([1.0] * 5)] * pairs).evidence().regression >= 1 / alpha


def test_the_evidence_of_a_single_pair_is_bounded() -> None:
    assert feed_pairs([pair([1.0] * 5)]).evidence() == feed_pairs([pair([0.1] * 5)]).evidence()
