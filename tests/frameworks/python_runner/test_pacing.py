"""When paced iterations are due, and which samples of a long run are kept."""

from __future__ import annotations

import itertools
import time

import pytest

from frameworks.python_runner import pacing
from frameworks.python_runner.pacing import ArrivalSchedule, KeptSamples, PacedSample, sleep_until
from harness.core import scenario


def first(arrival: ArrivalSchedule, count: int) -> list[int]:
    return list(itertools.islice(arrival.due_times_ns(), count))


def test_fixed_intervals_do_not_drift() -> None:
    due = first(ArrivalSchedule(0.0333), 100_001)
    assert due[:3] == [0, 33_300_000, 66_600_000]
    assert due[-1] == 3_330_000_000_000


def test_random_intervals_are_those_of_a_poisson_process() -> None:
    due = first(ArrivalSchedule(0.01, seed=7), 20_001)
    gaps = [later - earlier for earlier, later in itertools.pairwise(due)]
    assert due[0] == 0
    assert sum(gaps) / len(gaps) == pytest.approx(10e6, rel=0.03)
    assert sum(gap > 10e6 for gap in gaps) / len(gaps) == pytest.approx(0.3679, abs=0.015)  # exp(-1)
    assert first(ArrivalSchedule(0.01, seed=7), 50) == due[:50]
    assert first(ArrivalSchedule(0.01, seed=8), 50) != due[:50]


def test_samples_of_a_long_run_are_bounded_and_even(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "MOST_SAMPLES", 100)
    kept = KeptSamples()
    for number in range(1037):
        kept.add(PacedSample(1, 1, number, None))
        assert len(kept.samples) <= 100
        assert [sample.start_ns for sample in kept.samples] == list(range(0, number + 1, kept.stride))
    assert (kept.count, kept.stride) == (1037, 16)


def test_nothing_is_thinned_before_the_bound_is_reached() -> None:
    assert pacing.MOST_SAMPLES == scenario.MOST_SAMPLES
    kept = KeptSamples()
    for number in range(1000):
        kept.add(PacedSample(1, 1, number, None))
    assert (len(kept.samples), kept.stride) == (1000, 1)


def test_sleeping_ends_after_the_moment() -> None:
    moment = time.monotonic_ns() + 20_000_000
    sleep_until(moment)
    assert time.monotonic_ns() >= moment
    sleep_until(moment - 10**9)  # over already
