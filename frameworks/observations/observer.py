"""Observer lines: how a program reports what it measured.

A line is an identifier followed by one JSON object, anywhere in what the program writes:

    PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "123"}

`frameworks.observations.forms` lists the forms of the object. Instead of such lines a program may write exactly one
JSON document: an object, or a list of objects. What cannot be read is reported, and the rest is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from frameworks.observations.collector import BadObservation, ObservationCollector
from frameworks.observations.forms import metrics_of, read_document, read_object
from harness.core.metric import Observation
from harness.core.note import Note
from harness.formats import MLPERF_CLIENT_SUCCESS

IDENTIFIERS: Final = ("PyTorchObserver", "Caffe2Observer")

LOST_METRIC: Final = "lost_metric"
"""Code of the note that a metric was to be there, and nothing of it could be read."""

_QUOTED_LINES = 5
"""Number of bad lines that a note quotes."""

_BETWEEN_OBJECTS = re.compile(r"[\s,;]*(?=\{)")
"""Separator of two objects behind one identifier."""

_LIKE_DOCUMENT = re.compile(r"\s*(\{|\[\s*\{)")

_RESULT = re.compile(rf'\A(?=\{{.*"{MLPERF_CLIENT_SUCCESS}")').search
"""Beginning of a line of MLPerf Client, which nothing announces."""

_NAMED = re.compile(r'"type"\s*:\s*"([^"\\]+)"\s*,\s*"metric"\s*:\s*"([^"\\]+)"')
"""Type and metric of an object that is not valid JSON, in the order in which programs write them."""

_BYTE_ORDER_MARK: Final = "\ufeff"
"""What programs of Windows write at the beginning of a text in UTF-8."""

_Search = Callable[[str, int], re.Match[str] | None]

_decode: Callable[[str, int], tuple[dict[str, object], int]] = json.JSONDecoder().raw_decode
"""Decode the object that begins at a position (which must be a `{`); return it and where it ends."""


def parse_lines(
    text: str, identifiers: Sequence[str] = IDENTIFIERS
) -> tuple[tuple[Observation, ...], tuple[Note, ...]]:
    """Parse everything that a program observed. Never raises on what a program printed.

    Values of the same type, metric and unit become the samples of one observation, in printed order. Time units
    convert to the unit that came first; other units make an observation of their own and a note `units`.

    Args:
        text: The output of the program.
        identifiers: Words that announce an object. If there are none, every line that begins with `{` is one.

    Returns:
        The observations; and at most one note of each of these codes: `bad_lines`, which quotes the first bad lines by
        1-based number; `lost_metric`, which names metrics that were printed without any readable number; `units`.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    collector = ObservationCollector()
    bad: list[BadObservation] = []
    document = None if identifiers else _document(text)
    if document is None and not _read_lines(text, _announcement(identifiers), collector, bad):
        document = _document(text)
        if document is None and _LIKE_DOCUMENT.match(text):
            bad.append(BadObservation("it begins like JSON, but is neither one JSON object nor a list of them"))
    if document is not None:
        bad.extend(read_document(document, collector))
    return conclude(collector, bad)


def parse_announced(
    text: str, identifiers: Sequence[str] = IDENTIFIERS
) -> tuple[tuple[Observation, ...], tuple[Note, ...]]:
    """Parse the observations in the output of a program that is no runner: it may print any other JSON.

    Result as of `parse_lines`, but there are no documents: an object counts where it is announced. If no words announce
    one, a line counts that names a `type` and a `metric`; every other line is the program's own business.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    if not identifiers:
        text = "\n".join(line if _is_observation(line) else "" for line in text.split("\n"))
    collector = ObservationCollector()
    bad: list[BadObservation] = []
    _read_lines(text, _announcement(identifiers), collector, bad)
    return conclude(collector, bad)


def conclude(
    collector: ObservationCollector, bad: Sequence[BadObservation]
) -> tuple[tuple[Observation, ...], tuple[Note, ...]]:
    """Return what was collected, with notes on it and on what could not be read."""
    return collector.observations(), (*_note_bad_lines(bad), *_note_lost(bad, collector), *collector.notes())


def _is_observation(line: str) -> bool:
    """Return whether a line that nothing announces is an observation."""
    try:
        item: object = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(item, dict) and {"type", "metric"} <= item.keys()


def _read_lines(text: str, search: _Search, collector: ObservationCollector, bad: list[BadObservation]) -> bool:
    """Read each announced object; return whether there was any."""
    announced = False
    for line_number, line in enumerate(text.split("\n"), 1):
        for item in _objects(line, _RESULT if line[:1] == "{" and MLPERF_CLIENT_SUCCESS in line else search):
            announced = True
            try:
                if isinstance(item, BadObservation):
                    raise item
                read_object(item, collector)
            except BadObservation as error:
                bad.append(BadObservation(f"line {line_number}: {error}", error.metrics or metrics_of(item)))
    return announced


def _announcement(identifiers: Sequence[str]) -> _Search:
    words = "|".join(map(re.escape, identifiers)) if identifiers else r"\A\s*(?=\{)"
    return re.compile(words).search


def _objects(line: str, search: _Search) -> Iterator[dict[str, object] | BadObservation]:
    """Yield the announced objects of a line, or why one is not JSON. One identifier may announce several."""
    position = 0
    while (announcement := search(line, position)) is not None:
        position = line.find("{", announcement.end())
        if position < 0:
            return
        more = True
        while more:
            try:
                item, position = _decode(line, position)
            except (ValueError, RecursionError) as error:
                yield BadObservation(_reason(error), _NAMED.findall(line, position)[:1])
                position += 1
                break
            yield item
            separator = _BETWEEN_OBJECTS.match(line, position)
            more = separator is not None
            position = separator.end() if separator else position


def _document(text: str) -> dict[str, object] | list[object] | None:
    """Return the JSON object, or the list of objects, that is the whole text."""
    if not _LIKE_DOCUMENT.match(text):
        return None
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(document, dict):
        return document
    return document if isinstance(document, list) and all(isinstance(item, dict) for item in document) else None


def _reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} (column {error.colno})"
    return "not JSON: nested too deeply" if isinstance(error, RecursionError) else f"not JSON: {error}"


def _note_lost(bad: Sequence[BadObservation], collector: ObservationCollector) -> tuple[Note, ...]:
    """Note metrics that were printed, and of which nothing could be read."""
    lost = dict.fromkeys(" ".join(key) for problem in bad for key in problem.metrics if not collector.has(*key))
    if not lost:
        return ()
    return (
        Note(
            code=LOST_METRIC,
            message=f"{', '.join(lost)} was printed without any readable number: {bad[0]}",
            hint="correct what the program prints; the raw log of the launch shows it",
            trust=False,
        ),
    )


def _note_bad_lines(bad: Sequence[BadObservation]) -> tuple[Note, ...]:
    if not bad:
        return ()
    quoted = "; ".join(map(str, bad[:_QUOTED_LINES]))
    more = f"; and {len(bad) - _QUOTED_LINES} more" if len(bad) > _QUOTED_LINES else ""
    return (
        Note(
            code="bad_lines",
            message=f"some output could not be read and is missing from the numbers: {quoted}{more}",
            hint=f"print each observation as one line: an identifier such as `{IDENTIFIERS[0]}`, then a JSON object "
            "with `type`, `metric`, `unit` and one of `value`, `summary` and `info_string`",
            trust=False,
        ),
    )
