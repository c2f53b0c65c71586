"""Command line of `benchmark_model`, where the user gave that program and the test has no commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from frameworks import command_line
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command
from harness.core.errors import BenchmarkUnsupported
from harness.core.scalars import format_scalar
from harness.files.programs import RUNNER

_FLAGS: Final = (b"warmup_runs", b"input_layer_shape")
"""Names of flags that are in the bytes of every release of it."""

_OPTIONS: Final = {
    ("delegate", "xnnpack"): "--use_xnnpack=true",
    ("delegate", "none"): "--use_xnnpack=false",
    ("precision", "f16"): "--xnnpack_force_fp16=true",
}
_DEFAULTS: Final = {("precision", "f32"), ("api", "interpreter"), ("layout", "nchw")}


def compose_tool(benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command | None:
    """Compose the command line of `benchmark_model`; None where the build is our runner.

    Raises:
        BenchmarkUnsupported: The benchmark asks for what this tool cannot do.
        BenchmarkFailed: The specification has an error.
    """
    program = build.programs.get(RUNNER)
    if program is None or not _is_tool(program):
        return None
    for request, is_wanted in {"phases of memory": benchmark.phases, "a cold start": benchmark.cold}.items():
        if is_wanted:
            raise BenchmarkUnsupported(
                f"{benchmark.title}: benchmark_model has no way to measure with {request}",
                hint="leave out --program, which takes the runner of the harness",
            )
    return Command(
        argv=(files[RUNNER], *_flags(benchmark, files), *command_line.command_args(benchmark, files)),
        env=dict(benchmark.env),
        timeout_s=benchmark.timeout_s,
        threads=benchmark.threads,
        cpus=benchmark.cpus,
    )


@cache
def _is_tool(program: Path) -> bool:
    try:
        content = program.read_bytes()
    except OSError:
        return False
    return all(flag in content for flag in _FLAGS)


def _flags(benchmark: Benchmark, files: Mapping[str, str]) -> Iterator[str]:
    yield f"--graph={files[command_line.model_key(benchmark)]}"
    yield f"--warmup_runs={command_line.warmup_of(benchmark)}"
    yield f"--num_runs={command_line.iterations_of(benchmark)}"
    if benchmark.inputs:
        shapes = (",".join(map(str, tensor.shape)) for tensor in benchmark.inputs)
        yield f"--input_layer={','.join(tensor.name for tensor in benchmark.inputs)}"
        yield f"--input_layer_shape={':'.join(shapes)}"
    if benchmark.threads is not None:
        yield f"--num_threads={benchmark.threads}"
    if benchmark.time_limit_s is not None:
        yield f"--max_secs={max(benchmark.time_limit_s, 0.001):.3f}"
    if benchmark.operators:
        yield "--enable_op_profiling=true"
    for name, value in benchmark.backend_options.items():
        choice = (name, format_scalar(value))
        if choice in _OPTIONS:
            yield _OPTIONS[choice]
        elif choice not in _DEFAULTS:
            raise BenchmarkUnsupported(
                f"{benchmark.title}: benchmark_model has no {name} `{choice[1]}`",
                hint="leave out --program, which takes the runner of the harness",
            )
