"""Seeded simulations: the guarantees hold on machines that drift, burst and crowd."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from harness.analysis.compare.recompute import replay
from harness.core.comparison import Parameters, Verdict
from tests.analysis.compare.simulated_launches import (
    BURSTY,
    CROWDED,
    MACHINES,
    QUIET,
    WARMING,
    Change,
    Machine,
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


def test_intervals_cover_the_true_effect() -> None:
    missed = 0
    for seed in range(TRIALS):
        test = replay(simulated_pairs(BURSTY, Change(every=0.02), seed, 40), PARAMETERS, higher_is_better=False)
        low, high = test.interval()
        missed += (low is not None and low > 0.02) or (high is not None and high < 0.02)
    assert missed <= likely_at_most(0.05, TRIALS)
