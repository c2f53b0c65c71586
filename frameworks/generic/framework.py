"""The framework for everything that is not a framework of ours: a program, its commands, its observer lines."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from frameworks.generic.converters import KNOWN, UnknownConverter, identifiers_of
from frameworks.observer import IDENTIFIERS, parse_lines
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.device import Device
from harness.core.errors import BenchmarkUnsupported, BuildFailed
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.protocols import Progress

Parsed = tuple[tuple[Observation, ...], tuple[Note, ...]]


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
        identifiers, notes = _identifiers("the output", benchmark.converter, benchmark.converter_args)
        observations: list[Observation] = []
        for where, text in _outputs(completed):
            found, problems = parse_lines(text, identifiers if identifiers is not None else IDENTIFIERS)
            observations.extend(found)
            notes += _located(where, problems)
        found, problems = _parse_files(completed, benchmark)
        return (*observations, *found), (*notes, *problems)


def _digest(name: str, path: Path) -> str:
    hint = f"give the path of an executable file: --program {name}=PATH"
    if not path.is_file():
        raise BuildFailed(f"program `{name}`: there is no file {path}", hint=hint)
    if not os.access(path, os.X_OK):
        raise BuildFailed(f"program `{name}`: {path} may not be executed", hint=f"chmod +x {path}")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BuildFailed(f"program `{name}`: {path} cannot be read: {error.strerror}", hint=hint) from error


def _outputs(completed: Sequence[Completed]) -> Iterator[tuple[str, str]]:
    for number, one in enumerate(completed, 1):
        which = f" of command {number}" if len(completed) > 1 else ""
        yield f"standard output{which}", one.stdout
        yield f"standard error{which}", one.stderr


def _parse_files(completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
    observations: list[Observation] = []
    notes: list[Note] = []
    fetched = {key: path for one in completed for key, path in one.files.items()}
    for file in benchmark.output_files:
        if file.converter is None or file.key not in fetched:  # the runner itself tells of a file that is not there
            continue
        identifiers, problems = _identifiers(file.filename, file.converter, file.converter_args)
        notes += problems
        if identifiers is None:
            continue
        try:
            text = fetched[file.key].read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            notes.append(Note(code="output_file", message=f"{file.filename}: {error.strerror}", trust=False))
            continue
        found, bad = parse_lines(text, identifiers)
        observations.extend(found)
        notes += _located(file.filename, bad)
    return tuple(observations), tuple(notes)


def _identifiers(
    where: str, converter: str | None, arguments: Mapping[str, JsonValue]
) -> tuple[tuple[str, ...] | None, list[Note]]:
    """The words that announce an observation; None and a note when the converter is not known."""
    if converter is None:
        return IDENTIFIERS, []
    try:
        return identifiers_of(converter, arguments), []
    except UnknownConverter as error:
        hint = f"known converters: {', '.join(KNOWN)}; the second needs `args`: {{'identifier': WORD}}"
        return None, [Note(code="converter", message=f"{where}: {error}", hint=hint, trust=False)]


def _located(where: str, notes: Sequence[Note]) -> list[Note]:
    return [note.model_copy(update={"message": f"{where}: {note.message}"}) for note in notes]
