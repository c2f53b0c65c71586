"""Making again what the tables repeat of results, from the results themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, bindparam, delete

from harness.core.result import Result
from harness.store.database.derived import recount_cells, recount_commits
from harness.store.database.doubts import distrust_stored
from harness.store.database.engine import Database
from harness.store.database.names import resolve
from harness.store.database.result_columns import describe_result
from harness.store.database.tables import CONTRASTS, METRICS, RESULTS
from harness.store.database.writing import BODIES, insert_contrasts, load_rows

_CHUNK: Final = 200


def rebuild_columns(database: Database) -> int:
    """Compute all columns again that repeat what is in results; return the number of results.

    For a migration that adds such columns, and after a rule changed by which they are computed. Others may read and
    write meanwhile: each part is one transaction, and doing it again changes nothing.

    Raises:
        EnvironmentProblem: The database cannot be written, or a result is damaged.
    """
    last, count = -1, 0
    while True:
        with database.write() as connection:
            query = BODIES.where(RESULTS.c.id > last).order_by(RESULTS.c.id)
            rows = connection.execute(query.limit(_CHUNK)).all()
            if not rows:
                recount_cells(connection)
                recount_commits(connection)
                distrust_stored(connection)
                return count
            results = list(load_rows(connection, rows, database.place))
            _rebuild(connection, [(row.id, row.received) for row in rows], results)
        last, count = rows[-1].id, count + len(rows)


def _rebuild(connection: Connection, known: Sequence[tuple[int, float]], results: Sequence[Result]) -> None:
    columns = [describe_result(result, received) for result, (_, received) in zip(results, known, strict=True)]
    resolved = resolve(connection, columns)
    ids = [key for key, _ in known]
    rows = [
        {**{name: value for name, value in item.values.items() if name != "uid"}, **shared.places, "key": key}
        for key, item, shared in zip(ids, columns, resolved, strict=True)
    ]
    connection.execute(RESULTS.update().where(RESULTS.c.id == bindparam("key")), rows)
    metrics = [
        {**metric, **shared.places, "name_id": name, "key": key, "place": metric["position"]}
        for key, item, shared in zip(ids, columns, resolved, strict=True)
        for metric, name in zip(item.metrics, shared.names, strict=True)
    ]
    if metrics:
        place = (METRICS.c.result_id == bindparam("key")) & (METRICS.c.position == bindparam("place"))
        connection.execute(METRICS.update().where(place), metrics)
    connection.execute(delete(CONTRASTS).where(CONTRASTS.c.result_id.in_(ids)))
    insert_contrasts(connection, list(zip(ids, columns, resolved, strict=True)))
