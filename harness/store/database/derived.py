"""Columns that repeat the newest of many rows: the latest results of a cell, the last measurement of a commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, select

from harness.store.database.result_columns import CommitName, ResultColumns, commit_name
from harness.store.database.tables import CELLS, COMMITS, RESULTS

_CHUNK: Final = 500


@dataclass(slots=True)
class _Newest:
    """Newest results of a cell, each as start and id."""

    latest: tuple[float, int] | None = None
    good: tuple[float, int] | None = None
    results: int = 0

    def add(self, started: float, key: int, *, is_ok: bool) -> None:
        """Take a result into account; of equal starts the one that was stored last is the newest."""
        self.results += 1
        self.latest = max(self.latest or (started, key), (started, key))
        if is_ok:
            self.good = max(self.good or (started, key), (started, key))


def add_to_cells(connection: Connection, results: Sequence[tuple[int, int, ResultColumns]]) -> None:
    """Count new results in their cells: given are the id, the id of the cell and the columns of each."""
    newest = _read_newest(connection, {cell for _, cell, _ in results})
    for key, cell, columns in results:
        newest[cell].add(columns.measured, key, is_ok=columns.is_ok)
    connection.execute(
        CELLS.update()
        .where(CELLS.c.id == bindparam("cell"))
        .values(latest_result_id=bindparam("latest"), latest_good_id=bindparam("good"), results=bindparam("total")),
        [
            {
                "cell": cell,
                "latest": item.latest[1] if item.latest is not None else None,
                "good": item.good[1] if item.good is not None else None,
                "total": item.results,
            }
            for cell, item in newest.items()
        ],
    )


def add_to_commits(connection: Connection, results: Iterable[ResultColumns], commits: Mapping[CommitName, int]) -> None:
    """Move the last measurement of commits forward, also of those that were controls."""
    measured: dict[int, float] = {}
    for columns in results:
        control = columns.contrast.control if columns.contrast is not None else None
        for build in (columns.build, control):
            if build is not None:
                key = commits[commit_name(build)]
                measured[key] = max(measured.get(key, columns.measured), columns.measured)
    if not measured:
        return
    is_older = COMMITS.c.measured.is_(None) | (COMMITS.c.measured < bindparam("start"))
    connection.execute(
        COMMITS.update().where(COMMITS.c.id == bindparam("key"), is_older).values(measured=bindparam("start")),
        [{"key": key, "start": start} for key, start in measured.items()],
    )


def _read_newest(connection: Connection, cells: Iterable[int]) -> dict[int, _Newest]:
    latest, good = RESULTS.alias("latest"), RESULTS.alias("good")
    newest: dict[int, _Newest] = {}
    ordered = sorted(cells)
    for start in range(0, len(ordered), _CHUNK):
        query = (
            select(CELLS.c.id, CELLS.c.results, latest.c.id, latest.c.started, good.c.id, good.c.started)
            .outerjoin(latest, latest.c.id == CELLS.c.latest_result_id)
            .outerjoin(good, good.c.id == CELLS.c.latest_good_id)
            .where(CELLS.c.id.in_(ordered[start : start + _CHUNK]))
        )
        for cell, count, latest_id, latest_start, good_id, good_start in connection.execute(query):
            newest[cell] = _Newest(
                latest=(latest_start, latest_id) if latest_id is not None else None,
                good=(good_start, good_id) if good_id is not None else None,
                results=count,
            )
    return newest
