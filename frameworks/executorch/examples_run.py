"""Launches that execute many examples: their command line, and the outputs that they describe."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from frameworks import command_line
from frameworks.executorch import executor_runner, llama_main, openvino
from frameworks.executorch.python.program_file import DTYPES, ProgramTensor, Signature, read_signature
from frameworks.output_descriptions import read_descriptions
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.commit import short_id
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported
from harness.core.examples import TensorInfo
from harness.core.protocols import StagedExamples

if TYPE_CHECKING:  # checking a specification loads no result
    from harness.core.measurement import Job

_NEEDED: Final = ("inputs", "output_file")


def examples_per_launch(build: Build) -> int | None:
    """Return how many examples the runner takes in one launch; None where there is no limit.

    Raises:
        BenchmarkUnsupported: It takes none.
    """
    if llama_main.flags_of(build) is not None:
        raise BenchmarkUnsupported("llama_main only generates tokens", hint="measure with the runner of the harness")
    flags = executor_runner.flags_of(build)
    if flags is None:
        return None
    missing = [flag for flag in _NEEDED if flag not in flags]
    if missing:
        raise BenchmarkUnsupported(
            f"the executor_runner of {short_id(build.commit)} cannot write outputs: it has no --{missing[0]}",
            hint="take a commit since 1.0, or the native runner",
        )
    return 1


def compose(benchmark: Benchmark, build: Build, files: Mapping[str, str], examples: StagedExamples) -> Command:
    """Compose the command line of our runners, or of upstream's `executor_runner`.

    Raises:
        BenchmarkUnsupported: This runner cannot.
        BenchmarkFailed: The specification has an error.
    """
    if executor_runner.flags_of(build) is None:
        environment, words = openvino.environment(build), openvino.precision_words(benchmark)
        return command_line.compose_examples(benchmark, files, examples, environment, words)
    if examples.count != examples_per_launch(build):
        raise BenchmarkUnsupported(f"upstream's executor_runner executes one example at a time, not {examples.count}")
    return executor_runner.compose_example(benchmark, build, files, examples)


def parse_outputs(completed: Completed, job: Job) -> Sequence[TensorInfo]:
    """Return the description of each output in one example.

    Raises:
        BenchmarkFailed: An output is not described, or of a type that cannot be read.
    """
    if executor_runner.flags_of(job.build) is not None:
        return _read_outputs(job)
    return read_descriptions(completed)


def _read_outputs(job: Job) -> Sequence[TensorInfo]:
    """Describe the outputs of upstream's runner, which does not, from the program.

    It copies the bytes of tensors, so that their layouts have to be those of the files.
    """
    signature = _read_program(job)
    for kind, tensors in (("input", signature.inputs), ("output", signature.outputs)):
        for index, tensor in enumerate(tensors):
            if tensor is None or tensor.scalar_type not in DTYPES or not tensor.is_static or not tensor.is_row_major:
                raise BenchmarkUnsupported(
                    f"upstream's executor_runner cannot be used here: {kind} {index} is {_describe(tensor)}",
                    hint="take the native runner",
                )
    return [
        TensorInfo(name=f"output_{index}", dtype=DTYPES[tensor.scalar_type], shape=tensor.sizes)
        for index, tensor in enumerate(signature.outputs)
        if tensor is not None
    ]


def describe_inputs(job: Job) -> Sequence[TensorInfo]:
    """Return the description of each input in one example, from the program.

    Raises:
        BenchmarkFailed: The program cannot be read.
        BenchmarkUnsupported: An input is no tensor, or of a type that cannot be fed.
    """
    infos = []
    for index, tensor in enumerate(_read_program(job).inputs):
        if tensor is None or tensor.scalar_type not in DTYPES:
            raise BenchmarkUnsupported(f"input {index} is {_describe(tensor)}")
        infos.append(TensorInfo(name=f"input_{index}", dtype=DTYPES[tensor.scalar_type], shape=tensor.sizes))
    return infos


def _read_program(job: Job) -> Signature:
    path: Path = job.files[command_line.model_key(job.benchmark)].path
    try:
        return read_signature(path, job.benchmark.variables.get("method", "forward"))
    except (OSError, ValueError, StopIteration, IndexError, struct.error) as error:
        raise BenchmarkFailed(f"the outputs of {path.name} cannot be described: {error}") from error


def _describe(tensor: ProgramTensor | None) -> str:
    if tensor is None:
        return "no tensor"
    if tensor.scalar_type not in DTYPES:
        return f"of scalar type {tensor.scalar_type}"
    return "of a dynamic shape" if not tensor.is_static else f"in the layout {list(tensor.dim_order)}"
