"""Throughputs are decided like the latencies that they are the reciprocals of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.compare.recompute import replay
from harness.analysis.compare.statistics import launch_statistics
from harness.core.comparison import Parameters
from harness.core.verdict import Verdict
from tests.analysis.compare.simulated_launches import (
    BURSTY,
    CROWDED,
    QUIET,
    WARMING,
    Array,
    Change,
    Machine,
    changed,
    coin,
    iterations,
    pairs_of,
)

PARAMETERS = Parameters(seed=1, alpha=0.05, max_pairs=60)


def launches(samples: Array, *, higher_is_better: bool) -> Array:
    return np.array([launch_statistics(row, higher_is_better=higher_is_better) for row in samples.tolist()])


def decide_both_directions(machine: Machine, change: Change, seed: int) -> tuple[Verdict, Verdict]:
    """Return the verdicts on latencies and on the throughputs that are their reciprocals."""
    chance = np.random.default_rng(seed)
    treatment = coin(chance, 2 * PARAMETERS.max_pairs)
    samples = iterations(machine, chance, 2 * PARAMETERS.max_pairs, each=21)
    latencies = changed(samples, treatment, change, chance)
    verdicts = []
    for values, higher in ((latencies, False), (1e3 / latencies, True)):
        pairs = pairs_of(launches(values, higher_is_better=higher), treatment)
        verdicts.append(replay(pairs, PARAMETERS, higher).decided or Verdict.UNDECIDED)
    return verdicts[0], verdicts[1]


@settings(max_examples=15, deadline=None)
@given(st.sampled_from([QUIET, BURSTY, WARMING]), st.sampled_from([-0.05, 0.05]), st.integers(0, 10_000))
def test_a_clear_change_has_the_same_verdict(machine: Machine, change: float, seed: int) -> None:
    latency, throughput = decide_both_directions(machine, Change(every=change), seed)
    assert latency is throughput is (Verdict.REGRESSION if change > 0 else Verdict.IMPROVEMENT)


@pytest.mark.parametrize("seed", range(3))
def test_a_slower_tail_is_detected_in_throughputs(seed: int) -> None:
    """Slow one iteration in ten, which only the tail shows."""
    latency, throughput = decide_both_directions(QUIET, Change(tail=0.4), seed)
    assert latency is throughput is Verdict.REGRESSION


@pytest.mark.slow
def test_verdicts_on_noisy_machines_rarely_differ() -> None:
    """Only the means are not mirrored: a mean of reciprocals is not the reciprocal of a mean."""
    verdicts = [
        decide_both_directions(machine, Change(every=change), seed)
        for machine in (QUIET, BURSTY, CROWDED)
        for change in (0.0, 0.01)
        for seed in range(20)
    ]
    opposite = {(Verdict.REGRESSION, Verdict.IMPROVEMENT), (Verdict.IMPROVEMENT, Verdict.REGRESSION)}
    assert not opposite & set(verdicts)
    assert sum(latency is throughput for latency, throughput in verdicts) >= 0.9 * len(verdicts)
