"""The framework for everything that is not a framework of ours: a program, its commands, its observer lines."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from frameworks.observations.observer import IDENTIFIERS, parse_lines
from frameworks.observations.output_files import Parsed, identifiers, located, parse_files
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.device import Device
from harness.core.errors import BenchmarkUnsupported, BuildFailed
from harness.core.metric import Observation
from harness.core.protocols import Progress
from harness.files.digests import sha256_of_file


class Generic:
    """Runs the commands of a specification as they are, and reads observer lines.

    Args:
        programs: Programs given by path, by placeholder; `program` is the runner.
    """

    name = "generic"

    def __init__(self, programs: Mapping[str, Path]) -> None:
        self._programs = dict(programs)

    def build(self, device: Device, progress: Progress) -> Build:  # noqa: ARG002 - a given program is for every device
        """The programs that were given. Without any, a build that serves commands which name none.

        Raises:
            BuildFailed: A program is not there, or may not be executed.
        """
        if not self._programs:
            return Build(source="none", commit="none")
        digests = {name: _digest(name, path) for name, path in sorted(self._programs.items())}
        digest = next(iter(digests.values()))
        if len(digests) > 1:
            digest = hashlib.sha256("".join(f"{name} {each}\n" for name, each in digests.items()).encode()).hexdigest()
        return Build(
            source="prebuilt",
            commit=digest[:12],
            digest=digest,
            programs={name: path.absolute() for name, path in self._programs.items()},
        )

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:  # noqa: ARG002 - the seam's
        """Refuse: how to start a program is not known here.

        Raises:
            BenchmarkUnsupported: Always.
        """
        raise BenchmarkUnsupported(
            f"{benchmark.title}: a generic benchmark needs `commands` ({benchmark.origin})",
            hint='say how the program is started, for example "commands": ["{program} --model {files.model}"]',
        )

    def parse(self, completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
        """What the programs wrote to their outputs, then what is in output files that have a converter."""
        words, notes = identifiers("the output", benchmark.converter, benchmark.converter_args)
        observations: list[Observation] = []
        for where, text in _outputs(completed):
            found, problems = parse_lines(text, words if words is not None else IDENTIFIERS)
            observations.extend(found)
            notes += located(where, problems)
        found, problems = parse_files(completed, benchmark)
        return (*observations, *found), (*notes, *problems)


def _digest(name: str, path: Path) -> str:
    hint = f"give the path of an executable file: --program {name}=PATH"
    if not path.is_file():
        raise BuildFailed(f"program `{name}`: there is no file {path}", hint=hint)
    if path.suffix != ".apk" and not os.access(path, os.X_OK):
        raise BuildFailed(f"program `{name}`: {path} may not be executed", hint=f"chmod +x {path}")
    try:
        return sha256_of_file(path)
    except OSError as error:
        raise BuildFailed(f"program `{name}`: {path} cannot be read: {error.strerror}", hint=hint) from error


def _outputs(completed: Sequence[Completed]) -> Iterator[tuple[str, str]]:
    for number, one in enumerate(completed, 1):
        which = f" of command {number}" if len(completed) > 1 else ""
        yield f"standard output{which}", one.stdout
        yield f"standard error{which}", one.stderr
