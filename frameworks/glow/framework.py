"""Glow as a framework: the plug-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from frameworks.given_programs import GivenPrograms, require_commands
from frameworks.glow.output import parse_output
from frameworks.glow.trace import parse_trace
from frameworks.observations.converters import Parsed, join_outputs, parse_files, parse_step
from frameworks.observations.observer import parse_announced
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed

TRACE: Final = "trace"
"""File name of an output file that is a trace."""


class Glow(GivenPrograms):
    """Framework plug-in: implements `Framework`, `StepParser` and `OptionReader` of `harness.core.protocols`.

    Args:
        programs: Programs given by path, by placeholder.
    """

    name = "glow"

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:  # noqa: ARG002 - the seam's
        """Refuse: Glow has many programs, and each takes other words."""
        raise require_commands(benchmark)

    def parse(self, completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
        """Parse what Glow's programs print, lines of JSON, observer lines, a trace, and files with a converter."""
        observations, notes = parse_step(completed, benchmark)
        text = join_outputs(completed)
        if benchmark.converter is None:
            more, problems = parse_announced(text, ())
            observations, notes = (*observations, *more), (*notes, *problems)
        observations = (*observations, *parse_output(text))
        for file in benchmark.output_files:
            path = next((each.files[file.key] for each in completed if file.key in each.files), None)
            if file.filename == TRACE and file.converter is None and path is not None:
                spans, unread = parse_trace(path)
                observations, notes = (*observations, *spans), (*notes, *unread)
        filed, problems = parse_files(completed, benchmark)
        return (*observations, *filed), (*notes, *problems)
