"""Number of iterations of a launch of a comparison, by the cost of one iteration."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from harness.analysis.compare.statistics import launch_statistics
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.measurement import Job
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.protocols import Session
from harness.running.interleaving import SequentialLaunches
from harness.running.launcher import Launcher
from harness.running.pairs import PairedLaunches
from tests.running.players import Players, benchmark, player

LATENCY = Observation(type="NET", metric="latency", unit="s", samples=(20.0,) * 5)
MEMORY = Observation(type="RUN", metric="peak_memory", unit="bytes", samples=(5.0,))
RATE = Observation(type="NET", metric="throughput", unit="img/s", samples=(0.05,) * 5)


class FixedObservations(Players):
    """Framework that reports fixed observations and records the requested iterations."""

    def __init__(self, journal: Path, *observations: Observation) -> None:
        super().__init__(journal)
        self._observations = observations
        self.requested_iterations: list[int] = []

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        self.requested_iterations.append(benchmark.iterations)
        return Command(("true",))

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        return self._observations, ()


@pytest.mark.parametrize(
    ("observations", "metric", "requested_iterations"),
    [
        pytest.param((MEMORY, LATENCY), None, 3, id="latency"),
        pytest.param((MEMORY, LATENCY), "RUN peak_memory", 3, id="beside a latency"),
        pytest.param((MEMORY, RATE), "NET throughput", 20, id="unknown cost"),
    ],
)
def test_the_number_of_iterations_depends_on_the_cost_of_one(
    session: Session,
    tmp_path: Path,
    *,
    observations: tuple[Observation, ...],
    metric: str | None,
    requested_iterations: int,
) -> None:
    framework = FixedObservations(tmp_path / "journal", *observations)
    launchers = [Launcher(Job(benchmark(), player("good")), session, framework, tmp_path, time.time) for _ in range(2)]
    pairs = PairedLaunches(
        *launchers, seed=1, key="k", statistics=launch_statistics, interleaving=SequentialLaunches(), metric=metric
    )
    pairs.begin()
    assert pairs.measure_pair().pair is not None
    assert framework.requested_iterations == [20, 20, requested_iterations, requested_iterations]
