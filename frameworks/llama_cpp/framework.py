"""llama.cpp as a framework: the plug-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frameworks.given_programs import GivenPrograms, find_build
from frameworks.llama_cpp import command_line
from frameworks.llama_cpp.bench_output import parse_bench
from frameworks.llama_cpp.timings import parse_timings
from frameworks.observations.converters import Parsed, join_outputs, parse_files, parse_step
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.cached_files import CachedFile
from harness.core.command import Command, Completed
from harness.core.device import Device
from harness.core.errors import BenchmarkUnsupported
from harness.core.protocols import Progress

PROGRAM = "llama-bench"


class LlamaCpp(GivenPrograms):
    """Framework plug-in.

    Implements `Framework`, `StepParser`, `OptionReader`, `BackendOptionChecking` and `Generating` of
    `harness.core.protocols`.

    Args:
        programs: Programs given by path, by placeholder; `program` is llama-bench, or what `commands` start.
    """

    name = "llama_cpp"

    def build(self, device: Device, progress: Progress) -> Build:  # noqa: ARG002 - a program is there, or is not
        """Return the given programs, or the llama-bench on this machine's search path, or a build without programs.

        Raises:
            BuildFailed: A program is missing or cannot be read.
        """
        return find_build(self._programs, device, PROGRAM)

    def check_backend_options(self, benchmark: Benchmark) -> None:
        """Check the options that a benchmark names."""
        if benchmark.commands and benchmark.backend_options:
            names = ", ".join(f"`{name}`" for name in benchmark.backend_options)
            raise BenchmarkUnsupported(
                f"`backend_options`: commands of their own do not get {names}", hint="write them into the commands"
            )
        command_line.compose_sizes(benchmark)

    def check_generation(self, benchmark: Benchmark) -> None:
        """Check the sizes of a generation: llama-bench processes tokens of its own, and has no text."""
        command_line.compose_sizes(benchmark)

    def make_prompt(self, benchmark: Benchmark, files: Mapping[str, CachedFile]) -> None:
        """Return nothing: llama-bench makes its own tokens."""

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:  # noqa: ARG002 - the seam's
        """Compose the command line of llama-bench."""
        return command_line.compose(benchmark, files)

    def parse(self, completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
        """Parse tests of llama-bench, timings of the other programs, observer lines, and files with a converter."""
        text = join_outputs(completed)
        tests, notes = parse_bench(text, benchmark)
        announced, problems = parse_step(completed, benchmark)
        filed, more = parse_files(completed, benchmark)
        return (*tests, *parse_timings(text), *announced, *filed), (*notes, *problems, *more)
