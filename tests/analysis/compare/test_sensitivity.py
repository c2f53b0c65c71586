"""Sensitivity of comparisons: false alarms and the smallest change, estimated from pairs of equal builds."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pytest

from harness.analysis.compare.recompute import replay
from harness.analysis.compare.sensitivity import Recording, check_benchmark, rate_of, split
from harness.core.build import BuildInfo
from harness.core.comparison import Comparison, Pair, Parameters
from harness.core.self_check import BenchmarkCheck
from harness.core.verdict import Verdict
from harness.presentation.self_check import conclude
from tests.analysis.compare.recorded_launches import recorded
from tests.analysis.compare.simulated_launches import BURSTY, CROWDED, QUIET, Change, Machine, simulated_pairs
from tests.presentation.self_check_samples import sensitivity_of

TRIALS = 20


def check(
    pairs: Sequence[Pair], *, metric: str = "NET latency", unit: str = "ns", gains: bool = False
) -> BenchmarkCheck:
    comparison = Comparison(
        control=BuildInfo(source="installed", commit="1"),
        metric=metric,
        unit=unit,
        higher_is_better=gains,
        parameters=Parameters(seed=1, max_pairs=1000, max_seconds=60.0, precision=1e-9),
        pairs=tuple(pairs),
        verdict=Verdict.UNDECIDED,
    )
    return check_benchmark(comparison, title="m/a", digest="d", trials=TRIALS)


@functools.cache
def smallest(machine: Machine) -> float:
    change = check(simulated_pairs(machine, Change(), 3, 300)).smallest_change
    assert change is not None
    return change


@pytest.mark.slow
def test_a_noisier_machine_shows_only_larger_changes() -> None:
    assert smallest(QUIET) < smallest(BURSTY) < smallest(CROWDED)


@pytest.mark.slow
@pytest.mark.parametrize("machine", [QUIET, BURSTY], ids=lambda machine: machine.name)
def test_programs_that_are_really_slower_by_the_smallest_change_are_found(machine: Machine) -> None:
    """Independent noise, and a change that was simulated and not imposed on a recording."""
    change = Change(every=smallest(machine))
    slower = (simulated_pairs(machine, change, 1000 + seed) for seed in range(TRIALS))
    found = sum(replay(pairs, Parameters(seed=1), False).decided is Verdict.REGRESSION for pairs in slower)
    assert found >= 0.8 * TRIALS


@pytest.mark.slow
def test_the_estimate_from_a_recording_predicts_really_slower_binaries() -> None:
    """The recordings are of one machine, of equal binaries and of one that really takes 1 % longer."""
    estimated = check(recorded(0, "busy").pairs()).smallest_change
    slower = recorded(1, "busy").pairs()
    windows = [slower[start : start + 100] for start in range(0, len(slower) - 99, 40)]
    found = sum(replay(pairs, Parameters(seed=1), False).decided is Verdict.REGRESSION for pairs in windows)
    assert estimated is not None
    assert 0.004 < estimated < 0.01
    assert found >= 0.9 * len(windows)


@pytest.mark.slow
def test_equal_programs_are_rarely_told_apart() -> None:
    checked = check(simulated_pairs(QUIET, Change(), 5, 600))
    assert checked.told_apart.count == 0
    assert checked.told_apart.trials >= 6
    assert checked.told_apart.high < 0.5
    assert checked.relabelled is not None
    assert checked.relabelled.count <= 2
    assert conclude(sensitivity_of(checked)).is_good


def test_a_comparison_that_the_recording_cuts_short_counts_as_one_that_found_nothing() -> None:
    """On a noisy machine only false alarms end within so few pairs, and would be all that is counted."""
    pairs = simulated_pairs(CROWDED, Change(), 5, 40)
    assert list(split(Recording(pairs, Parameters(seed=1)))) == [Verdict.UNDECIDED]
    assert list(split(Recording(pairs[:7], Parameters(seed=1)))) == []


@pytest.mark.slow
def test_sides_that_differ_systematically_are_told_apart_although_tossed_sides_are_not() -> None:
    checked = check(simulated_pairs(QUIET, Change(every=0.02), 5, 300))
    assert checked.verdict is Verdict.REGRESSION
    assert checked.told_apart.count == checked.told_apart.trials > 5
    assert checked.relabelled is not None
    assert checked.relabelled.share < 0.2
    conclusion = conclude(sensitivity_of(checked))
    assert not conclusion.is_good
    assert "m/a" in conclusion.text


def test_a_coarse_clock_shows_no_change_below_its_step() -> None:
    step = 0.25  # of 8 ms: 3 %
    pairs = [
        pair.model_copy(
            update={
                side: tuple(max(step, round(figure / step) * step) for figure in getattr(pair, side))
                for side in ("control", "treatment")
            }
        )
        for pair in simulated_pairs(QUIET, Change(), 4, 120)
    ]
    checked = check(pairs)
    assert checked.clock_step is not None
    assert checked.clock_step > 0.02
    assert checked.smallest_change is not None
    assert checked.smallest_change >= checked.clock_step


@pytest.mark.slow
def test_a_lower_throughput_is_the_change_that_is_imposed() -> None:
    pairs = [
        pair.model_copy(
            update={side: tuple(1 / figure for figure in getattr(pair, side)) for side in ("control", "treatment")}
        )
        for pair in simulated_pairs(QUIET, Change(), 3, 300)
    ]
    rates = check(pairs, metric="NET throughput", unit="img/s", gains=True).smallest_change
    assert rates == pytest.approx(smallest(QUIET), rel=0.3)


def test_few_pairs_allow_no_estimate() -> None:
    checked = check(simulated_pairs(QUIET, Change(), 3, 12))
    assert checked.detectable == {}
    assert checked.smallest_change is None
    assert "too few pairs" in conclude(sensitivity_of(checked)).text


def test_what_a_verdict_costs_is_estimated() -> None:
    unchanged, slower = check(simulated_pairs(QUIET, Change(), 3, 300)).costs
    assert (unchanged.verdict, slower.verdict) == (Verdict.NO_CHANGE, Verdict.REGRESSION)
    assert slower.pairs < unchanged.pairs < 100
    assert unchanged.seconds == pytest.approx(0.4 * unchanged.pairs)


@pytest.mark.parametrize(
    ("count", "trials", "low", "high"),
    [(0, 12, 0.0, 0.2646), (1, 20, 0.0013, 0.2487), (12, 12, 0.7354, 1.0), (0, 0, 0.0, 1.0)],
)
def test_the_interval_of_a_rate_is_that_of_clopper_and_pearson(
    count: int, trials: int, low: float, high: float
) -> None:
    rate = rate_of(count, trials)
    assert [rate.low, rate.high] == pytest.approx([low, high], abs=1e-4)
