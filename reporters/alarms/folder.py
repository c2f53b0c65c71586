"""Reports of alarms as files: in the folder of each alarm the page, its picture, and the same for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec import Struct
from pydantic import BaseModel, ValidationError

from harness.core.alarm import AlarmEvent, AlarmReport
from harness.core.alarm_message import AlarmMessage
from harness.core.errors import ReporterFailed
from harness.core.values import replace_surrogates
from harness.files.atomic import write_atomically
from harness.store.canonical_json import to_pretty_json
from harness.store.tree import encode_segment
from reporters.alarms.group_page import render_group
from reporters.alarms.page import GROUP_PAGE, PICTURE, render
from reporters.alarms.plot import picture

PAGE: Final = "alarm.md"
DOCUMENT: Final = "alarm.json"

_ORDER: Final = tuple(AlarmEvent)


class AlarmFolder(Struct, frozen=True):
    """Writes the report of each alarm into a folder of its own (`AlarmReporter`).

    Attributes:
        folder: Parent of the folders of alarms; made if missing.
    """

    folder: Path
    name: str = "report"

    def report(self, report: AlarmReport) -> str:
        """Write a report in place of an earlier one; a later one that is there already stays.

        Each file is replaced in one step and is whole at any time. The page comes last: what it shows is there.

        Returns:
            The page, `<folder>/<identity>/alarm.md`.

        Raises:
            ReporterFailed: It cannot be written.
        """
        report = replace_surrogates(report)
        place = self.folder / encode_segment(report.alarm.identity)
        try:
            if not _has_later_event(place / DOCUMENT, report.event):
                write_atomically(place / PICTURE, picture(report), durable=True)
                write_atomically(place / DOCUMENT, f"{to_pretty_json(report)}\n", durable=True)
                write_atomically(place / PAGE, render(report), durable=True)
        except OSError as error:
            raise ReporterFailed(
                f"cannot write the report of an alarm into {place}: {error.strerror or error}",
                hint="make room or permission there",
            ) from error
        return str(place / PAGE)

    def group_place(self, group: str) -> str:
        """Return the path of the page of all alarms with one cause: in the folder of the oldest."""
        return f"{self.folder.name}/{encode_segment(group)}/{GROUP_PAGE}"

    def report_group(self, message: AlarmMessage) -> str:
        """Write the page of all alarms with one cause in place of an earlier one.

        Raises:
            ReporterFailed: It cannot be written.
        """
        file = self.folder / encode_segment(message.group) / GROUP_PAGE
        try:
            write_atomically(file, render_group(replace_surrogates(message)), durable=True)
        except OSError as error:
            raise ReporterFailed(
                f"cannot write the page of alarms {file}: {error.strerror or error}",
                hint="make room or permission there",
            ) from error
        return str(file)


class _WrittenReport(BaseModel):
    """The part of a written report, of whatever version, that says how late it is."""

    event: AlarmEvent


def _has_later_event(document: Path, event: AlarmEvent) -> bool:
    """Return whether a written report is about a later event: delayed notifications come late.

    Events follow one another, and clocks may be set back. A file that cannot be read is no later report.
    """
    try:
        written = _WrittenReport.model_validate_json(document.read_bytes())
    except (FileNotFoundError, ValidationError):
        return False
    return _ORDER.index(written.event) > _ORDER.index(event)
