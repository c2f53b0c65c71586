"""Framework of any program that prints observer lines, started by the commands of the specification."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from frameworks.given_programs import find_build, read_program_options
from frameworks.observations.converters import Parsed, parse_outputs, parse_step
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.device import Device
from harness.core.errors import BenchmarkUnsupported
from harness.core.protocols import Progress


class Generic:
    """Framework that runs the commands of a specification and reads observer lines.

    Args:
        programs: Programs given by path, by placeholder; `program` is the runner.
    """

    name = "generic"

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
        return read_program_options(build)

    def explain_options(self, names: Collection[str]) -> str | None:  # noqa: ARG002 - nothing is known of any
        """Return nothing: the programs are the user's."""
        return None

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:  # noqa: ARG002 - the seam's
        """Refuse: this framework cannot compose commands.

        Raises:
            BenchmarkUnsupported: Always.
        """
        raise BenchmarkUnsupported(
            f"{benchmark.title}: a generic benchmark needs `commands` ({benchmark.origin})",
            hint='give the command line, for example "commands": ["{program} --model {files.model}"]',
        )

    def parse(self, completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
        """Parse the outputs of the programs, then the output files that have a converter."""
        return parse_outputs(completed, benchmark)

    def parse_step(self, completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
        """Parse the observer lines of a step on the host."""
        return parse_step(completed, benchmark)
