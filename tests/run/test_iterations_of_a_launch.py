"""How many iterations a launch of a comparison has: by what one costs, whatever is compared."""

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
from harness.run.interleaving import SequentialLaunches
from harness.run.launcher import Launcher
from harness.run.pairs import PairedLaunches
from tests.run.players import Players, benchmark, player

LATENCY = Observation(type="NET", metric="latency", unit="s", samples=(20.0,) * 5)
MEMORY = Observation(type="RUN", metric="peak_memory", unit="bytes", samples=(5.0,))
RATE = Observation(type="NET", metric="throughput", unit="img/s", samples=(0.05,) * 5)


class Telling(Players):
    """Runners that tell what a test wants, and are asked for iterations."""

    def __init__(self, journal: Path, *said: Observation) -> None:
        super().__init__(journal)
        self._said = said
        self.asked: list[int] = []

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        self.asked.append(benchmark.iterations)
        return Command(("true",))

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        return self._said, ()


@pytest.mark.parametrize(
    ("said", "metric", "asked"),
    [
        pytest.param((MEMORY, LATENCY), None, 3, id="latency"),
        pytest.param((MEMORY, LATENCY), "RUN peak_memory", 3, id="beside a latency"),
        pytest.param((MEMORY, RATE), "NET throughput", 20, id="no cost is told"),
    ],
)
def test_iterations_are_those_that_their_cost_is_worth(
    session: Session, tmp_path: Path, *, said: tuple[Observation, ...], metric: str | None, asked: int
) -> None:
    framework = Telling(tmp_path / "journal", *said)
    launchers = [Launcher(Job(benchmark(), player("good")), session, framework, tmp_path, time.time) for _ in range(2)]
    pairs = PairedLaunches(
        *launchers, seed=1, key="k", statistics=launch_statistics, interleaving=SequentialLaunches(), metric=metric
    )
    pairs.begin()
    assert pairs.measure_pair().pair is not None
    assert framework.asked == [20, 20, asked, asked]
