"""What was measured of each commit, and the series that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.watch.store.database import Cell, Database
from harness.watch.store.records import ANY_METRIC, Entry, Placed, Point, Series

Key = tuple[str, str, str]
"""Benchmark, device and metric of a series."""

_FIELDS: Final = tuple(Point.model_fields)
_COLUMNS: Final = ", ".join(_FIELDS)
_PLACED: Final = (
    f"SELECT one.position, commit_id, other.position, {', '.join(f'points.{name}' for name in _FIELDS)} FROM points"  # noqa: S608 - all ours
    " JOIN commits AS one ON one.id = commit_id LEFT JOIN commits AS other ON other.id = points.control"
)


class Points:
    """The table of points. Each method is one transaction, or a part of the one that is open."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, entry: Entry, point: Point) -> None:
        """Keep a point of a commit; each of its rounds has one for each benchmark, device and metric."""
        values = point.model_dump(mode="json")
        self._database.change(
            f"INSERT OR REPLACE INTO points (commit_id, round, {_COLUMNS}) VALUES (?, ?{', ?' * len(_FIELDS)})",  # noqa: S608 - ours
            entry.commit.id,
            entry.rounds,
            *(values[name] for name in _FIELDS),
        )

    def series(self, benchmark: str, device: str, metric: str) -> Series:
        """Everything known of one metric of one benchmark on one device: also where nothing had to be measured."""
        where = "WHERE benchmark = ? AND device = ? AND metric IN (?, ?) ORDER BY one.position, number"
        found = self._placed(where, benchmark, device, metric, ANY_METRIC)
        return Series(benchmark=benchmark, device=device, metric=metric, points=tuple(found))

    def every_series(self) -> Sequence[Series]:
        """All series."""
        places = self._database.rows("SELECT DISTINCT benchmark, device FROM points ORDER BY 1, 2")
        return [self.series(*key) for place in places for key in self._keys(*map(str, place))]

    def keys(self, point: Point) -> Sequence[Key]:
        """Benchmark, device and metric of each series that a point is in."""
        if point.metric != ANY_METRIC:
            return [(point.benchmark, point.device, point.metric)]
        return self._keys(point.benchmark, point.device)

    def _keys(self, benchmark: str, device: str) -> Sequence[Key]:
        """Those of a benchmark on a device; one of no metric in particular while nothing was measured there."""
        query = "SELECT DISTINCT metric FROM points WHERE benchmark = ? AND device = ? ORDER BY 1"
        metrics = [str(metric) for (metric,) in self._database.rows(query, benchmark, device)]
        measured = [metric for metric in metrics if metric != ANY_METRIC]
        return [(benchmark, device, metric) for metric in measured or metrics]

    def of_commit(self, commit: str) -> Sequence[Point]:
        """What was measured of one commit."""
        return [placed.point for placed in self._placed("WHERE commit_id = ? ORDER BY number", commit)]

    def _placed(self, which: str, *values: Cell) -> Sequence[Placed]:
        rows = self._database.rows(f"{_PLACED} {which}", *values)
        return [
            Placed.model_validate(
                {
                    "position": position,
                    "commit": commit,
                    "control_position": control_position,
                    "point": dict(zip(_FIELDS, cells, strict=True)),
                }
            )
            for position, commit, control_position, *cells in rows
        ]
