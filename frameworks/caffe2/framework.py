"""Caffe2 as a framework: the plug-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from frameworks.caffe2 import command_line
from frameworks.given_programs import GivenPrograms
from frameworks.observations.converters import Parsed, parse_outputs
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.metric import Observation

_UNKNOWN: Final = -1.0
"""Number of floating point operations that Caffe2's observer prints of a whole network, which it does not count."""


class Caffe2(GivenPrograms):
    """Framework plug-in: implements `Framework`, `StepParser` and `OptionReader` of `harness.core.protocols`.

    Args:
        programs: Programs given by path, by placeholder; `program` is `caffe2_benchmark`.
    """

    name = "caffe2"

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:  # noqa: ARG002 - the seam's
        """Compose the command line of `caffe2_benchmark`."""
        return command_line.compose(benchmark, files)

    def parse(self, completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
        """Parse observer lines, and output files with a converter. Operations that were not counted are left out."""
        observations, notes = parse_outputs(completed, benchmark)
        return tuple(filter(_is_known, observations)), notes


def _is_known(observation: Observation) -> bool:
    return observation.metric != "flops" or set(observation.samples) != {_UNKNOWN}
