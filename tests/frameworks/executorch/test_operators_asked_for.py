"""`--operators` on its way to the runner, and what is said where there are none."""

from __future__ import annotations

from pathlib import Path

from frameworks.executorch import create
from harness.analysis.results import build_result
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark, ModelFile, SpecificationPlace
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.measurement import Job, Measurement
from harness.core.note import Note
from harness.core.result import Outcome, Result
from harness.testing.results import DEVICE

NATIVE = Build(source="installed", commit="1.5.1", recipe="native")
LATENCY = 'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "12.5"}\n'
OPERATOR = 'PyTorchObserver {"type": "add.out #1", "metric": "latency", "unit": "us", "values": [12,11.25]}\n'
NONE = 'PyTorchObserver {"type": "RUN", "metric": "operators_unavailable", "info_string": "it has no tracer"}\n'


def concluded(benchmark: Benchmark, stdout: str) -> Result:
    observations, notes = create(Settings()).parse([Completed(Command(("runner",)), 0, stdout=stdout)], benchmark)
    measurement = Measurement(1.0, 2.0, Outcome.OK, observations=(tuple(observations),), notes=tuple(notes))
    return build_result(Job(benchmark, NATIVE), DEVICE, measurement, run_type="benchmark", meta={})


def about_operators(result: Result) -> list[Note]:
    return [note for note in result.notes if note.code == "operators_unavailable"]


def test_operators_are_requested_from_the_runner_when_the_benchmark_requests_them(benchmark_of_add: Benchmark) -> None:
    model = ModelFile(
        key="files.model", filename="add.pte", location="/x", origin=SpecificationPlace(file=Path("add.json"))
    )
    plain = benchmark_of_add.model_copy(update={"files": (model,)})
    files = {"program": "/d/runner", "files.model": "/d/add.pte"}
    command = create(Settings()).command
    assert "--operators" not in command(plain, NATIVE, files).argv
    assert "--operators" in command(plain.model_copy(update={"operators": True}), NATIVE, files).argv


def test_operators_are_metrics_of_the_result_and_the_latency_stays_the_main_one(benchmark_of_add: Benchmark) -> None:
    result = concluded(benchmark_of_add.model_copy(update={"operators": True}), OPERATOR + LATENCY)
    operator = result.metric("add.out #1 latency")
    assert operator is not None
    assert operator.is_of_operator
    assert (operator.unit, operator.samples) == ("us", (12.0, 11.25))
    assert result.benchmark.operators
    assert about_operators(result) == []


def test_a_runner_without_operators_gives_a_reason(benchmark_of_add: Benchmark) -> None:
    (note,) = about_operators(concluded(benchmark_of_add.model_copy(update={"operators": True}), LATENCY + NONE))
    assert "it has no tracer" in note.message
    assert "native" in (note.hint or "")
    assert note.trust, "the latency is as good as ever"


def test_a_program_that_reports_no_operators_is_noted(benchmark_of_add: Benchmark) -> None:
    requested = benchmark_of_add.model_copy(update={"operators": True})
    (note,) = about_operators(concluded(requested, LATENCY))
    assert "no operator times" in note.message


def test_without_a_request_there_is_no_note_about_operators(benchmark_of_add: Benchmark) -> None:
    assert about_operators(concluded(benchmark_of_add, LATENCY)) == []
