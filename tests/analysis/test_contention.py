"""Contention: figures that fall beside other programs are not taken for those of a hot device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from harness.analysis.long_run import analyse_long_run, derive_metrics, note_long_run
from harness.analysis.quality import assess_quality
from harness.analysis.summary import collect
from harness.core.device import DeviceState
from harness.core.metric import Metric, Observation
from harness.core.note import Note
from harness.core.result import Launch, Outcome
from tests.analysis.long_runs import run_long


def measure(walls: Sequence[Sequence[float]], cpus: Sequence[Sequence[float]] = ()) -> Sequence[Metric]:
    """Return latencies in ms by launch, with the CPU time of each where that is known."""
    launches = [[Observation(type="NET", metric="latency", unit="ms", samples=tuple(wall))] for wall in walls]
    for launch, cpu in zip(launches, cpus, strict=bool(cpus)):
        launch.append(Observation(type="NET", metric="cpu_time", unit="ms", samples=tuple(cpu)))
    return collect(launches)[0]


def list_launches(others: Sequence[float], wall_s: float = 10.0, status: int | None = None) -> list[Launch]:
    """Return launches of one thread on two CPUs, of which other programs used a share each."""
    return [
        Launch(
            index=index,
            outcome=Outcome.OK,
            started=0.0,
            wall_s=wall_s,
            cpu_s=wall_s,
            before=DeviceState(time=0.0),
            after=DeviceState(time=wall_s, busy=0.5 + share, cpus=2, thermal_status=status),
        )
        for index, share in enumerate(others)
    ]


def notes_of(metrics: Sequence[Metric], launches: Sequence[Launch]) -> Mapping[str, Note]:
    notes = {note.code: note for note in assess_quality(metrics, launches, cores=2)}
    return {code: note for code, note in notes.items() if code in {"contended", "throttled"}}


FALLING = ([1000.0, 1001.0, 999.0] * 100, [1500.0, 1502.0, 1498.0] * 100)
IN_ONE = [[*FALLING[0], *FALLING[1]]]


@pytest.mark.parametrize(
    ("share", "code"), [(0.0, "throttled"), (0.05, "throttled"), (0.2, "contended"), (0.4, "contended")]
)
def test_others_that_used_the_machine_are_named_first(share: float, code: str) -> None:
    ((found, note),) = notes_of(measure(IN_ONE), list_launches([share])).items()
    assert found == code
    assert not note.trust
    assert note.message.startswith("other programs used ") == (code == "contended")
    assert ("throttles" in note.message) == (code == "throttled")


def test_a_device_that_tells_of_heat_throttled_beside_others_too() -> None:
    (note,) = notes_of(measure(IN_ONE), list_launches([0.4], status=3)).values()
    assert note.code == "throttled"
    assert "the device itself lowered its clock because of heat" in note.message
    assert "other programs used 40 %" in note.message


@pytest.mark.parametrize(
    ("slower", "code"), [(1000.0, "contended"), (1100.0, "contended"), (1400.0, "throttled"), (1500.0, "throttled")]
)
def test_time_without_a_cpu_is_no_heat(slower: float, code: str) -> None:
    cpus = [[*([995.0] * 300), *([slower] * 300)]]
    (note,) = notes_of(measure(IN_ONE, cpus), []).values()
    assert note.code == code
    assert ("without a CPU" in note.message) == (code == "contended")


def test_a_program_that_waits_for_an_accelerator_tells_nothing() -> None:
    (note,) = notes_of(measure(IN_ONE, [[100.0] * 600]), []).values()
    assert note.code == "throttled"


def test_only_the_launches_that_are_worse_count() -> None:
    walls = [[1000.0, 1001.0, 999.0]] * 10 + [[1500.0, 1501.0, 1499.0]] * 10
    assert set(notes_of(measure(walls), list_launches([0.4] * 10 + [0.0] * 10))) == {"throttled"}
    assert set(notes_of(measure(walls), list_launches([0.0] * 10 + [0.4] * 10))) == {"contended"}


def test_a_program_that_ends_at_once_measured_elsewhere() -> None:
    assert set(notes_of(measure(IN_ONE), list_launches([0.4], wall_s=0.1))) == {"throttled"}


def test_a_long_run_beside_others_has_no_time_to_throttling() -> None:
    metrics = run_long([(0, 20.0), (50, 30.0)], 100)
    alone = analyse_long_run(metrics, list_launches([0.0], 100.0), 2)
    beside = analyse_long_run(metrics, list_launches([0.3], 100.0), 2)
    assert alone is not None
    assert beside is not None
    assert "SUSTAINED time_to_throttling" in {metric.name for metric in derive_metrics(alone)}
    assert "SUSTAINED time_to_throttling" not in {metric.name for metric in derive_metrics(beside)}
    (note,) = note_long_run(beside, [])
    assert note.code == "contended"
    assert note.message.startswith(
        "other programs used 30 % of the machine's CPU time while SUSTAINED latency became 50 % "
    )
