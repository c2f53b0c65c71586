"""Storing results, and giving them back as they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Final

from msgspec import Struct
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError
from sqlalchemy import Connection, Row, insert, select
from sqlalchemy.sql import Select

from harness.core.errors import EnvironmentProblem
from harness.core.result import RawLog, Result, make_writable
from harness.store.canonical_json import to_json_line
from harness.store.database import names
from harness.store.database.columns import key_text
from harness.store.database.derived import add_to_cells, add_to_commits
from harness.store.database.doubts import distrust_new
from harness.store.database.engine import Database
from harness.store.database.packing import pack_body, unpack_body
from harness.store.database.result_columns import ResultColumns, describe_result
from harness.store.database.samples import PackedSamples, attach_samples, pack_samples, samples_to_exclude
from harness.store.database.tables import CONTRASTS, METRICS, RESULTS, SAMPLES

_CHUNK: Final = 200


class NewResult(Struct, frozen=True):
    """Result that is to be stored.

    Attributes:
        result: The result.
        category: Category under which it was reported.
        logs: Output of its launches, which become artifacts.
    """

    result: Result
    category: str = ""
    logs: tuple[RawLog, ...] = ()


class Storing(StrEnum):
    """What became of a result that was to be stored."""

    CREATED = "created"
    KNOWN = "known"
    CONFLICT = "conflict"


class _Prepared(Struct, frozen=True):
    """Result with everything that its rows need but ids."""

    result: Result
    content: str
    columns: ResultColumns
    values: dict[str, object]
    samples: tuple[PackedSamples, ...]


def store_results(database: Database, results: Sequence[NewResult], *, now: float) -> tuple[Storing, ...]:
    """Store results in one transaction: all of them, or none.

    A result whose uid is known is left out: `KNOWN` if it is the same, `CONFLICT` if it is another; the first stays.

    Args:
        database: Where.
        results: The results; their order is that of the answer.
        now: Time of their receipt, Unix seconds.

    Raises:
        EnvironmentProblem: They cannot be stored; none of them is.
    """
    prepared = [_prepare(new, now) for new in results]
    logs = [database.artifacts.write_logs(new.logs) for new in results]
    with database.write() as connection:
        states, created = _choose_new(connection, prepared)
        if created:
            ids = _insert(connection, [prepared[place] for place in created])
            database.artifacts.attach(
                connection, {key: logs[place] for key, place in zip(ids, created, strict=True)}, now
            )
    return states


def load_stored(database: Database, uid: str) -> Result | None:
    """Return a result as it was stored, with every sample; None if there is none.

    Raises:
        EnvironmentProblem: The database cannot be read, or what it has is damaged.
    """
    with database.read() as connection:
        row = connection.execute(BODIES.where(RESULTS.c.uid == key_text(uid))).first()
        return next(load_rows(connection, [row], database.place)) if row is not None else None


def iterate_results(database: Database, *, chunk: int = 50) -> Iterator[Result]:
    """Yield all results, oldest first, without holding more than a few in memory.

    Results that are stored meanwhile may be among them. No transaction is open while the caller works.

    Raises:
        EnvironmentProblem: The database cannot be read, or what it has is damaged.
    """
    last: tuple[float, int] | None = None
    while True:
        query = BODIES.order_by(RESULTS.c.started, RESULTS.c.id).limit(chunk)
        if last is not None:
            started, identity = last
            later = (RESULTS.c.started > started) | ((RESULTS.c.started == started) & (RESULTS.c.id > identity))
            query = query.where(later)
        with database.read() as connection:
            rows = connection.execute(query).all()
            loaded = list(load_rows(connection, rows, database.place))
        if not rows:
            return
        last = (rows[-1].started, rows[-1].id)
        yield from loaded


BODIES: Final[Select[tuple[int, str, float, float, bytes]]] = select(
    RESULTS.c.id, RESULTS.c.uid, RESULTS.c.started, RESULTS.c.received, RESULTS.c.body
)

_PACKED: Final = (
    SAMPLES.c.side,
    SAMPLES.c.count,
    SAMPLES.c.encoding,
    SAMPLES.c.numbers,
    SAMPLES.c.launches,
)
"""Columns in the order of the fields of `PackedSamples`, behind the metric."""


def _prepare(new: NewResult, now: float) -> _Prepared:
    try:
        result, line = new.result, to_json_line(new.result)
    except PydanticSerializationError:  # surrogates, which are too rare to look for them in every text of every result
        result = make_writable(new.result)
        line = to_json_line(result)
    samples = pack_samples(result)
    columns = describe_result(result, now)
    content = sha256(line.encode()).hexdigest()
    body = pack_body(to_json_line(result, exclude=samples_to_exclude(samples)) if samples else line)
    own = {
        "content": content,
        "category": key_text(new.category),
        "received": now,
        "size_bytes": len(line),
        "body": body,
    }
    return _Prepared(result, content, columns, {**columns.values, **own}, samples)


def _choose_new(connection: Connection, prepared: Sequence[_Prepared]) -> tuple[tuple[Storing, ...], list[int]]:
    """Return what becomes of each result, and the places of those that are to be stored."""
    uids = [str(item.values["uid"]) for item in prepared]
    known: dict[str, str] = {}
    for start in range(0, len(uids), _CHUNK):
        query = select(RESULTS.c.uid, RESULTS.c.content).where(RESULTS.c.uid.in_(uids[start : start + _CHUNK]))
        known.update((uid, content) for uid, content in connection.execute(query))
    states: list[Storing] = []
    created: list[int] = []
    first: dict[str, Result] = {}
    for place, (uid, item) in enumerate(zip(uids, prepared, strict=True)):
        if uid not in known:
            known[uid], first[uid] = item.content, item.result
            states.append(Storing.CREATED)
            created.append(place)
        elif known[uid] == item.content or _is_stored(connection, item.result, first.get(uid)):
            states.append(Storing.KNOWN)
        else:
            states.append(Storing.CONFLICT)
    return tuple(states), created


def _is_stored(connection: Connection, result: Result, first: Result | None) -> bool:
    """Return whether the stored result with this uid is the same, read by this version.

    Its content was computed by the version that stored it; a later one writes fields that are new, with their defaults.
    """
    if first is not None:
        return first == result
    row = connection.execute(BODIES.where(RESULTS.c.uid == key_text(result.uid))).one()
    return to_json_line(next(load_rows(connection, [row], "of results"))) == to_json_line(result)


def _insert(connection: Connection, prepared: Sequence[_Prepared]) -> list[int]:
    """Insert results that are not there, with all that belongs to them; return their ids."""
    columns = [item.columns for item in prepared]
    resolved = names.resolve(connection, columns)
    rows = [{**item.values, **shared.places} for item, shared in zip(prepared, resolved, strict=True)]
    ids = names.insert_numbered(connection, RESULTS, rows)
    metrics: list[dict[str, object]] = []
    packed: list[PackedSamples] = []
    for key, item, shared in zip(ids, prepared, resolved, strict=True):
        packed.extend(part.shifted(len(metrics)) for part in item.samples)
        for name, metric in zip(shared.names, item.columns.metrics, strict=True):
            metrics.append({**metric, **shared.places, "result_id": key, "name_id": name})
    _insert_metrics(connection, metrics, packed)
    insert_contrasts(connection, list(zip(ids, columns, resolved, strict=True)))
    places = [shared.places for shared in resolved]
    add_to_cells(connection, [(key, at["cell_id"], item) for key, at, item in zip(ids, places, columns, strict=True)])
    add_to_commits(connection, list(zip(columns, resolved, strict=True)))
    distrust_new(connection, {key: item.result for key, item in zip(ids, prepared, strict=True)})
    return ids


def _insert_metrics(
    connection: Connection, metrics: Sequence[Mapping[str, object]], packed: Sequence[PackedSamples]
) -> None:
    """Insert metrics, and samples whose `metric` is a place among them."""
    if not metrics:
        return
    ids = names.insert_numbered(connection, METRICS, metrics)
    if packed:
        connection.execute(insert(SAMPLES), [part.describe(ids[part.metric]) for part in packed])


def insert_contrasts(connection: Connection, results: Sequence[tuple[int, ResultColumns, names.Resolved]]) -> None:
    """Insert the comparisons of those results that have one, given with their ids."""
    rows = [
        {
            **item.contrast.values,
            **shared.places,
            "result_id": key,
            "name_id": shared.contrast[0],
            "control_id": shared.contrast[1],
        }
        for key, item, shared in results
        if item.contrast is not None and shared.contrast is not None
    ]
    if rows:
        connection.execute(insert(CONTRASTS), rows)


def load_rows(
    connection: Connection, rows: Sequence[Row[tuple[int, str, float, float, bytes]]], place: str
) -> Iterator[Result]:
    """Yield results from their rows."""
    ids = [row.id for row in rows]
    query = (
        select(METRICS.c.result_id, METRICS.c.position, *_PACKED)
        .join(SAMPLES, SAMPLES.c.metric_id == METRICS.c.id)
        .where(METRICS.c.result_id.in_(ids))
    )
    samples: dict[int, list[PackedSamples]] = {}
    for result_id, position, *columns in connection.execute(query):
        samples.setdefault(result_id, []).append(PackedSamples(position, *columns))
    for row in rows:
        try:
            result = Result.model_validate_json(unpack_body(row.body))
            yield attach_samples(result, samples.get(row.id, []))
        except (ValidationError, ValueError) as error:
            raise EnvironmentProblem(
                f"the result {row.uid} in the database {place} cannot be read: {str(error).splitlines()[0]}",
                hint="it is damaged, or was written by a newer harness",
            ) from error
