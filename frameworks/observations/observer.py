"""Observer lines: how a program on a device tells what it measured.

A line is an identifier followed by one JSON object, anywhere in what the program writes:

    PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "123"}

`frameworks.observations.forms` lists the forms of the object. A program that writes no such line and nothing but one
JSON document - an object, or a list of objects - is understood as well. What cannot be read is reported, and never
costs what can.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from frameworks.observations.collector import BadObservation, Observed
from frameworks.observations.forms import about, read_document, read_object
from harness.core.metric import Observation
from harness.core.note import Note

IDENTIFIERS: Final = ("PyTorchObserver", "Caffe2Observer")

_QUOTED_LINES = 5
"""How many bad lines a note quotes."""

_BETWEEN_OBJECTS = re.compile(r"[\s,;]*(?=\{)")
"""What may stand between two objects behind one identifier."""

_LIKE_DOCUMENT = re.compile(r"\s*(\{|\[\s*\{)")

_NAMED = re.compile(r'"type"\s*:\s*"([^"\\]+)"\s*,\s*"metric"\s*:\s*"([^"\\]+)"')
"""Type and metric of an object that is no JSON, as programs write them."""

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
        The observations; and at most one note of each of these codes: `bad_lines`, which quotes the first bad lines by
        1-based number; `lost_metric`, which names what was printed without a single number that can be read; `units`.
    """
    observed = Observed()
    bad: list[BadObservation] = []
    document = None if identifiers else _document(text)
    if document is None and not _read_lines(text, _announcement(identifiers), observed, bad):
        document = _document(text)
        if document is None and _LIKE_DOCUMENT.match(text):
            bad.append(BadObservation("it begins like JSON and is not one JSON object, nor a list of them"))
    if document is not None:
        bad.extend(read_document(document, observed))
    return observed.observations(), (*_bad_lines(bad), *_lost(bad, observed), *observed.notes())


def _read_lines(text: str, search: _Search, observed: Observed, bad: list[BadObservation]) -> bool:
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
                bad.append(BadObservation(f"line {line_number}: {error}", error.about or about(found)))
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
                yield BadObservation(_reason(error), _NAMED.findall(line, at)[:1])
                at += 1
                break
            yield found
            between = _BETWEEN_OBJECTS.match(line, at)
            another = between is not None
            at = between.end() if between else at


def _document(text: str) -> dict[str, object] | list[object] | None:
    """The JSON object, or the list of objects, that is the whole text."""
    if not _LIKE_DOCUMENT.match(text):
        return None
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(document, dict):
        return document
    whole = isinstance(document, list) and all(isinstance(item, dict) for item in document)
    return document if isinstance(document, list) and whole else None


def _reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} (column {error.colno})"
    return "not JSON: nested too deeply" if isinstance(error, RecursionError) else f"not JSON: {error}"


def _lost(bad: Sequence[BadObservation], observed: Observed) -> tuple[Note, ...]:
    """What a program meant to say about a metric, and of which nothing is left."""
    lost = dict.fromkeys(" ".join(key) for one in bad for key in one.about if not observed.has(*key))
    if not lost:
        return ()
    return (
        Note(
            code="lost_metric",
            message=f"{', '.join(lost)} was printed, and no number of it can be read: {bad[0]}",
            hint="mend what the program prints; the raw log of the launch shows it",
            trust=False,
        ),
    )


def _bad_lines(bad: Sequence[BadObservation]) -> tuple[Note, ...]:
    if not bad:
        return ()
    quoted = "; ".join(map(str, bad[:_QUOTED_LINES]))
    more = f"; and {len(bad) - _QUOTED_LINES} more" if len(bad) > _QUOTED_LINES else ""
    return (
        Note(
            code="bad_lines",
            message=f"could not be read, and is missing from the numbers: {quoted}{more}",
            hint="print each observation as one line: the identifier, then a JSON object with `type`, `metric`, `unit` "
            "and one of `value`, `summary` and `info_string`",
            trust=False,
        ),
    )
