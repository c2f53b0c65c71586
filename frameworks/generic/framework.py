"""Framework of any program that prints observer lines, started by the commands of the specification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frameworks.given_programs import GivenPrograms, require_commands
from frameworks.observations.converters import Parsed, parse_outputs
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed


class Generic(GivenPrograms):
    """Framework that runs the commands of a specification and reads observer lines.

    Args:
        programs: Programs given by path, by placeholder; `program` is the runner.
    """

    name = "generic"

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:  # noqa: ARG002 - the seam's
        """Refuse: this framework cannot compose commands.

        Raises:
            BenchmarkUnsupported: Always.
        """
        raise require_commands(benchmark)

    def parse(self, completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
        """Parse the outputs of the programs, then the output files that have a converter."""
        return parse_outputs(completed, benchmark)
