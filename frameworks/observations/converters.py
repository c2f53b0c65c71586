"""FAI-PEP's converters: how a specification says where observations are, in the output or in output files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from frameworks.observations.observer import IDENTIFIERS, parse_announced, parse_lines
from harness.core.benchmark import Benchmark
from harness.core.command import Completed
from harness.core.metric import Observation
from harness.core.note import Note

Parsed = tuple[tuple[Observation, ...], tuple[Note, ...]]

_CONVERTERS: Final = ("json_converter", "json_with_identifier_converter")


def parse_outputs(completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
    """Parse the observations in what runners printed, then those in output files that have a converter."""
    words, unknown = find_identifiers("the output", benchmark.converter, benchmark.converter_args)
    observations: list[Observation] = []
    notes = list(unknown)
    for place, text in outputs_of(completed):
        parsed, problems = parse_lines(text, words if words is not None else IDENTIFIERS)
        observations.extend(parsed)
        notes += add_place(place, problems)
    parsed, problems = parse_files(completed, benchmark)
    return (*observations, *parsed), (*notes, *problems)


def parse_files(completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
    """Parse the fetched output files that have a converter, with notes on what cannot be read."""
    observations: list[Observation] = []
    notes: list[Note] = []
    fetched = {key: path for command in completed for key, path in command.files.items()}
    for file in benchmark.output_files:
        if file.converter is None or file.key not in fetched:  # a missing file is reported by the launch
            continue
        words, problems = find_identifiers(file.filename, file.converter, file.converter_args)
        notes += problems
        if words is None:
            continue
        try:
            text = fetched[file.key].read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            notes.append(Note(code="output_file", message=f"{file.filename}: {error.strerror}", trust=False))
            continue
        parsed, problems = parse_lines(text, words)
        observations.extend(parsed)
        notes += add_place(file.filename, problems)
    return tuple(observations), tuple(notes)


def parse_step(completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
    """Parse what the commands of a step on the host printed, by the converter of the model, as FAI-PEP does."""
    words, unknown = find_identifiers("the output of a step", benchmark.converter, benchmark.converter_args)
    observations: list[Observation] = []
    notes = list(unknown)
    for place, text in outputs_of(completed):
        parsed, problems = parse_announced(text, IDENTIFIERS if words is None else words)
        observations.extend(parsed)
        notes += add_place(place, problems)
    return tuple(observations), tuple(notes)


def outputs_of(completed: Sequence[Completed]) -> Iterator[tuple[str, str]]:
    """Yield both outputs of each command, with their names for notes."""
    for number, command in enumerate(completed, 1):
        which = f" of command {number}" if len(completed) > 1 else ""
        yield f"standard output{which}", command.stdout
        yield f"standard error{which}", command.stderr


def join_outputs(completed: Sequence[Completed]) -> str:
    """Return everything that the commands wrote, standard output before standard error of each."""
    return "\n".join(output for command in completed for output in (command.stdout, command.stderr))


def find_identifiers(
    place: str, converter: str | None, arguments: Mapping[str, JsonValue]
) -> tuple[tuple[str, ...] | None, Sequence[Note]]:
    """Return the words that announce an observation, for `parse_lines`; None and a note for an unknown converter.

    Args:
        place: Where the converter is used, for the note.
        converter: `json_converter`: every line that begins with `{` is an observation, or the whole text is one JSON
            document. `json_with_identifier_converter`: what follows the word `identifier` is one. None: observer lines.
        arguments: `identifier`, for the second.
    """
    identifier = arguments.get("identifier")
    if converter is None:
        return IDENTIFIERS, ()
    if converter == "json_converter":
        return (), ()
    if converter not in _CONVERTERS:
        problem = f"there is no converter `{converter}`"
    elif not isinstance(identifier, str) or not identifier.strip():
        problem = f"converter `{converter}` has no `identifier` in its `args`"
    else:
        return (identifier.strip(),), ()
    hint = f"known converters: {', '.join(_CONVERTERS)}; the second needs `args`: {{'identifier': WORD}}"
    return None, (Note(code="converter", message=f"{place}: {problem}", hint=hint, trust=False),)


def add_place(place: str, notes: Sequence[Note]) -> Sequence[Note]:
    """Put the place that notes are about in front of their messages."""
    return [note.model_copy(update={"message": f"{place}: {note.message}"}) for note in notes]
