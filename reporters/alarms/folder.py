"""The report of each alarm in a folder of its own: the page, its picture, and the same for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import ValidationError

from harness.core.alarm import AlarmEvent, AlarmReport
from harness.core.errors import ReporterFailed
from harness.core.values import replace_surrogates
from harness.files.atomic import write_atomically
from harness.store.canonical_json import to_pretty_json
from harness.store.tree import encode_segment
from reporters.alarms.page import PICTURE, render
from reporters.alarms.plot import picture

PAGE: Final = "alarm.md"
DOCUMENT: Final = "alarm.json"

_ORDER: Final = tuple(AlarmEvent)


def write(report: AlarmReport, folder: Path) -> Path:
    """Write the report of an alarm in place of an earlier one; a later one that is there already stays.

    Each file is replaced in one step and is whole at any time. The page comes last: what it shows is there.

    Args:
        report: The report.
        folder: Where the folders of alarms are; made if missing.

    Returns:
        The page, `<folder>/<identity>/alarm.md`.

    Raises:
        ReporterFailed: It cannot be written.
    """
    told = replace_surrogates(report)
    place = folder / encode_segment(report.identity)
    try:
        if not _is_newer(place / DOCUMENT, told.event):
            write_atomically(place / PICTURE, picture(told), durable=True)
            write_atomically(place / DOCUMENT, f"{to_pretty_json(told)}\n", durable=True)
            write_atomically(place / PAGE, render(told), durable=True)
    except OSError as error:
        raise ReporterFailed(
            f"cannot write the report of an alarm into {place}: {error.strerror or error}",
            hint="make room or permission there",
        ) from error
    return place / PAGE


def _is_newer(document: Path, event: AlarmEvent) -> bool:
    """Whether it tells what happened after this event: news that could not be delivered come late.

    Events follow one another, and clocks may be set back. What cannot be read is no newer report.
    """
    try:
        kept = AlarmReport.model_validate_json(document.read_bytes())
    except (FileNotFoundError, ValidationError):
        return False
    return _ORDER.index(kept.event) > _ORDER.index(event)
