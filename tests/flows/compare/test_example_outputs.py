"""Outputs of runners in comparisons: examples for both sides, in untimed launches before the first pair."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from frameworks.observations.observer import parse_lines
from harness.core.benchmark import Benchmark, Input
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.comparison import Comparison
from harness.core.device import Device
from harness.core.errors import BenchmarkUnsupported
from harness.core.evaluation import OutputComparison
from harness.core.examples import TensorInfo
from harness.core.measurement import Job
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.protocols import Progress, StagedExamples
from harness.core.verdict import OutputVerdict
from harness.flows.measure.plan import Plan, assign
from tests.flows.instant import Instant, InstantSession, benchmark
from tests.flows.runs import FEWEST, Run

EXAMPLES = "--examples"


class Rows:
    """A framework whose runners sum rows of numbers."""

    name = "generic"

    def __init__(self, most: int | None = None) -> None:
        self._most = most

    def build(self, device: Device, progress: Progress) -> Build:
        raise NotImplementedError

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        return Command((files["program"], benchmark.identifier))

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        return parse_lines("\n".join(step.stdout for step in completed))

    def examples_per_launch(self, build: Build) -> int | None:
        if self._most == 0:
            raise BenchmarkUnsupported("the runner of an old commit cannot write outputs")
        return self._most

    def examples_command(
        self, benchmark: Benchmark, build: Build, files: Mapping[str, str], examples: StagedExamples
    ) -> Command:
        return Command((files["program"], benchmark.identifier, EXAMPLES, str(examples.count)))

    def parse_outputs(self, completed: Completed, job: Job) -> Sequence[TensorInfo]:
        return [TensorInfo(name="output_0", dtype="float32", shape=(1, 2))]

    def describe_inputs(self, job: Job) -> Sequence[TensorInfo]:
        return [TensorInfo(name="input_0", dtype="float32", shape=(1, 3))]


class RowsSession(InstantSession):
    """A device that runs them; what the treatment adds to its outputs depends on the name of the benchmark."""

    def __init__(self, device: Device, trace: list[tuple[str, ...]]) -> None:
        super().__init__(device, lambda _: None)
        self._trace = trace
        self._outputs = b""
        self._launches = 0

    def run(self, command: Command) -> Completed:
        self._trace.append(command.argv)
        if EXAMPLES not in command.argv:
            return super().run(command)
        side, name, _, count = command.argv
        self._launches += 1
        added = {"wrong": 0.5, "rounded": 1e-6, "nan": float("nan")}.get(name.split("-")[0], 0.0)
        added = added if side == "/treatment" else 0.0
        if name.startswith("unsteady"):
            added = float(self._launches)
        if name.startswith("crashing") and side == "/treatment":
            return Completed(command, None, signal=11)
        self._outputs = b"".join(struct.pack("<2f", 1.0 + number + added, -2.0) for number in range(int(count)))
        return Completed(command, 0, wall_s=0.1)

    def pull(self, remote: str, local: Path) -> None:
        local.parent.mkdir(parents=True, exist_ok=True)
        local.write_bytes(self._outputs)


class RowsDevice(Instant):
    def __init__(self, trace: list[tuple[str, ...]]) -> None:
        super().__init__(["A"])
        self._trace = trace

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[InstantSession]:
        yield RowsSession(device, self._trace)


def compare(
    folder: Path, *names: str, most: int | None = None, pairs: int = 8
) -> tuple[Mapping[str, Comparison], list[tuple[str, ...]]]:
    """Compare benchmarks, and return the comparisons by name, and every command in order."""
    trace: list[tuple[str, ...]] = []
    platform = RowsDevice(trace)
    benchmarks = [
        benchmark(name).model_copy(update={"commands": (), "inputs": (Input(name="x", shape=(1, 3)),)})
        for name in names
    ]
    run = Run(folder)
    plan = Plan(platform, assign(benchmarks, platform.devices(), platform), {"generic": Rows(most)})
    run.follow(plan, parameters=FEWEST.model_copy(update={"max_pairs": pairs, "precision": 1e-6}))
    results = run.recorder.results
    return {result.benchmark.identifier: result.comparison for result in results if result.comparison}, trace


def outputs_of(folder: Path, name: str, most: int | None = None) -> OutputComparison:
    comparisons, _ = compare(folder, name, most=most)
    outputs = comparisons[name].outputs
    assert outputs is not None
    return outputs


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("same", OutputVerdict.IDENTICAL),
        ("rounded", OutputVerdict.WITHIN_TOLERANCE),
        ("wrong", OutputVerdict.DIFFERENT),
        ("nan", OutputVerdict.DIFFERENT),
        ("unsteady", OutputVerdict.NOT_COMPARED),
        ("crashing", OutputVerdict.NOT_COMPARED),
    ],
)
def test_outputs_of_examples_are_compared(tmp_path: Path, name: str, verdict: OutputVerdict) -> None:
    assert outputs_of(tmp_path, name).verdict is verdict


def test_a_side_that_crashes_on_examples_is_named(tmp_path: Path) -> None:
    assert "the treatment did not execute the examples" in (outputs_of(tmp_path, "crashing").reason or "")


def test_runners_that_cannot_write_outputs_are_not_compared_with_the_reason(tmp_path: Path) -> None:
    assert outputs_of(tmp_path, "same", most=0).reason == "the runner of an old commit cannot write outputs"


def test_a_runner_that_takes_one_example_is_launched_once_per_side(tmp_path: Path) -> None:
    comparisons, trace = compare(tmp_path, "same", most=1)
    outputs = comparisons["same"].outputs
    assert outputs is not None
    assert outputs.examples == 1
    assert sum(EXAMPLES in argv for argv in trace) == 2


def test_a_launch_over_examples_executes_no_more_than_a_timed_one(tmp_path: Path) -> None:
    _, trace = compare(tmp_path, "same")
    (count,) = {int(argv[-1]) for argv in trace if EXAMPLES in argv}
    assert 1 < count <= 16


def test_launches_over_examples_precede_all_pairs_and_are_less_than_a_twentieth(tmp_path: Path) -> None:
    names = ["same-1", "same-2", "same-3"]
    comparisons, trace = compare(tmp_path, *names, pairs=20)
    kinds = ["examples" if EXAMPLES in argv else "plain" for argv in trace]
    assert kinds[: 4 * len(names)] == ["plain", "plain", "examples", "examples"] * len(names)
    assert set(kinds[4 * len(names) :]) == {"plain"}  # pairs of all benchmarks in turn, and nothing between them
    assert {len(comparison.pairs) for comparison in comparisons.values()} == {20}
    assert kinds.count("examples") / len(kinds) < 0.05
