"""Converters: how a specification says where observations are, in the output or in output files.

`json_converter` and `json_with_identifier_converter` are FAI-PEP's; `token_lines` reads the times of tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from pydantic import JsonValue

from frameworks.observations.collector import BadObservation, ObservationCollector
from frameworks.observations.observer import IDENTIFIERS, LOST_METRIC, conclude, parse_announced, parse_lines
from harness.core.benchmark import Benchmark
from harness.core.command import Completed
from harness.core.metric import FIRST_TOKEN, Observation
from harness.core.note import Note

Parsed = tuple[tuple[Observation, ...], tuple[Note, ...]]

_UNUSABLE: Final = "converter"
"""Code of the note that a converter cannot be used as it is given."""
_CONVERTERS: Final = ("json_converter", "json_with_identifier_converter")
_TOKEN_LINES: Final = "token_lines"  # noqa: S105 - the name of a converter, not a secret


def parse_outputs(completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
    """Parse the observations in what runners printed, then those in output files that have a converter."""
    read, unknown = _find_reader("the output", benchmark.converter, benchmark.converter_args, benchmark)
    observations: list[Observation] = []
    notes = list(unknown)
    for place, text in outputs_of(completed):
        parsed, problems = (read or parse_lines)(text)
        observations.extend(parsed)
        notes += add_place(place, problems)
    if benchmark.converter == _TOKEN_LINES:
        notes += _note_missing_tokens("the output", observations, notes)
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
        read, problems = _find_reader(file.filename, file.converter, file.converter_args, benchmark)
        notes += problems
        if read is None:
            continue
        try:
            text = fetched[file.key].read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            notes.append(Note(code="output_file", message=f"{file.filename}: {error.strerror}", trust=False))
            continue
        parsed, problems = read(text)
        observations.extend(parsed)
        notes += add_place(file.filename, problems)
        if file.converter == _TOKEN_LINES:
            notes += _note_missing_tokens(file.filename, parsed, problems)
        elif not parsed and not problems:
            hint = "compare the file, in UTF-8, with what its `converter` reads, or leave that out"
            notes.append(Note(code="output_file", message=f"{file.filename}: no observation found in it", hint=hint))
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


def _find_reader(
    place: str, converter: str | None, arguments: Mapping[str, JsonValue], benchmark: Benchmark
) -> tuple[Callable[[str], Parsed] | None, Sequence[Note]]:
    """Return the function that reads a text by a converter; None and a note for one that cannot be used."""
    if converter == _TOKEN_LINES:
        # Few programs need it; the others do not pay for the import.
        from frameworks.observations.token_lines import read_arguments, read_token_lines  # noqa: PLC0415

        lines = read_arguments(arguments)
        if isinstance(lines, str):
            hint = 'for example {"token": "token <token> at <time>", "unit": "ms"}'
            return None, (Note(code=_UNUSABLE, message=f"{place}: {_TOKEN_LINES}: {lines}", hint=hint, trust=False),)
        read = partial(read_token_lines, lines=lines, request=benchmark.generation)
        return partial(_parse_tokens, read=read), ()
    words, notes = find_identifiers(place, converter, arguments)
    return None if words is None else partial(parse_lines, identifiers=words), notes


def _note_missing_tokens(place: str, observations: Sequence[Observation], notes: Sequence[Note]) -> tuple[Note, ...]:
    """Note that no token was found where a converter was to find some: the number that the program was run for."""
    if any(observation.name == FIRST_TOKEN for observation in observations):
        return ()
    if any(note.code in {LOST_METRIC, _UNUSABLE} for note in notes):
        return ()
    hint = "compare the pattern `token` with what the program prints; the raw log of the launch shows it"
    message = f"{place}: {_TOKEN_LINES} found no line of a token"
    return (Note(code=LOST_METRIC, message=message, hint=hint, trust=False),)


def _parse_tokens(text: str, read: Callable[..., Sequence[BadObservation]]) -> Parsed:
    """Parse the lines of tokens, and observer lines beside them."""
    collector = ObservationCollector()
    bad = read(text, collector=collector)
    observations, notes = conclude(collector, bad)
    announced, problems = parse_announced(text)
    return (*observations, *announced), (*notes, *problems)


def find_identifiers(
    place: str, converter: str | None, arguments: Mapping[str, JsonValue]
) -> tuple[tuple[str, ...] | None, Sequence[Note]]:
    """Return the words that announce an observation, for `parse_lines`; None and a note for an unknown converter.

    Args:
        place: Where the converter is used, for the note.
        converter: `json_converter`: every line that begins with `{` is an observation, or the whole text is one JSON
            document. `json_with_identifier_converter`: what follows the word `identifier` is one. None, and
            `token_lines` beside what it reads: observer lines.
        arguments: `identifier`, for the second.
    """
    identifier = arguments.get("identifier")
    if converter in {None, _TOKEN_LINES}:
        return IDENTIFIERS, ()
    if converter == "json_converter":
        return (), ()
    if converter not in _CONVERTERS:
        problem = f"there is no converter `{converter}`"
    elif not isinstance(identifier, str) or not identifier.strip():
        problem = f"converter `{converter}` has no `identifier` in its `args`"
    else:
        return (identifier.strip(),), ()
    known = ", ".join((*_CONVERTERS, _TOKEN_LINES))
    hint = f"known converters: {known}; the second needs `args`: {{'identifier': WORD}}"
    return None, (Note(code=_UNUSABLE, message=f"{place}: {problem}", hint=hint, trust=False),)


def add_place(place: str, notes: Sequence[Note]) -> Sequence[Note]:
    """Put the place that notes are about in front of their messages."""
    return [note.model_copy(update={"message": f"{place}: {note.message}"}) for note in notes]
