"""Results with energy: measured energy alone is a success only for tests of power."""

from __future__ import annotations

from pathlib import Path

from harness.analysis.results import build_result
from harness.core.benchmark import Benchmark, Model, SpecificationPlace
from harness.core.build import Build
from harness.core.device import Device
from harness.core.measurement import Job, Measurement
from harness.core.metric import Direction, Observation
from harness.core.note import Note
from harness.core.result import Launch, Outcome, Result

ENERGY = Observation(type="RUN", metric="energy", unit="mJ", samples=(7.0,))
LATENCY = Observation(type="NET", metric="latency", unit="ms", samples=(1.0,))
UNTOLD = Note(code="energy_unavailable", message="energy is not known: it is plugged in")


def build_energy_result(metric: str, *observations: Observation, notes: tuple[Note, ...] = ()) -> Result:
    benchmark = Benchmark(
        id=0,
        model=Model(name="m", format="none"),
        identifier="t",
        metric=metric,
        framework="generic",
        energy=True,
        origin=SpecificationPlace(file=Path("spec.json")),
        digest="0" * 64,
    )
    measurement = Measurement(
        outcome=Outcome.OK,
        launches=(Launch(index=0, outcome=Outcome.OK, started=0.0),),
        observations=(observations,),
        notes=notes,
        started=0.0,
        finished=1.0,
    )
    job = Job(benchmark, Build(source="none", commit="none"), {})
    return build_result(
        job, Device(platform="host", identity="here", name="here"), measurement, run_type="benchmark", meta={}
    )


def test_lower_energy_is_better() -> None:
    metric = build_energy_result("delay", LATENCY, ENERGY).metric("RUN energy")
    assert metric is not None
    assert (metric.unit, metric.direction, metric.samples, metric.launches) == ("mJ", Direction.LOWER, (7.0,), (0,))


def test_a_program_without_output_fails_although_its_energy_is_known() -> None:
    result = build_energy_result("delay", ENERGY)
    assert result.outcome is Outcome.FAILED
    assert "reported no number" in (result.reason or "")


def test_a_power_test_needs_only_energy() -> None:
    assert build_energy_result("power", ENERGY).outcome is Outcome.OK


def test_a_power_test_without_energy_fails() -> None:
    result = build_energy_result("power", LATENCY, notes=(UNTOLD,))
    assert result.outcome is Outcome.FAILED
    assert result.reason == UNTOLD.message
    assert UNTOLD not in result.notes, "it is reported once"
    assert result.metric("NET latency") is not None
    assert build_energy_result("power", LATENCY).reason == "no energy was measured"


def test_other_tests_succeed_without_energy() -> None:
    result = build_energy_result("delay", LATENCY, notes=(UNTOLD,))
    assert result.outcome is Outcome.OK
    assert result.metric("RUN energy") is None
    assert "energy_unavailable" in [note.code for note in result.notes]
