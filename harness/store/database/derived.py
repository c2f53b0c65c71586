"""Columns that repeat the newest of many rows: the latest results of a cell, the last measurement of a commit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, case, func, select

from harness.core.outcome import Outcome
from harness.store.database.names import Resolved
from harness.store.database.result_columns import ResultColumns
from harness.store.database.tables import CELLS, COMMITS, CONTRASTS, RESULTS

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


def add_to_commits(connection: Connection, results: Iterable[tuple[ResultColumns, Resolved]]) -> None:
    """Move the last measurement of commits forward, also of those that were controls."""
    measured: dict[int, float] = {}
    for columns, shared in results:
        control = shared.contrast[1] if shared.contrast is not None else None
        for key in (shared.places["commit_id"], control):
            if key is not None:
                measured[key] = max(measured.get(key, columns.measured), columns.measured)
    if not measured:
        return
    is_older = COMMITS.c.measured.is_(None) | (COMMITS.c.measured < bindparam("start"))
    connection.execute(
        COMMITS.update().where(COMMITS.c.id == bindparam("key"), is_older).values(measured=bindparam("start")),
        [{"key": key, "start": start} for key, start in measured.items()],
    )


def recount_cells(connection: Connection, cells: Collection[int] | None = None) -> None:
    """Count the results of cells again and find their newest, after results were removed or changed.

    Args:
        connection: A connection that writes.
        cells: Ids of the cells; None for all.
    """
    mine = RESULTS.c.cell_id == CELLS.c.id
    newest = select(RESULTS.c.id).where(mine).order_by(RESULTS.c.started.desc(), RESULTS.c.id.desc()).limit(1)
    change = CELLS.update().values(
        results=select(func.count()).select_from(RESULTS).where(mine).scalar_subquery(),
        latest_result_id=newest.scalar_subquery(),
        latest_good_id=newest.where(RESULTS.c.outcome == Outcome.OK.value).scalar_subquery(),
    )
    for part in _parts(cells):
        connection.execute(change if part is None else change.where(CELLS.c.id.in_(part)))


def recount_commits(connection: Connection, commits: Collection[int] | None = None) -> None:
    """Find the last measurement of commits again, after results were removed or changed; None is all commits."""
    own = select(func.max(RESULTS.c.started)).where(RESULTS.c.commit_id == COMMITS.c.id).scalar_subquery()
    control = select(func.max(CONTRASTS.c.started)).where(CONTRASTS.c.control_id == COMMITS.c.id).scalar_subquery()
    change = COMMITS.update().values(measured=case((control > func.coalesce(own, control - 1), control), else_=own))
    for part in _parts(commits):
        connection.execute(change if part is None else change.where(COMMITS.c.id.in_(part)))


def _parts(ids: Collection[int] | None) -> Iterable[list[int] | None]:
    if ids is None:
        return [None]
    ordered = sorted(ids)
    return [ordered[start : start + _CHUNK] for start in range(0, len(ordered), _CHUNK)]


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
