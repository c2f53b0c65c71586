"""The second launch of a pair may differ from the first, whichever build it is: learnt, subtracted, and still exact."""

from __future__ import annotations

import itertools
import math
import statistics

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.analysis.compare.decision import SequentialTest
from harness.analysis.compare.final_test import signed_rank_p
from harness.analysis.compare.recompute import replay
from harness.analysis.compare.slot import PredictableSlotEffect, remove_slot_effect, side_of
from harness.core.comparison import Pair, Parameters
from harness.core.levels import RESERVE, levels_of
from harness.core.verdict import Verdict
from tests.analysis.compare.made_pairs import feed_pairs, flat, pair, tossed
from tests.analysis.compare.simulated_launches import QUIET, WAVING, Change, Machine, simulated_pairs

PARAMETERS = Parameters(seed=1)
SLOTS = (0.031, 0.022, 0.035, 0.013, 0.043, 0.026, 0.017, 0.032, 0.014)
"""ln(second / first) of pairs of a device that warms up within a pair."""
MULTIPLE = math.lcm(*range(1, 9))
"""Means of up to eight multiples of it are whole numbers: the arithmetic of floats is exact, and ties stay ties."""
log_ratios = st.lists(st.integers(min_value=-100_000, max_value=100_000), min_size=1, max_size=8)


def tosses(pairs: int) -> list[tuple[int, ...]]:
    return list(itertools.product((-1, 1), repeat=pairs))


def under_toss(signs: tuple[int, ...], effect: float) -> list[Pair]:
    """Return pairs of a treatment with an effect, in an order that is given."""
    return [
        pair([effect + sign * slot] * 5, index=index, control_first=sign > 0)
        for index, (sign, slot) in enumerate(zip(signs, SLOTS, strict=True))
    ]


def test_the_order_of_a_pair_is_that_of_its_coin() -> None:
    assert side_of(pair([0.0] * 5, control_first=True)) == 1
    assert side_of(pair([0.0] * 5, control_first=False)) == -1


def test_a_slot_effect_is_learnt_from_earlier_pairs_alone() -> None:
    slot, expected = PredictableSlotEffect(), []
    for side, ratio in ((1, 0.06), (-1, 0.0), (1, 0.06), (-1, 0.0), (1, 9.9)):
        expected.append(slot.next())
        slot.add(ratio, side)
    assert expected == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.015])


def test_a_large_effect_is_not_taken_for_one_of_the_slot() -> None:
    slot = PredictableSlotEffect()
    for side in (1, 1, 1, -1, 1, -1):
        slot.add(0.2, side)
    assert slot.next() == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.0, 0.012, pytest.param(-0.012, marks=pytest.mark.exhaustive)])
def test_evidence_and_intervals_are_exact_with_a_slot_effect(effect: float) -> None:
    """Toss the coin of all pairs in every possible way."""
    parameters = Parameters(seed=1, alpha=0.1, max_pairs=len(SLOTS))
    levels, missed, evidence, truth = levels_of(parameters), 0, [], math.expm1(effect)
    for signs in tosses(len(SLOTS)):
        test = feed_pairs(under_toss(signs, effect), parameters)
        low, high = test.interval()
        missed += (low is not None and low > truth) or (high is not None and high < truth)
        evidence.append(test.evidence().regression)
    if effect == 0.0:
        assert 1 - RESERVE < statistics.fmean(evidence) <= 1.0
    if effect < 0.0:
        assert statistics.fmean(evidence) <= 1.0
    assert missed <= (levels.near + levels.far + RESERVE * parameters.alpha) * len(evidence)


@settings(max_examples=40)
@given(log_ratios, st.integers(min_value=0, max_value=50_000))
@example([0, 1], 15_521)  # at a scale at which ratios that are rounded instead are not those of any effect
def test_the_last_bet_is_exact_without_the_slot_effect(slots: list[int], better_by: int) -> None:
    def p_value(signs: tuple[int, ...], effect: int) -> float:
        measured = [float(MULTIPLE * (effect + sign * slot)) for sign, slot in zip(signs, slots, strict=True)]
        return signed_rank_p(remove_slot_effect(measured, signs).tolist())

    equal = {signs: p_value(signs, 0) for signs in tosses(len(slots))}
    for count, p in enumerate(sorted(equal.values()), start=1):
        assert p >= count / len(equal) - 1e-12
    assert all(p_value(signs, -better_by) >= p - 1e-12 for signs, p in equal.items())


def until_verdict(machine: Machine, change: Change, seed: int) -> SequentialTest:
    test = SequentialTest(PARAMETERS, higher_is_better=False)
    for measured in simulated_pairs(machine, change, seed):
        test.add(measured)
        if test.verdict() is not None:
            break
    return test


def test_every_other_launch_slower_costs_few_pairs() -> None:
    """Every other launch is slower by 2 %: without a model of that, 73 pairs on average found 84 of 100."""
    quiet, waving = (
        [until_verdict(machine, Change(every=0.01), seed) for seed in range(12)] for machine in (QUIET, WAVING)
    )
    assert [test.verdict() for test in waving].count(Verdict.REGRESSION) >= 11
    assert statistics.fmean(test.pairs for test in waving) <= 2.5 * statistics.fmean(test.pairs for test in quiet)


def test_without_a_slot_effect_a_clear_change_takes_no_more_pairs() -> None:
    assert [replay(flat([0.5] * count), PARAMETERS, False).decided for count in (7, 8)] == [None, Verdict.REGRESSION]


def test_the_slot_effect_is_no_effect_of_the_treatment() -> None:
    signs = [1 if index % 3 else -1 for index in range(60)]  # the treatment runs second in two pairs of three
    noise = (0.001, -0.002, 0.0015, -0.0005, 0.002, -0.001, 0.0)
    slots = [[0.03 + noise[index % len(noise)]] * 5 for index in range(60)]
    test = feed_pairs(tossed(signs, slots))
    assert test.decided is Verdict.NO_CHANGE
    assert test.difference() == pytest.approx(0.0, abs=0.002)
