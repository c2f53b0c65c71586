"""Output files of a program: what their converters find in them, for every framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from frameworks.observations.converters import KNOWN, UnknownConverter, identifiers_of
from frameworks.observations.observer import IDENTIFIERS, parse_lines
from harness.core.benchmark import Benchmark
from harness.core.command import Completed
from harness.core.metric import Observation
from harness.core.note import Note

Parsed = tuple[tuple[Observation, ...], tuple[Note, ...]]


def parse_files(completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
    """What is in the fetched output files that have a converter, with notes on what cannot be read."""
    observations: list[Observation] = []
    notes: list[Note] = []
    fetched = {key: path for one in completed for key, path in one.files.items()}
    for file in benchmark.output_files:
        if file.converter is None or file.key not in fetched:  # the runner itself tells of a file that is not there
            continue
        words, problems = identifiers(file.filename, file.converter, file.converter_args)
        notes += problems
        if words is None:
            continue
        try:
            text = fetched[file.key].read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            notes.append(Note(code="output_file", message=f"{file.filename}: {error.strerror}", trust=False))
            continue
        found, bad = parse_lines(text, words)
        observations.extend(found)
        notes += located(file.filename, bad)
    return tuple(observations), tuple(notes)


def identifiers(
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


def located(where: str, notes: Sequence[Note]) -> list[Note]:
    """The notes, each saying where what it is about was found."""
    return [note.model_copy(update={"message": f"{where}: {note.message}"}) for note in notes]
