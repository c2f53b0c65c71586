"""Verdict, estimate and interval of a comparison come from one source, and never contradict one another."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.compare.decision import SequentialTest
from harness.analysis.compare.evidence import EProcess, Refutes
from harness.analysis.compare.operators import decide_operators
from harness.core.comparison import STATISTICS, OperatorComparison, Pair, Parameters
from harness.core.levels import levels_of
from harness.core.verdict import Verdict
from tests.analysis.compare.made_pairs import PARAMETERS, feed_pairs, flat, pair
from tests.analysis.compare.recorded_launches import recorded
from tests.analysis.compare.simulated_launches import (
    BURSTY,
    CROWDED,
    QUIET,
    WARMING,
    WAVING,
    Change,
    Machine,
    changed,
    coin,
    figures,
    iterations,
    pairs_of,
    simulated_pairs,
)

PAIRS = 60
MakePairs = Callable[[Change, int], list[Pair]]
CHANGES = [Change(every=every) for every in (-0.02, 0.0, 0.003, 0.01, 0.05)] + [Change(tail=0.2), Change(tail=1.0)]


def simulated(machine: Machine) -> MakePairs:
    return lambda change, seed: simulated_pairs(machine, change, seed, PAIRS)


def recording(noise: str) -> MakePairs:
    def make(change: Change, seed: int) -> list[Pair]:
        launches, chance = recorded(0, noise).figures(), np.random.default_rng(seed)
        start = int(chance.integers(0, len(launches) - 2 * PAIRS))
        treatment = coin(chance, 2 * PAIRS)
        factors = 1 + change.every + change.tail * np.array([0.0, 0.0, 0.0, 0.1, 1.0])
        window = launches[start : start + 2 * PAIRS]
        return pairs_of(np.where(treatment[:, None], window * factors, window), treatment)

    return make


def outliers(change: Change, seed: int) -> list[Pair]:
    """Simulate iterations of the control that take half as long again, which the treatment lacks."""
    chance = np.random.default_rng(seed)
    samples, treatment = iterations(QUIET, chance, 2 * PAIRS), coin(chance, 2 * PAIRS)
    slow = ~treatment[:, None] & (chance.random(samples.shape) < 0.08)
    return pairs_of(figures(changed(np.where(slow, 1.5 * samples, samples), treatment, change, chance)), treatment)


def rounded(change: Change, seed: int) -> list[Pair]:
    """Simulate a clock whose step is 2 % of the figures."""
    return [
        measured.model_copy(
            update={
                "control": tuple(max(1, round(figure / 0.16)) * 0.16 for figure in measured.control),
                "treatment": tuple(max(1, round(figure / 0.16)) * 0.16 for figure in measured.treatment),
            }
        )
        for measured in simulated_pairs(QUIET, change, seed, PAIRS)
    ]


def jumping(change: Change, seed: int) -> list[Pair]:
    """Simulate a treatment whose change turns round after a third of the pairs."""
    return [
        *simulated_pairs(QUIET, change, seed, PAIRS // 3),
        *simulated_pairs(QUIET, Change(every=-change.every), seed + 1, PAIRS - PAIRS // 3),
    ]


NOISES: dict[str, MakePairs] = {
    **{f"recorded {noise or 'shared'}": recording(noise) for noise in ("", "busy", "bursty")},
    **{f"simulated {machine.name}": simulated(machine) for machine in (QUIET, BURSTY, CROWDED, WARMING, WAVING)},
    "outliers": outliers,
    "coarse clock": rounded,
    "jumping": jumping,
}


def check_agreement(test: SequentialTest, *, higher_is_better: bool) -> None:
    """Check that nothing that is told of a comparison contradicts the rest."""
    (low, high), difference, margin = test.interval(), test.difference(), test.parameters.margin
    assert difference is not None
    assert low is None or low <= difference
    assert high is None or difference <= high
    worse = -difference if higher_is_better else difference
    match test.decided:
        case Verdict.REGRESSION | Verdict.IMPROVEMENT:
            upwards = (test.decided is Verdict.REGRESSION) != higher_is_better
            assert (difference > 0) if upwards else (difference < 0)
            end = low if upwards else high
            assert test.is_unsteady or (end is not None and (end > 0 if upwards else end < 0))
        case Verdict.NO_CHANGE:
            assert worse <= margin
            ends = (high, low) if higher_is_better else (low, high)
            excluded = ends[1:] if test.parameters.gate else ends
            assert all(end is not None and abs(end) <= margin for end in excluded)
            assert low is None or low <= 0
            assert high is None or high >= 0
        case _:
            assert low is None or low <= 0
            assert high is None or high >= 0


parameters_of_users = st.builds(
    Parameters,
    seed=st.just(1),
    alpha=st.sampled_from([0.001, 0.01, 0.02, 0.05, 0.3]),
    gate=st.booleans(),
    max_pairs=st.just(PAIRS - 10),
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(NOISES)), st.sampled_from(CHANGES), st.integers(0, 1000), parameters_of_users)
def test_verdict_estimate_and_interval_agree(noise: str, change: Change, seed: int, parameters: Parameters) -> None:
    higher_is_better = seed % 3 == 0
    test = SequentialTest(parameters, higher_is_better)
    decided_after = None
    for number, measured in enumerate(NOISES[noise](change, seed), start=1):
        test.add(measured)
        if test.verdict() is not None and decided_after is None:
            decided_after = number
        if number in {1, 4, 9, 20, decided_after} or number % 23 == 0:
            check_agreement(test, higher_is_better=higher_is_better)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([0.0, 0.004, 0.03]), st.sampled_from([0.001, 0.02, 0.2]), st.integers(0, 1000))
def test_verdict_and_interval_of_an_operator_agree(effect: float, noise: float, seed: int) -> None:
    chance = np.random.default_rng(seed)
    control = 100 * np.exp(noise * chance.standard_t(3, 40))
    treatment = 100 * (1 + effect) * np.exp(noise * chance.standard_t(3, 40))
    (operator,) = decide_operators(
        [
            OperatorComparison(
                name="conv",
                pairs=tuple(range(40)),
                control=tuple(control.tolist()),
                treatment=tuple(treatment.tolist()),
            )
        ],
        PARAMETERS,
    )
    low, high, difference = operator.low, operator.high, operator.difference
    assert low is not None
    assert high is not None
    assert difference is not None
    assert low <= difference <= high
    assert (low > 0) is (operator.verdict is Verdict.REGRESSION)
    assert (high < 0) is (operator.verdict is Verdict.IMPROVEMENT)
    if operator.verdict is Verdict.NO_CHANGE:
        assert max(-low, high) <= PARAMETERS.margin


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(NOISES)), st.integers(0, 1000), st.sampled_from([-0.02, 0.02]))
def test_an_end_next_to_zero_is_where_the_mean_of_all_processes_stops_refuting(
    noise: str, seed: int, every: float
) -> None:
    """Ask the processes one by one, pair by pair, instead of all at once."""
    test = SequentialTest(PARAMETERS, higher_is_better=False)
    for measured in NOISES[noise](Change(every=every), seed):
        test.add(measured)
        if test.verdict() is not None:
            break
    if test.decided not in {Verdict.REGRESSION, Verdict.IMPROVEMENT} or test.is_unsteady or test.log_step > 1e-4:
        return
    refutes = Refutes.AT_MOST if test.decided is Verdict.REGRESSION else Refutes.AT_LEAST
    end = test.interval()[0 if refutes is Refutes.AT_MOST else 1]
    assert end is not None
    inside = math.log1p(end) + refutes * (1e-5 + test.log_step)
    process = EProcess(refutes, inside, range(len(STATISTICS)))
    for observation in test.observations:
        process.add(*observation)
    assert 0.7 * math.exp(process.log_largest) < 1 / levels_of(PARAMETERS).near


@pytest.mark.parametrize(("alpha", "confidence"), [(0.001, 0.95), (0.01, 0.95), (0.02, 0.95), (0.05, 0.885)])
def test_misses_of_the_interval_add_up_to_its_level(alpha: float, confidence: float) -> None:
    levels = levels_of(Parameters(seed=1, alpha=alpha))
    assert levels.confidence == pytest.approx(confidence)
    assert levels.near >= alpha
    assert levels.far >= levels.near or alpha > 0.0217
    assert levels.equivalence <= min(levels.far, 0.05)


def test_an_interval_needs_six_pairs() -> None:
    assert feed_pairs(flat([0.02] * 5)).interval() == (None, None)
    low, high = feed_pairs(flat([0.02] * 6)).interval()
    assert low is not None
    assert high is not None
    assert low < math.expm1(0.02) < high


def test_equal_figures_differ_by_exactly_nothing() -> None:
    assert feed_pairs(flat([0.0] * 12)).difference() == 0.0


def test_a_change_that_rounding_may_have_made_larger_is_still_above_zero() -> None:
    """The step may hide how large a change is, but not that there is one: equal builds are rounded equally."""
    pairs = [pair((math.log(1.02),) * 5, index=0, control=50.0)] * 20
    coarse = [item.model_copy(update={"control": (50.0,) * 5, "treatment": (51.0,) * 5}) for item in pairs]
    test = feed_pairs(coarse)
    low, high = test.interval()
    assert test.decided is Verdict.REGRESSION
    assert test.log_step == pytest.approx(0.02, abs=0.001)
    assert low is not None
    assert high is not None
    assert 0 < low < 0.02
    assert high > 0.04
