"""Upstream's `executor_runner` (examples/portable/executor_runner/executor_runner.cpp): how to start it, what it logs.

Its flags came one by one (`cpu_threads` and `num_executions` with 0.6, `inputs` and `output_file` with 1.0,
`method_name` with 1.3), and one that a commit does not have ends it. So the recipe that builds it records what it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from frameworks.executorch import command_line
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command
from harness.core.errors import BenchmarkUnsupported
from harness.core.metric import Observation
from harness.core.note import Note

NAME: Final = "executor_runner"
"""What a recipe calls it in the build's flag `runner`; its flags are in `runner_flags`, separated by spaces."""

_FLAGS: Final = ("model_path", "num_executions", "cpu_threads", "inputs", "output_file", "method_name")
"""Those that are used here."""

_LOADED = re.compile(r"Model loaded in ([0-9.]+) ms\.")
_ITERATION = re.compile(r"Iteration \d+ of \d+: ([0-9.]+) ms")
_EXECUTED = re.compile(r"Model executed successfully (\d{1,9}) time\(s\) in ([0-9.]+) ms\.")


def compose(benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
    """The start of a benchmark that has no commands of its own.

    It has no warm-up and no time limit: the first executions are the warm-up (see `warming_up`), and all are made.

    Args:
        benchmark: What to measure.
        build: The runner.
        files: Path on the device by key.

    Raises:
        BenchmarkUnsupported: The runner of this commit has no flag for what is asked.
        BenchmarkFailed: The specification says something that its author can mend.
    """
    executions = command_line.wanted_warmup(benchmark) + command_line.wanted_iterations(benchmark)
    wanted = {
        "model_path": files[command_line.model_key(benchmark)],
        "num_executions": str(executions),
        # Its own choice of threads fails on virtual machines.
        "cpu_threads": str(benchmark.threads or 1),
    }
    if benchmark.input_files:
        wanted["inputs"] = ",".join(files[file.key] for file in benchmark.input_files)
    if benchmark.output_files:
        wanted["output_file"] = command_line.outputs_base(benchmark, files)
    if "method" in benchmark.variables:
        wanted["method_name"] = benchmark.variables["method"]
    known = flags_of(build) or frozenset()
    for flag in wanted:
        if flag not in known:
            raise BenchmarkUnsupported(
                f"the executor_runner of {build.commit[:12]} has no --{flag}",
                hint="measure a later commit, or give `commands` that this one understands",
            )
    return Command(
        argv=(
            files["program"],
            *(f"--{flag}={value}" for flag, value in wanted.items()),
            *command_line.further_arguments(benchmark, files),
        ),
        env=command_line.environment(benchmark),
        timeout_s=benchmark.timeout_s,
        threads=benchmark.threads,
        cpus=benchmark.cpus,
    )


def flags_of(build: Build) -> frozenset[str] | None:
    """The flags that a build's runner has, which may be none of ours; None when it is not upstream's.

    As its recipe recorded them; of a program that somebody gave, as they stand in its bytes.
    """
    if build.flags.get("runner") == NAME:
        return frozenset(build.flags.get("runner_flags", " ".join(_FLAGS)).split())
    program = build.programs.get("program")
    return _flags_inside(program) if build.source == "prebuilt" and program is not None else None


@cache
def _flags_inside(program: Path) -> frozenset[str] | None:
    """In gflags the name of each flag is a string of its own."""
    try:
        content = program.read_bytes()
    except OSError:
        return None
    found = frozenset(flag for flag in _FLAGS if b"\0" + flag.encode() + b"\0" in content)
    return found if {"model_path", "num_executions"} <= found else None


def warming_up(benchmark: Benchmark) -> int:
    """How many of the first executions warm up: those that `compose` added."""
    return 0 if benchmark.commands else command_line.wanted_warmup(benchmark)


def parse_log(log: str, warmup: int = 0) -> tuple[Observation, ...]:
    """The metrics of a launch.

    Matches the messages alone: their line numbers and times move with commits. Releases before 1.3 log the total of
    all executions only, which becomes a mean, the warm-up among them (see `judge`).

    Args:
        log: What it wrote.
        warmup: How many executions do not count.
    """
    loaded = _milliseconds(_LOADED.findall(log))
    every = _milliseconds(_ITERATION.findall(log))
    totals = [(int(count), value) for count, text in _EXECUTED.findall(log) for value in _milliseconds([text])]
    found = []
    if iterations := every[warmup:]:
        found.append(Observation(type="NET", metric="latency", unit="ms", samples=iterations))
    elif (executions := sum(count for count, _ in totals)) and not every:
        mean = sum(value for _, value in totals) / executions
        found.append(Observation(type="NET", metric="latency", unit="ms", summary={"mean": mean}))
    if loaded:
        found.append(Observation(type="RUN", metric="load_time", unit="ms", samples=loaded))
    return tuple(found)


def judge(logged: Sequence[Observation], warmup: int) -> Iterator[Note]:
    """What a reader of `parse_log`'s metrics must know."""
    if warmup and any(one.name == "NET latency" and one.summary for one in logged):
        yield Note(
            code="warmup_counted",
            message=f"the mean latency counts the warm-up too ({warmup} executions): this runner logs only a total",
            hint="measure a commit since 1.3, whose runner logs each execution, or ask for no warm-up",
        )


def _milliseconds(texts: Sequence[str]) -> tuple[float, ...]:
    return tuple(float(text) for text in texts if re.fullmatch(r"\d{1,18}(\.\d{1,18})?", text))
