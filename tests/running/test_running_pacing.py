"""Time of launches whose iterations do not follow each other back to back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from frameworks.generic.framework import Generic
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.measurement import Job
from harness.core.metric import Observation
from harness.core.protocols import Session, Staged
from harness.core.result import Launch, Outcome
from harness.core.scenario import Arrival, Pattern
from harness.running.launch import compose_commands
from harness.running.placeholder_values import on_device
from harness.running.tuning import tune
from tests.running.players import benchmark

EVERY_SECOND = Arrival(pattern=Pattern.PERIODIC, interval_s=1)
AT_RANDOM = Arrival(pattern=Pattern.POISSON, interval_s=1)


def limits(session: Session, scratch: Path, **fields: object) -> Sequence[float]:
    paced = benchmark(timeout_s=30, commands=("true",), **fields)
    job, staged = Job(paced, Build(source="none", commit="none")), Staged("/x", {}, {})
    names = on_device(job, session.device, staged, scratch, 0)
    return [command.timeout_s for command in compose_commands(paced, job.build, Generic({}), staged, names)]


@pytest.mark.parametrize(
    ("fields", "limit_s"),
    [
        ({}, 30),
        ({"arrival": EVERY_SECOND, "iterations": 400}, 430),
        ({"arrival": EVERY_SECOND, "iterations": -1}, 80),
        ({"arrival": AT_RANDOM, "iterations": 400}, 510),
        ({"arrival": EVERY_SECOND, "iterations": 400, "long_run_s": 20.0}, 30),
    ],
)
def test_pauses_do_not_count_towards_the_time_limit_of_a_launch(
    session: Session, tmp_path: Path, fields: dict[str, object], limit_s: float
) -> None:
    assert limits(session, tmp_path, **fields) == [limit_s]


def tuned(**fields: object) -> Benchmark:
    observed = Observation(type="NET", metric="latency", unit="s", samples=(0.001,) * 20)
    launch = Launch(index=0, outcome=Outcome.OK, started=0.0, wall_s=22.0, cpu_s=1.0)
    return tune(launch, (observed,), observed, benchmark(warmup=10, **fields))


def test_launches_of_a_comparison_have_fewer_iterations_where_these_have_pauses() -> None:
    assert tuned().iterations == 200
    paced = tuned(arrival=EVERY_SECOND)
    assert (paced.iterations, paced.warmup) == (4, 10)
