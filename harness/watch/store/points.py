"""Points of the series of a state."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, Json, NonNegativeInt, PositiveFloat

from harness.core.device import ON_PROCESSOR
from harness.core.device_doubt import DeviceDoubt
from harness.core.effect import Effect
from harness.core.metric import Direction, MetricInfo
from harness.core.series import FigureEffect, Series, SeriesKey, SeriesPoint
from harness.core.verdict import OutputVerdict, Verdict
from harness.watch.store.commits import BacklogEntry, CommitStatus
from harness.watch.store.database import ColumnValue, StateDatabase

_NOT_MEASURED: Final = ""
"""Column `metric` of a point of no metric."""


class _Row(BaseModel):
    """Columns of a point, with the places of its commit and of its control in the history."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    commit_id: str
    place: int
    control: str
    control_place: int | None
    benchmark: str
    title: str
    device: str
    metric: str
    unit: str
    direction: Direction
    verdict: Verdict
    log_ratio: float | None
    low_log_ratio: float | None
    high_log_ratio: float | None
    standard_error: PositiveFloat | None
    pairs: NonNegativeInt
    result: str
    figures: Json[tuple[tuple[float, float | None], ...]]
    outputs: OutputVerdict | None
    last_good_checks: Json[dict[str, tuple[float, ...]]]
    doubt: str

    def point(self) -> SeriesPoint:
        measured = MetricInfo(name=self.metric, unit=self.unit, direction=self.direction)
        effect = None
        if self.log_ratio is not None:
            ends = {"low_log_ratio": self.low_log_ratio, "high_log_ratio": self.high_log_ratio}
            effect = Effect(log_ratio=self.log_ratio, **ends)
        return SeriesPoint(
            benchmark=self.benchmark,
            title=self.title,
            device=self.device,
            metric=None if self.metric == _NOT_MEASURED else measured,
            commit=self.commit_id,
            order=self.place,
            control=self.control,
            control_order=self.control_place,
            verdict=self.verdict,
            effect=effect,
            standard_error=self.standard_error,
            pairs=self.pairs,
            result=self.result,
            figures=tuple(FigureEffect(log_ratio=ratio, standard_error=error) for ratio, error in self.figures),
            outputs=self.outputs,
            last_good_checks=self.last_good_checks,
            doubt=self.doubt,
        )


_JOINED: Final = {"place": "treatment.position", "control_place": "other.position"}
_QUERY: Final = (
    f"SELECT points.number, {', '.join(_JOINED.get(name, f'points.{name}') for name in _Row.model_fields)} FROM points"  # noqa: S608 - ours
    " JOIN commits AS treatment ON treatment.id = commit_id LEFT JOIN commits AS other ON other.id = points.control"
)

_IN_SERIES: Final = (
    f"WHERE benchmark = ? AND device = ? AND metric IN (?, ?) AND treatment.status <> '{CommitStatus.VANISHED}'"
    " AND points.doubt = ''"
)


class _Checks(BaseModel):
    """Column of a point that tells of its devices."""

    last_good_checks: Json[dict[str, tuple[float, ...]]]


class PointTable:
    """Table of points. Each method is one transaction, or a part of the one that is open."""

    def __init__(self, database: StateDatabase) -> None:
        self._database = database

    def add(self, entry: BacklogEntry, point: SeriesPoint) -> None:
        """Store a point of a commit; each of its rounds has one for each benchmark, device and metric.

        The places in the history are not stored: those of the backlog count when the point is read.
        """
        metric = point.metric or MetricInfo(name=_NOT_MEASURED)
        effect = point.effect
        values: dict[str, ColumnValue] = {
            "commit_id": entry.commit.id,
            "round": entry.rounds,
            "benchmark": point.benchmark,
            "title": point.title,
            "device": point.device,
            "control": point.control,
            "metric": metric.name,
            "unit": metric.unit,
            "direction": metric.direction,
            "verdict": point.verdict,
            "log_ratio": effect.log_ratio if effect else None,
            "low_log_ratio": effect.low_log_ratio if effect else None,
            "high_log_ratio": effect.high_log_ratio if effect else None,
            "standard_error": point.standard_error,
            "pairs": point.pairs,
            "result": point.result,
            "figures": json.dumps([(figure.log_ratio, figure.standard_error) for figure in point.figures]),
            "outputs": point.outputs,
            "last_good_checks": json.dumps(point.last_good_checks),
            "doubt": point.doubt,
        }
        marks = ", ".join("?" * len(values))
        statement = f"INSERT OR REPLACE INTO points ({', '.join(values)}) VALUES ({marks})"  # noqa: S608 - ours
        self._database.change(statement, *values.values())

    def series(self, key: SeriesKey) -> Series:
        """Return everything known of one metric of one benchmark on one device: also where nothing was measured.

        Commits that vanished from the history are left out, and points in doubt.
        """
        where = f"{_IN_SERIES} ORDER BY treatment.position, number"
        points = self._points(where, key.benchmark, key.device, key.metric, _NOT_MEASURED)
        return Series(key=key, points=tuple(points))

    def stored_after(self, key: SeriesKey, number: int) -> Sequence[tuple[int, SeriesPoint]]:
        """Return the points of a series that were stored after one, with their numbers, in the order of the history.

        Args:
            key: Identity of the series.
            number: Number of the point; 0 is before all.
        """
        where = f"{_IN_SERIES} AND number > ? ORDER BY treatment.position, number"
        return self._numbered_points(where, key.benchmark, key.device, key.metric, _NOT_MEASURED, number)

    def load_progress(self, key: SeriesKey) -> tuple[int, str] | None:
        """Return the number of the last point that was judged in a series, and the progress of its reader."""
        query = "SELECT number, progress FROM judgements WHERE benchmark = ? AND device = ? AND metric = ?"
        rows = self._database.rows(query, key.benchmark, key.device, key.metric)
        return (int(str(rows[0][0])), str(rows[0][1])) if rows else None

    def save_progress(self, key: SeriesKey, number: int, progress: str) -> None:
        """Store how far a series was judged."""
        statement = "INSERT OR REPLACE INTO judgements VALUES (?, ?, ?, ?, ?)"
        self._database.change(statement, key.benchmark, key.device, key.metric, number, progress)

    def forget_progress(self) -> None:
        """Have every series judged from its beginning."""
        self._database.change("DELETE FROM judgements")

    def apply_doubts(self, doubts: Sequence[DeviceDoubt]) -> tuple[Mapping[str, str], Sequence[str]]:
        """Leave points out of series that doubts concern, and take those in that none concerns any more.

        Returns:
            The commits of the points that were left out, with the reason, and those of the points that were taken in.
        """
        left_out: dict[str, str] = {}
        taken_in: dict[str, None] = {}
        query = "SELECT number, commit_id, last_good_checks, doubt FROM points WHERE last_good_checks <> '{}'"
        for number, commit, text, known in self._database.rows(query):
            checks = self._database.validate(_Checks, {"last_good_checks": text}).last_good_checks
            reason = next((doubt.note.message for doubt in doubts if doubt.is_among(checks)), "")
            if bool(reason) == bool(known):
                continue
            self._database.change("UPDATE points SET doubt = ? WHERE number = ?", reason, number)
            if reason:
                left_out[str(commit)] = reason
            else:
                taken_in[str(commit)] = None
        return left_out, list(taken_in)

    def every_series(self) -> Sequence[Series]:
        """Return all series."""
        places = self._database.rows("SELECT DISTINCT benchmark, device FROM points ORDER BY 1, 2")
        return [self.series(key) for place in places for key in self._keys_at(*map(str, place))]

    def has_moved(self, device: str) -> bool:
        """Return whether a device has no points yet, and its machine has some on another or an unknown processor."""
        machine, mark, _ = device.partition(ON_PROCESSOR)
        earlier = f"{machine}{ON_PROCESSOR}"
        others = self._database.rows(
            "SELECT 1 FROM points WHERE device = ? OR substr(device, 1, ?) = ? LIMIT 1", machine, len(earlier), earlier
        )
        own = self._database.rows("SELECT 1 FROM points WHERE device = ? LIMIT 1", device)
        return bool(mark and others and not own)

    def keys(self, point: SeriesPoint) -> Sequence[SeriesKey]:
        """Return the keys of the series that a point is in."""
        if point.metric is not None:
            return [SeriesKey(benchmark=point.benchmark, device=point.device, metric=point.metric.name)]
        return self._keys_at(point.benchmark, point.device)

    def of_commit(self, commit: str) -> Sequence[SeriesPoint]:
        """Return the points of one commit."""
        return self._points("WHERE commit_id = ? ORDER BY number", commit)

    def _keys_at(self, benchmark: str, device: str) -> Sequence[SeriesKey]:
        """Return the keys of a benchmark on a device; one of no metric in particular while nothing was measured."""
        query = "SELECT DISTINCT metric FROM points WHERE benchmark = ? AND device = ? ORDER BY 1"
        metrics = [str(metric) for (metric,) in self._database.rows(query, benchmark, device)]
        measured = [metric for metric in metrics if metric != _NOT_MEASURED]
        return [SeriesKey(benchmark=benchmark, device=device, metric=metric) for metric in measured or metrics]

    def _points(self, where: str, *values: ColumnValue) -> Sequence[SeriesPoint]:
        return [point for _, point in self._numbered_points(where, *values)]

    def _numbered_points(self, where: str, *values: ColumnValue) -> Sequence[tuple[int, SeriesPoint]]:
        rows = self._database.rows(f"{_QUERY} {where}", *values)
        return [
            (int(str(number)), self._database.validate(_Row, dict(zip(_Row.model_fields, row, strict=True))).point())
            for number, *row in rows
        ]
