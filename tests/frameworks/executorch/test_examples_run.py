"""Command lines that execute examples, and descriptions of outputs."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from frameworks.executorch import examples_run
from frameworks.executorch.framework import ExecuTorch
from harness.config.settings import Settings
from harness.core.build import Build
from harness.core.cached_files import CachedFile
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported
from harness.core.examples import TensorInfo
from harness.core.measurement import Job
from harness.core.protocols import ExampleRunning, StagedExamples
from harness.testing.frameworks import benchmark_of

OURS = Build(source="installed", commit="1.5.1", recipe="native", programs={"program": Path("/r/runner")})
ALL_FLAGS = "model_path num_executions cpu_threads inputs output_file method_name"
BENCHMARK = benchmark_of("executorch", {"files.model": "m.pte"}, threads=2)
FILES = {"program": "/d/runner", "files.model": "/d/m.pte"}
EXAMPLES = StagedExamples(("/d/input-0.bin", "/d/input-1.bin"), "/d/outputs", 7)


def upstream(flags: str = ALL_FLAGS) -> Build:
    return OURS.model_copy(update={"flags": {"runner": "executor_runner", "runner_flags": flags}})


def launched(*descriptions: str) -> Completed:
    lines = (
        f'PyTorchObserver {{"type": "RUN", "metric": "output_{index}", "unit": "", "info_string": "{description}"}}'
        for index, description in enumerate(descriptions)
    )
    return Completed(Command(("runner",)), 0, stdout="\n".join(lines))


def test_the_framework_has_the_capability() -> None:
    framework = ExecuTorch(Settings())
    assert isinstance(framework, ExampleRunning)
    assert framework.examples_per_launch(OURS) is None


def test_our_runners_execute_all_examples_in_one_launch_and_measure_nothing() -> None:
    command = examples_run.compose(
        BENCHMARK.model_copy(update={"operators": True, "variables": {"method": "encode"}}), OURS, FILES, EXAMPLES
    )
    assert command.argv == (
        *("/d/runner", "--model", "/d/m.pte", "--examples", "7"),
        *("--inputs", "/d/input-0.bin,/d/input-1.bin", "--outputs", "/d/outputs", "--threads", "2"),
        *("--method", "encode"),
    )
    assert command.threads == 2


def test_upstream_s_runner_executes_one_example() -> None:
    one = StagedExamples(("/d/input-0.bin",), "/d/outputs", 1)
    assert examples_run.examples_per_launch(upstream()) == 1
    assert examples_run.compose(BENCHMARK, upstream(), FILES, one).argv == (
        *("/d/runner", "--model_path=/d/m.pte", "--num_executions=1", "--cpu_threads=2"),
        *("--inputs=/d/input-0.bin", "--output_file=/d/outputs"),
    )
    with pytest.raises(BenchmarkUnsupported, match="one example at a time, not 7"):
        examples_run.compose(BENCHMARK, upstream(), FILES, EXAMPLES)


def test_an_upstream_s_runner_that_writes_no_outputs_is_unsupported() -> None:
    with pytest.raises(BenchmarkUnsupported, match="cannot write outputs: it has no --output_file"):
        examples_run.examples_per_launch(upstream("model_path num_executions inputs"))


def test_descriptions_of_outputs_are_parsed_in_order() -> None:
    completed = launched("float32 [1, 1000] dim_order [0, 1]", "int64 [] dim_order []")
    assert examples_run.parse_outputs(completed, Job(BENCHMARK, OURS)) == [
        TensorInfo(name="output_0", dtype="float32", shape=(1, 1000)),
        TensorInfo(name="output_1", dtype="int64", shape=()),
    ]


@pytest.mark.parametrize("description", ["ComplexFloat [1] dim_order [0]", "float32", "float32 [1,] dim"])
def test_an_output_that_cannot_be_read_is_named(description: str) -> None:
    with pytest.raises(BenchmarkFailed, match="output_0 cannot be read"):
        examples_run.parse_outputs(launched(description), Job(BENCHMARK, OURS))


def test_a_runner_that_describes_nothing_is_a_failure() -> None:
    with pytest.raises(BenchmarkFailed, match="describes no output"):
        examples_run.parse_outputs(launched(), Job(BENCHMARK, OURS))


def job_with(content: bytes, folder: Path) -> Job:
    path = folder / "m.pte"
    path.write_bytes(content)
    file = CachedFile(key="files.model", filename="m.pte", path=path, md5="0", size_bytes=len(content), source="m")
    return Job(BENCHMARK, upstream(), {"files.model": file})


@pytest.mark.parametrize("content", [b"", b"\x10\0\0\0ET12", struct.pack("<I", 1 << 31) + b"ET12" * 9])
def test_a_damaged_program_is_a_failure(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(BenchmarkFailed, match=r"outputs of m\.pte cannot be described"):
        examples_run.parse_outputs(launched(), job_with(content, tmp_path))


@pytest.mark.slow
def test_outputs_of_upstream_s_runner_are_described_by_the_program(programs: Path, tmp_path: Path) -> None:
    chain = job_with((programs / "chain.pte").read_bytes(), tmp_path)
    assert examples_run.parse_outputs(launched(), chain) == [
        TensorInfo(name="output_0", dtype="float32", shape=(4,)),
        TensorInfo(name="output_1", dtype="float32", shape=(4, 4)),
    ]
    for name, reason in (("channels_last", r"in the layout \[0, 2, 3, 1\]"), ("nonzero", "of a dynamic shape")):
        with pytest.raises(BenchmarkUnsupported, match=reason):
            examples_run.parse_outputs(launched(), job_with((programs / f"{name}.pte").read_bytes(), tmp_path))
