"""Observer lines: how a program on a device tells what it measured.

A line is an identifier followed by one JSON object, anywhere in what the program writes:

    PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "123"}

`frameworks.observer_forms` lists the forms of the object. A program that writes no such line and nothing but one JSON
object is understood as well. What cannot be read is reported, and never costs what can.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from frameworks.observed import BadObservation, Observed
from frameworks.observer_forms import read_document, read_object
from harness.core.metric import Observation
from harness.core.note import Note

IDENTIFIERS: Final = ("PyTorchObserver", "Caffe2Observer")

_QUOTED_LINES = 5
"""How many bad lines a note quotes."""

_BETWEEN_OBJECTS = re.compile(r"[\s,;]*(?=\{)")
"""What may stand between two objects behind one identifier."""

_Search = Callable[[str, int], re.Match[str] | None]

_decode: Callable[[str, int], tuple[dict[str, object], int]] = json.JSONDecoder().raw_decode
"""Reads the object that begins at a position (which must be a `{`); returns it and where it ends."""


def parse_lines(
    text: str, identifiers: Sequence[str] = IDENTIFIERS
) -> tuple[tuple[Observation, ...], tuple[Note, ...]]:
    """Everything a program observed. Never raises on what a program printed.

    Values of the same type, metric and unit become the samples of one observation, in printed order. Time units
    convert to the unit that came first; other units make an observation of their own and a note `units`.

    Args:
        text: What the program wrote.
        identifiers: Words that announce an object. None at all means that every line that begins with `{` is one.

    Returns:
        The observations; and at most one note `bad_lines`, which quotes the first bad lines by 1-based number, and
        at most one note `units`.
    """
    observed = Observed()
    bad: list[str] = []
    document = None if identifiers else _document(text)
    if document is None and not _read_lines(text, _announcement(identifiers), observed, bad):
        document = _document(text)
        if document is None and text.lstrip().startswith("{"):
            bad.append("it begins like JSON and is not one JSON object")
    if document is not None:
        bad.extend(read_document(document, observed))
    return observed.observations(), (*_bad_lines(bad), *observed.notes())


def _read_lines(text: str, search: _Search, observed: Observed, bad: list[str]) -> bool:
    """Read each announced object; tell whether there was any."""
    announced = False
    for line_number, line in enumerate(text.split("\n"), 1):
        for found in _objects(line, search):
            announced = True
            try:
                if isinstance(found, BadObservation):
                    raise found
                read_object(found, observed)
            except BadObservation as error:
                bad.append(f"line {line_number}: {error}")
    return announced


def _announcement(identifiers: Sequence[str]) -> _Search:
    words = "|".join(map(re.escape, identifiers)) if identifiers else r"\A\s*(?=\{)"
    return re.compile(words).search


def _objects(line: str, search: _Search) -> Iterator[dict[str, object] | BadObservation]:
    """The announced objects of a line, and for what is no JSON the reason. One announcement may have several."""
    at = 0
    while (announced := search(line, at)) is not None:
        at = line.find("{", announced.end())
        if at < 0:
            return
        another = True
        while another:
            try:
                found, at = _decode(line, at)
            except (ValueError, RecursionError) as error:
                yield BadObservation(_reason(error))
                at += 1
                break
            yield found
            between = _BETWEEN_OBJECTS.match(line, at)
            another = between is not None
            at = between.end() if between else at


def _document(text: str) -> dict[str, object] | None:
    """The JSON object that is the whole text."""
    whole = text.strip()
    if not whole.startswith("{"):
        return None
    try:
        document, end = _decode(whole, 0)
    except (ValueError, RecursionError):
        return None
    return document if end == len(whole) else None


def _reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} (column {error.colno})"
    return "not JSON: nested too deeply" if isinstance(error, RecursionError) else f"not JSON: {error}"


def _bad_lines(bad: Sequence[str]) -> tuple[Note, ...]:
    if not bad:
        return ()
    more = f"; and {len(bad) - _QUOTED_LINES} more" if len(bad) > _QUOTED_LINES else ""
    return (
        Note(
            code="bad_lines",
            message=f"could not be read, and is missing from the numbers: {'; '.join(bad[:_QUOTED_LINES])}{more}",
            hint="print each observation as one line: the identifier, then a JSON object with `type`, `metric`, `unit` "
            "and one of `value`, `summary` and `info_string`",
        ),
    )
