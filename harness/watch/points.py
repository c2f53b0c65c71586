"""What was measured of each commit, and the series that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.watch.database import Cell, Database
from harness.watch.records import Entry, Placed, Point, Series

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
        """Everything measured of one metric of one benchmark on one device."""
        where = "WHERE benchmark = ? AND device = ? AND metric = ? ORDER BY one.position, number"
        found = self._placed(where, benchmark, device, metric)
        return Series(benchmark=benchmark, device=device, metric=metric, points=tuple(found))

    def every_series(self) -> Sequence[Series]:
        """All series."""
        keys = self._database.rows("SELECT DISTINCT benchmark, device, metric FROM points ORDER BY 1, 2, 3")
        return [self.series(*map(str, key)) for key in keys]

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
