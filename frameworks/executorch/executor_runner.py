"""Upstream's `executor_runner` (examples/portable/executor_runner/executor_runner.cpp): its command line and its log.

Its flags were added over time (`cpu_threads` and `num_executions` with 0.6, `inputs` and `output_file` with 1.0,
`method_name` with 1.3), and it fails on unknown ones. So the recipe that builds it records which it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from frameworks import command_line
from frameworks.executorch.program_flags import compose_flags, find_flags
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command
from harness.core.errors import BenchmarkUnsupported
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.protocols import StagedExamples

NAME: Final = "executor_runner"
"""Value of the build's flag `runner`, as the recipe sets it; `runner_flags` lists its flags, separated by spaces."""

_FLAGS: Final = ("model_path", "num_executions", "cpu_threads", "inputs", "output_file", "method_name")
"""Flags that are used here."""

_UNTOLD: Final = ("CPU time", "memory", "the threads in use", "operators")
"""What our runners report and every version of it does not."""

_LOADED = re.compile(r"Model loaded in ([0-9.]+) ms\.")
_ITERATION = re.compile(r"Iteration \d+ of \d+: ([0-9.]+) ms")
_EXECUTED = re.compile(r"Model executed successfully (\d{1,9}) time\(s\) in ([0-9.]+) ms\.")


def compose(benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
    """Compose its command line for a benchmark without commands.

    It has no warm-up and no time limit: the first executions are the warm-up (see `warmup_executions`).

    Args:
        benchmark: What to measure.
        build: The runner.
        files: Path on the device by key.

    Raises:
        BenchmarkUnsupported: The runner of this commit lacks a flag that is needed.
        BenchmarkFailed: The specification has an error.
    """
    if benchmark.generation is not None:
        raise BenchmarkUnsupported(
            "upstream's executor_runner cannot generate tokens", hint="measure with the runner of the harness"
        )
    if benchmark.arrival is not None or benchmark.long_run_s is not None:
        raise BenchmarkUnsupported(
            "upstream's executor_runner executes back to back, and as often as it is told",
            hint="measure with the runner of the harness, or leave out `arrival` and `sustained`",
        )
    executions = command_line.warmup_of(benchmark) + command_line.iterations_of(benchmark)
    flags = {
        "model_path": files[command_line.model_key(benchmark)],
        "num_executions": str(executions),
        # Its own choice of threads fails on virtual machines.
        "cpu_threads": str(benchmark.threads or 1),
    }
    if benchmark.input_files:
        flags["inputs"] = ",".join(files[file.key] for file in benchmark.input_files)
    if benchmark.output_files:
        flags["output_file"] = command_line.outputs_base(benchmark, files)
    return _command(benchmark, build, files, flags)


def compose_example(benchmark: Benchmark, build: Build, files: Mapping[str, str], examples: StagedExamples) -> Command:
    """Compose the command line that executes a single example once. Arguments and errors as of `compose`."""
    flags = {
        "model_path": files[command_line.model_key(benchmark)],
        "num_executions": "1",
        "cpu_threads": str(benchmark.threads or 1),
        "inputs": ",".join(examples.inputs),
        "output_file": examples.outputs,
    }
    return _command(benchmark, build, files, flags)


def _command(benchmark: Benchmark, build: Build, files: Mapping[str, str], flags: dict[str, str]) -> Command:
    if "method" in benchmark.variables:
        flags["method_name"] = benchmark.variables["method"]
    return compose_flags(benchmark, build, files, flags, name=NAME, known=flags_of(build) or frozenset())


def flags_of(build: Build) -> frozenset[str] | None:
    """Return the flags of a build's runner, or None when the runner is not upstream's."""
    return find_flags(build, NAME, _FLAGS, ("model_path", "num_executions"))


def warmup_executions(benchmark: Benchmark) -> int:
    """Return how many of the first executions are warm-up: those that `compose` added."""
    return 0 if benchmark.commands else command_line.warmup_of(benchmark)


def parse_log(log: str, warmup: int = 0) -> tuple[Observation, ...]:
    """Parse the metrics of a launch.

    Only messages are matched: line numbers and times differ between commits. Releases before 1.3 log only the total of
    all executions, which becomes a mean that includes the warm-up (see `note_log`).

    Args:
        log: The output of the runner.
        warmup: Number of first executions to leave out.
    """
    load_times = _milliseconds(_LOADED.findall(log))
    executions = _milliseconds(_ITERATION.findall(log))
    totals = [(int(count), value) for count, text in _EXECUTED.findall(log) for value in _milliseconds([text])]
    observations = []
    if iterations := executions[warmup:]:
        observations.append(Observation(type="NET", metric="latency", unit="ms", samples=iterations))
    elif (count := sum(count for count, _ in totals)) and not executions:
        mean = sum(value for _, value in totals) / count
        observations.append(Observation(type="NET", metric="latency", unit="ms", summary={"mean": mean}))
    if load_times:
        observations.append(Observation(type="RUN", metric="load_time", unit="ms", samples=load_times))
    return tuple(observations)


def note_log(logged: Sequence[Observation], warmup: int) -> Iterator[Note]:
    """Note what the observations of `parse_log` do not tell, compared with those of our runners."""
    latency = next((observation for observation in logged if observation.name == "NET latency"), None)
    if latency is None:
        return
    is_total = bool(latency.summary)
    if warmup and is_total:
        yield Note(
            code="warmup_counted",
            message=f"the mean latency includes the warm-up ({warmup} executions): this runner logs only a total",
            hint="measure a commit since 1.3, whose runner logs each execution, or set the warm-up to 0",
        )
    missing = ("the time of each iteration", "load time", *_UNTOLD) if is_total else _UNTOLD
    yield Note(
        code="upstream_runner",
        message=f"upstream's executor_runner does not report {', '.join(missing[:-1])} or {missing[-1]}",
        hint="its numbers compare with those of executor_runner only; flag runner_reason of the build says why our "
        "native runner was not built",
    )


def _milliseconds(texts: Sequence[str]) -> tuple[float, ...]:
    return tuple(float(text) for text in texts if re.fullmatch(r"\d{1,18}(\.\d{1,18})?", text))
