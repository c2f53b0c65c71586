"""What frameworks share whose programs the user gives, or that are on the search path."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from frameworks.observations.converters import Parsed, parse_step
from harness.core import DEFAULT_PLATFORM
from harness.core.benchmark import Benchmark
from harness.core.build import NO_PROGRAM, Build
from harness.core.command import Completed
from harness.core.device import Device
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported
from harness.core.placeholders import PlaceholderProblem, substitute
from harness.core.protocols import Progress
from harness.files.binaries import find_compiler, find_sanitizers
from harness.files.programs import RUNNER, prebuilt


class GivenPrograms:
    """What a framework has whose programs the user gives: everything but `command` and `parse`.

    Args:
        programs: Programs given by path, by placeholder; `program` is the runner.
    """

    def __init__(self, programs: Mapping[str, Path]) -> None:
        self._programs = dict(programs)

    def build(self, device: Device, progress: Progress) -> Build:  # noqa: ARG002 - a given program is for every device
        """Return the given programs as a build. Without any, the build suits commands that use none.

        Raises:
            BuildFailed: A program is missing or cannot be read.
        """
        return find_build(self._programs)

    def read_options(self, build: Build) -> Mapping[str, str]:
        """Return the compiler and the sanitizers that a compiled program names; nothing of a script."""
        program = build.programs.get(RUNNER)
        compiler = find_compiler(program) if program is not None else None
        if program is None or compiler is None:
            return {}
        return {"compiler": compiler, "sanitizers": find_sanitizers(program)}

    def explain_options(self, names: Collection[str]) -> str | None:  # noqa: ARG002 - nothing is known of any
        """Return nothing: the programs are the user's."""
        return None

    def parse_step(self, completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
        """Parse the observer lines of a step on the host."""
        return parse_step(completed, benchmark)


NO_BUILD = Build(source=NO_PROGRAM, commit=NO_PROGRAM)
"""Build of commands that use no program of the user's."""


def find_build(programs: Mapping[str, Path], device: Device | None = None, name: str | None = None) -> Build:
    """Return the given programs as a build; without any, a program of this machine; else a build without programs.

    Args:
        programs: Programs given by path, by placeholder.
        device: Device that it is for; a program of this machine suits none but this machine.
        name: Name of the program to look for on the search path; None looks for none.

    Raises:
        BuildFailed: A program is missing or cannot be read.
    """
    if programs:
        return prebuilt(programs)
    found = shutil.which(name) if name is not None and device and device.platform == DEFAULT_PLATFORM else None
    return NO_BUILD if found is None else prebuilt({RUNNER: Path(found)})


def require_program(benchmark: Benchmark, files: Mapping[str, str], name: str) -> str:
    """Return the path of the runner on the device.

    Raises:
        BenchmarkFailed: The build has none.
    """
    if RUNNER not in files:
        raise BenchmarkFailed(
            f"{benchmark.title}: there is no {name}", hint=f"give it: --program PATH_OF_{name.upper()}"
        )
    return files[RUNNER]


def refuse_requests(benchmark: Benchmark, program: str) -> None:
    """Refuse what only runners of the harness do.

    Raises:
        BenchmarkUnsupported: The benchmark asks for it.
    """
    wanted = {
        "operators": benchmark.operators,
        "phases of memory": benchmark.phases,
        "a cold start": benchmark.cold,
        "a time limit": benchmark.time_limit_s is not None,
        "an arrival of executions": benchmark.arrival is not None,
        "a long run": benchmark.long_run_s is not None,
    }
    for request, is_wanted in wanted.items():
        if is_wanted:
            raise BenchmarkUnsupported(
                f"{benchmark.title}: {program} has no way to measure with {request}",
                hint="leave it out, or give `commands` that print observer lines",
            )


def require_commands(benchmark: Benchmark) -> BenchmarkUnsupported:
    """Return the error of a benchmark without commands, for frameworks that compose none."""
    return BenchmarkUnsupported(
        f"{benchmark.title}: a {benchmark.framework} benchmark needs `commands` ({benchmark.origin})",
        hint='give the command line, for example "commands": ["{program} --model {files.model}"]',
    )


def split_arguments(benchmark: Benchmark, files: Mapping[str, str]) -> list[str]:
    """Split `command_args` into words and replace their placeholders.

    Raises:
        BenchmarkFailed: They cannot be split, or have an unknown placeholder.
    """
    try:
        return [substitute(word, {**benchmark.variables, **files}) for word in shlex.split(benchmark.arguments)]
    except (ValueError, PlaceholderProblem) as error:
        raise BenchmarkFailed(f"`command_args` of {benchmark.title} cannot be used: {error}") from error
