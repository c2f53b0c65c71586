"""When what launches said is a success."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

import pytest

from frameworks.observations.observer import parse_lines
from harness.analysis.results import build_result
from harness.core.benchmark import Benchmark, Model, Origin
from harness.core.build import Build
from harness.core.device import Device
from harness.core.measurement import Job, Measurement
from harness.core.metric import Direction
from harness.core.result import Launch, Outcome, Result

LATENCY = 'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "%s"}'
CONV = 'PyTorchObserver {"type": "conv", "metric": "latency", "unit": "us", "value": "%s"}'


def concluded(
    *said: str, direction: dict[str, Direction] | None = None, operators: bool = False, known: Set[str] = frozenset()
) -> Result:
    """The result of launches that ended well and said this."""
    benchmark = Benchmark(
        id=0,
        model=Model(name="m", format="none"),
        identifier="t",
        metric="delay",
        framework="generic",
        direction=direction or {},
        operators=operators,
        origin=Origin(file=Path("spec.json")),
        digest="0" * 64,
    )
    parsed = [parse_lines(text) for text in said]
    measurement = Measurement(
        outcome=Outcome.OK,
        launches=tuple(Launch(index=index, outcome=Outcome.OK, started=0.0) for index in range(len(said))),
        observations=tuple(observations for observations, _ in parsed),
        notes=tuple(note for _, notes in parsed for note in notes),
        started=0.0,
        finished=1.0,
    )
    job = Job(benchmark, Build(source="none", commit="none"), {})
    device = Device(platform="host", identity="here", name="here")
    return build_result(job, device, measurement, run_type="benchmark", meta={}, known=known)


def test_a_latency_that_could_not_be_read_is_a_failure_whatever_else_was_reported() -> None:
    result = concluded(f"{CONV % 3}\n{LATENCY % 'fast'}")
    assert result.outcome is Outcome.FAILED
    assert "NET latency was printed" in (result.reason or "")
    assert result.metric("conv latency") is not None


def test_a_metric_that_is_lost_in_one_launch_is_a_failure() -> None:
    assert concluded(LATENCY % 1, LATENCY % "fast").outcome is Outcome.FAILED


def test_a_launch_that_ends_well_without_a_number_is_a_failure_whatever_the_others_reported() -> None:
    result = concluded(LATENCY % 1, "", LATENCY % 1)
    assert result.outcome is Outcome.FAILED
    assert result.reason == "launch 2 of 3 ended well and reported nothing"
    assert result.metric("NET latency") is not None


@pytest.mark.parametrize("garbage", ["PyTorchObserver {garbage", 'PyTorchObserver {"value": 3}'])
def test_something_unreadable_without_any_latency_is_a_failure(garbage: str) -> None:
    assert concluded(f"{CONV % 3}\n{garbage}").outcome is Outcome.FAILED
    beside = concluded(f"{LATENCY % 3}\n{garbage}")
    assert (beside.outcome, beside.trusted) == (Outcome.OK, False)


@pytest.mark.parametrize("said", [LATENCY % "nan", f"{CONV % 3}\n{LATENCY % 'nan'}", f"{CONV % 3}\nPyTorchObserver {{"])
def test_a_note_that_became_the_reason_is_not_repeated(said: str) -> None:
    result = concluded(said, said)
    assert result.outcome is Outcome.FAILED
    assert result.reason is not None
    assert not any(note.message.removesuffix(" (and 1 more like it)") in result.reason for note in result.notes)


def test_a_program_of_operators_without_a_latency_of_the_model_is_a_success() -> None:
    assert concluded(CONV % 3).outcome is Outcome.OK


def test_the_stated_direction_is_that_of_the_metric() -> None:
    result = concluded('{"quality": 3}', direction={"quality": Direction.HIGHER, "qualty": Direction.HIGHER})
    assert [metric.direction for metric in result.metrics] == [Direction.HIGHER]
    (note,) = (note for note in result.notes if note.code == "direction")
    assert "qualty" in note.message


def test_nothing_left_to_launch_is_a_success_where_the_metric_is_known() -> None:
    """A comparison that was interrupted may have had all its pairs."""
    assert concluded().outcome is Outcome.FAILED
    resumed = concluded(known={"NET latency"}, operators=True)
    assert (resumed.outcome, resumed.notes) == (Outcome.OK, ())
    warm_up = concluded("", known={"NET latency"})
    assert warm_up.outcome is Outcome.OK


def test_what_is_lost_now_is_a_failure_whatever_is_known() -> None:
    assert concluded(LATENCY % "fast", known={"NET latency"}).outcome is Outcome.FAILED
    assert concluded("PyTorchObserver {garbage", known={"NET latency"}).outcome is Outcome.OK
    assert concluded("PyTorchObserver {garbage", known={"memory"}).outcome is Outcome.FAILED
