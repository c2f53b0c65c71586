"""Framework of any program that prints observer lines, started by the commands of the specification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from frameworks.given_programs import GivenPrograms, require_commands
from frameworks.observations.converters import Parsed, parse_outputs
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.metric import LATENCY, Observation
from harness.core.note import Note


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
        observations, notes = parse_outputs(completed, benchmark)
        if all(command.ok for command in completed):
            notes = (*notes, *_note_iterations(observations, benchmark))
        return observations, notes


def _note_iterations(observations: Sequence[Observation], benchmark: Benchmark) -> Iterator[Note]:
    """Note that a program reported fewer iterations than the specification asks for: it may not know the number."""
    if benchmark.time_limit_s is not None or benchmark.long_run_s is not None:  # which may end it before
        return
    count = sum(len(each.samples) for each in observations if each.name == LATENCY)
    if 0 < count < benchmark.iterations:
        yield Note(
            code="iterations",
            message=f"the program reported {count} of {benchmark.iterations} iterations in a launch",
            hint="give it the number, as `{iter}` in `commands`, or set the `iter` that it makes",
        )
