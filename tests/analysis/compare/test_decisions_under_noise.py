"""Seeded simulations: the guarantees hold on machines that drift, burst and crowd."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.analysis.compare.decision import SequentialTest
from harness.analysis.compare.recompute import replay
from harness.core.comparison import Parameters
from harness.core.verdict import Verdict
from tests.analysis.compare.simulated_launches import (
    BURSTY,
    CROWDED,
    MACHINES,
    QUIET,
    WARMING,
    Array,
    Change,
    Machine,
    coin,
    figures,
    iterations,
    pairs_of,
    simulated_pairs,
)

ALPHA = 0.05
PARAMETERS = Parameters(seed=1, alpha=ALPHA, max_pairs=50)
TRIALS = 150
pytestmark = pytest.mark.slow


def verdicts(machine: Machine, change: Change, trials: int, parameters: Parameters = PARAMETERS) -> Counter[Verdict]:
    counted: Counter[Verdict] = Counter()
    for seed in range(trials):
        pairs = simulated_pairs(machine, change, seed, parameters.max_pairs)
        counted[replay(pairs, parameters, higher_is_better=False).decided or Verdict.UNDECIDED] += 1
    return counted


def likely_at_most(probability: float, trials: int) -> int:
    """Return the count that such trials exceed with a probability below 0.1 %."""
    total = 0.0
    for count in range(trials + 1):
        total += math.comb(trials, count) * probability**count * (1 - probability) ** (trials - count)
        if total >= 0.999:
            return count
    return trials


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_equal_builds_are_rarely_called_different(machine: Machine) -> None:
    counted = verdicts(machine, Change(), TRIALS)
    limit = likely_at_most(ALPHA, TRIALS)
    assert counted[Verdict.REGRESSION] <= limit
    assert counted[Verdict.IMPROVEMENT] <= limit


@pytest.mark.parametrize(("machine", "power"), [(QUIET, 0.99), (BURSTY, 0.9), (WARMING, 0.9), (CROWDED, 0.4)])
def test_two_percent_changes_are_detected(machine: Machine, power: float) -> None:
    counted = verdicts(machine, Change(every=0.02), 40)
    assert counted[Verdict.REGRESSION] >= power * 40
    assert counted[Verdict.IMPROVEMENT] <= likely_at_most(ALPHA, 40)


def test_a_change_of_the_margin_is_rarely_called_no_change() -> None:
    counted = verdicts(QUIET, Change(every=0.01), TRIALS)
    assert counted[Verdict.NO_CHANGE] <= likely_at_most(PARAMETERS.beta, TRIALS)


def test_a_slower_tail_invisible_to_quartiles_is_detected() -> None:
    counted = verdicts(QUIET, Change(tail=0.20), 40)
    assert counted[Verdict.REGRESSION] >= 0.9 * 40


def stopped_verdict(samples: Array, treatment: NDArray[np.bool_]) -> Verdict | None:
    test = SequentialTest(Parameters(seed=1), higher_is_better=False)
    for pair in pairs_of(figures(samples), treatment):
        test.add(pair)
        if test.verdict() is not None:
            break
    return test.decided


@pytest.mark.parametrize("machine", [QUIET, BURSTY], ids=lambda machine: machine.name)
def test_four_percent_slower_beside_outliers_of_the_control_is_never_no_change(machine: Machine) -> None:
    """Equal means and a better tail speak for the treatment, and all else against it (docs/decisions/0015)."""
    verdicts = []
    for seed in range(40):
        chance = np.random.default_rng(seed)
        samples, treatment = iterations(machine, chance, 200), coin(chance, 200)
        outliers = 1 + 0.4 * (chance.random(samples.shape) < 0.1)
        verdicts.append(stopped_verdict(samples * np.where(treatment[:, None], 1.04, outliers), treatment))
    assert Verdict.NO_CHANGE not in verdicts
    assert verdicts.count(Verdict.REGRESSION) >= 36


@pytest.mark.parametrize("machine", [QUIET, BURSTY], ids=lambda machine: machine.name)
def test_a_slower_median_alone_is_rarely_no_change(machine: Machine) -> None:
    verdicts = []
    for seed in range(40):
        chance = np.random.default_rng(seed)
        samples, treatment = np.sort(iterations(machine, chance, 200), axis=1), coin(chance, 200)
        middle = 1 + 0.04 * np.isin(np.arange(samples.shape[1]), range(8, 12))
        verdicts.append(stopped_verdict(samples * np.where(treatment[:, None], middle, 1.0), treatment))
    assert verdicts.count(Verdict.NO_CHANGE) <= 4
    assert verdicts.count(Verdict.REGRESSION) >= 32


def test_intervals_cover_the_true_effect() -> None:
    missed = 0
    for seed in range(TRIALS):
        test = replay(simulated_pairs(BURSTY, Change(every=0.02), seed, 40), PARAMETERS, higher_is_better=False)
        low, high = test.interval()
        missed += (low is not None and low > 0.02) or (high is not None and high < 0.02)
    assert missed <= likely_at_most(0.05, TRIALS)
