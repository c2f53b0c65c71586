"""Reports of alarms, as the database keeps them: columns that lists need, and the report in two parts.

Its series may have thousands of points, and lists show none of them.
"""

from __future__ import annotations

import zlib
from typing import Final

from msgspec import Struct

from harness.core.alarm import AlarmReport
from harness.core.series import SeriesPoint
from harness.core.values import Value
from harness.store.history import compute_cell_key

_LEVEL: Final = 6
_SERIES: Final = "series"


class _Points(Value):
    """The part of a report that is kept apart."""

    series: tuple[SeriesPoint, ...] = ()


class AlarmColumns(Struct, frozen=True):
    """Row of an alarm.

    Attributes:
        values: Values of the columns of `ALARMS`.
        commits: Ids of the commits in question and of the culprits: rows of `ALARM_COMMITS`.
    """

    values: dict[str, object]
    commits: tuple[str, ...]


def describe_alarm(report: AlarmReport) -> AlarmColumns:
    """Return the row of a report, which has no surrogates (`replace_surrogates`)."""
    alarm, change = report.alarm, report.alarm.change
    candidates = tuple(candidate.commit.id for candidate in alarm.candidates)
    culprits = tuple(commit for culprit in alarm.culprits for commit in culprit.commits)
    return AlarmColumns(
        values={
            "identity": alarm.identity,
            "cell_key": compute_cell_key(change.benchmark, change.device),
            "title": change.title,
            "device": report.device_name,
            "stage": alarm.stage.value,
            "event": report.event.value,
            "worse": change.is_worse,
            "proven": alarm.verification is not None and alarm.verification.confirmed,
            "log_ratio": alarm.size.effect.log_ratio,
            "opened": alarm.opened,
            "updated": alarm.updated,
            "time": _time_of(report, alarm.culprits[0].commits[-1] if alarm.culprits else change.first_with),
            "culprit": alarm.culprits[-1].commits[-1] if alarm.culprits else "",
            "report": _pack(report.model_dump_json(exclude={_SERIES})),
            "series": _pack(report.model_dump_json(include={_SERIES})),
        },
        commits=tuple(dict.fromkeys((*candidates, change.first_with, *culprits))),
    )


def unpack_report(report: bytes, series: bytes | None = None) -> AlarmReport:
    """Return a report from its columns; without the second it has no series."""
    without = AlarmReport.model_validate_json(zlib.decompress(report))
    if series is None:
        return without
    points = _Points.model_validate_json(zlib.decompress(series))
    return without.model_copy(update={_SERIES: points.series})


def _time_of(report: AlarmReport, commit: str) -> float:
    """Return the time of a commit, else that at which the alarm was opened."""
    known = (candidate.commit for candidate in report.alarm.candidates if candidate.commit.id == commit)
    times = (candidate.time for candidate in known if candidate.time is not None)
    return float(next(times, report.alarm.opened))


def _pack(json: str) -> bytes:
    return zlib.compress(json.encode(), _LEVEL)
