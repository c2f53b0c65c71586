"""The figures in `report.json`: a list of tests, each a list of entries `{"type", "metric", "unit", "value"}`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from frameworks.observations.collector import BadObservation, ObservationCollector
from frameworks.observations.converters import Parsed
from harness.core.note import Note

MOST_BYTES: Final = 50_000_000
_QUOTED: Final = 5


def parse_report(path: Path) -> Parsed:
    """Return the observations of a report; entries that cannot be read are noted. Never raises."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        return (), (_note(path, error.strerror or "it cannot be read"),)
    if len(data) > MOST_BYTES:
        return (), (_note(path, f"it is larger than {MOST_BYTES // 1_000_000} MB"),)
    try:
        document: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        return (), (_note(path, "it is nested too deeply" if isinstance(error, RecursionError) else "it is not JSON"),)
    collector = ObservationCollector()
    problems = []
    for place, entry in _entries(document):
        try:
            members = entry if isinstance(entry, dict) else {}
            collector.add_sample(
                members.get("type"), members.get("metric"), members.get("unit", ""), members.get("value")
            )
        except BadObservation as error:
            problems.append(f"{place}: {error}")
    notes = [*collector.notes()]
    if problems:
        more = f"; and {len(problems) - _QUOTED} more" if len(problems) > _QUOTED else ""
        notes.append(_note(path, f"some entries could not be read: {'; '.join(problems[:_QUOTED])}{more}"))
    return collector.observations(), tuple(notes)


def _entries(document: object) -> Iterator[tuple[str, object]]:
    """Yield each entry of each test with its place."""
    for number, test in enumerate(document if isinstance(document, list) else [document]):
        for index, entry in enumerate(test if isinstance(test, list) else [test]):
            yield f"[{number}][{index}]", entry


def _note(path: Path, reason: str) -> Note:
    return Note(code="output_file", message=f"{path.name}: {reason}", trust=False)
