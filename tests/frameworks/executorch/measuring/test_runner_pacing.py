"""Both runners, paced: when iterations begin, and how long a long run is."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import pytest

from frameworks.python_runner.pacing import ArrivalSchedule
from harness.core.metric import Observation
from tests.frameworks.executorch.measuring import test_runner_measurements

pytestmark = pytest.mark.slow

INTERVAL_S = 0.02


def measure(*words: object) -> Mapping[str, Observation]:
    return test_runner_measurements.measure(*map(str, words))


@pytest.mark.parametrize(
    ("words", "arrival"),
    [("periodic:0.02", ArrivalSchedule(INTERVAL_S)), ("poisson:0.020:7", ArrivalSchedule(INTERVAL_S, 7))],
    ids=["periodic", "poisson"],
)
def test_iterations_begin_when_they_are_due(runner: Path, programs: Path, words: str, arrival: ArrivalSchedule) -> None:
    model = programs / "add.pte"
    observations = measure(runner, "--model", model, "--warmup", 2, "--iter", 8, "--arrival", words)
    starts = observations["NET start_time"].samples
    responses = observations["NET response_time"].samples
    latencies = observations["NET latency"].samples
    assert [len(samples) for samples in (starts, responses, latencies)] == [8, 8, 8]
    for due, start, response, latency in zip(
        islice(arrival.due_times_ns(), 8), starts, responses, latencies, strict=True
    ):
        assert start >= due - 1  # a logarithm may be rounded otherwise
        assert response >= latency + start - due - 1
    counts = ("RUN warmup_done", "RUN iterations_done")
    assert [observations[name].samples[0] for name in counts] == [2, 8]


def test_a_late_iteration_begins_at_once_and_its_response_tells_of_it(runner: Path, programs: Path) -> None:
    observations = measure(runner, "--model", programs / "add.pte", "--iter", 500, "--arrival", "periodic:0.000000001")
    starts, responses = observations["NET start_time"].samples, observations["NET response_time"].samples
    assert list(starts) == sorted(starts)
    assert responses[-1] >= starts[-1] - 500
    assert responses[-1] > observations["NET latency"].samples[-1]


def test_a_long_run_lasts_as_long_as_it_should(runner: Path, programs: Path) -> None:
    words = ("--warmup", 1, "--iter", 3, "--sustained", 0.5, "--arrival", "periodic:0.005")
    observations = measure(runner, "--model", programs / "add.pte", *words)
    starts = observations["NET start_time"].samples
    assert 3 < len(starts) <= 101
    assert 0.3e9 < starts[-1] < 0.51e9
    assert observations["RUN iterations_done"].samples == (len(starts),)


def test_the_time_limit_ends_a_paced_launch(runner: Path, programs: Path) -> None:
    words = ("--iter", 1000, "--arrival", "periodic:0.05", "--time-limit", 0.3)
    observations = measure(runner, "--model", programs / "add.pte", *words)
    assert 1 <= len(observations["NET latency"].samples) < 20
    assert observations["RUN stopped_early"].info == "time_limit"


def test_a_long_run_does_not_wait_for_what_is_due_after_its_end(runner: Path, programs: Path) -> None:
    words = ("--sustained", 0.2, "--arrival", "periodic:3600")
    observations = measure(runner, "--model", programs / "add.pte", *words)
    assert len(observations["NET latency"].samples) == 1
