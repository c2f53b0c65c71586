"""llama.cpp as a framework: the plug-in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from frameworks.given_programs import find_build, read_program_options
from frameworks.llama_cpp import command_line
from frameworks.llama_cpp.bench_output import parse_bench
from frameworks.llama_cpp.timings import parse_timings
from frameworks.observations.converters import Parsed, parse_files, parse_step
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.device import Device
from harness.core.protocols import Progress

PROGRAM = "llama-bench"


class LlamaCpp:
    """Framework plug-in: implements `Framework`, `StepParser` and `OptionReader` of `harness.core.protocols`.

    Args:
        programs: Programs given by path, by placeholder; `program` is llama-bench, or what `commands` start.
    """

    name = "llama_cpp"

    def __init__(self, programs: Mapping[str, Path]) -> None:
        self._programs = dict(programs)

    def build(self, device: Device, progress: Progress) -> Build:  # noqa: ARG002 - a program is there, or is not
        """Return the given programs, or the llama-bench on this machine's search path, or a build without programs.

        Raises:
            BuildFailed: A program is missing or cannot be read.
        """
        return find_build(self._programs, device, PROGRAM)

    def read_options(self, build: Build) -> Mapping[str, str]:
        """Return the compiler and the sanitizers that the program names."""
        return read_program_options(build)

    def explain_options(self, names: Collection[str]) -> str | None:  # noqa: ARG002 - CMake's defaults are the user's
        """Return nothing: the programs are the user's."""
        return None

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:  # noqa: ARG002 - the seam's
        """Compose the command line of llama-bench."""
        return command_line.compose(benchmark, files)

    def parse(self, completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
        """Parse tests of llama-bench, timings of the other programs, observer lines, and files with a converter."""
        text = "\n".join(output for command in completed for output in (command.stdout, command.stderr))
        tests, notes = parse_bench(text, benchmark)
        announced, problems = parse_step(completed, benchmark)
        filed, more = parse_files(completed, benchmark)
        return (*tests, *parse_timings(text), *announced, *filed), (*notes, *problems, *more)

    def parse_step(self, completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
        """Parse the observer lines of a step on the host."""
        return parse_step(completed, benchmark)
