"""Removal of what is old: results, their logs or their samples, and files that belong to nothing any more."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct
from sqlalchemy import Connection, Select, delete, exists, func, select, update

from harness.core.alarm import AlarmStage
from harness.core.result import without_samples
from harness.store.canonical_json import to_json_line
from harness.store.database.engine import Database
from harness.store.database.packing import pack_body
from harness.store.database.tables import (
    ALARM_COMMITS,
    ALARMS,
    ARTIFACTS,
    ARTIFACTS_OF_RESULTS,
    CELLS,
    COMMITS,
    CONTRASTS,
    METRICS,
    RESULTS,
    SAMPLES,
)
from harness.store.database.writing import load_stored

_CHUNK: Final = 200
"""Results of one transaction: others can store in between."""

_ORPHAN: Final = ".orphan"
"""Ending of a file that is about to be removed."""


class RetentionKind(StrEnum):
    """What is removed of results that are old."""

    RESULTS = "results"
    LOGS = "logs"
    SAMPLES = "samples"


class RetentionRule(Struct, frozen=True):
    """Rule for what is removed.

    Attributes:
        kind: What is removed: whole results, or only their logs or samples.
        before: Only of results whose measurement began before this, Unix seconds.
        keep: Newest results of each cell that stay as they are; at least 1.
    """

    kind: RetentionKind
    before: float
    keep: int = 1


class Removal(Struct, frozen=True):
    """What a rule removes, or removed.

    Attributes:
        uids: The results that it is about, oldest first.
        protected: Results that are old enough, and stay because their cell has an open alarm.
        files: Files that belong to no result any more.
        file_bytes: Size of these files.
    """

    uids: tuple[str, ...]
    protected: int = 0
    files: int = 0
    file_bytes: int = 0


def plan_removal(database: Database, rule: RetentionRule) -> Removal:
    """Return what a rule would remove. Changes nothing.

    A cell keeps its newest results, and the newest that is ok. A cell with an open alarm keeps everything.

    Raises:
        EnvironmentProblem: The database cannot be read.
    """
    with database.read() as connection:
        old = connection.execute(_old(rule)).all()
        open_cells = select(ALARMS.c.cell_key).where(ALARMS.c.stage != AlarmStage.CLOSED.value)
        guarded = set(connection.execute(select(CELLS.c.id).where(CELLS.c.key.in_(open_cells))).scalars())
    uids = tuple(row.uid for row in old if row.cell_id not in guarded)
    return Removal(uids, protected=len(old) - len(uids))


def remove(database: Database, rule: RetentionRule) -> Removal:
    """Remove what a rule says, then files that belong to nothing. An interrupted removal can be made again.

    Raises:
        EnvironmentProblem: The database cannot be written.
    """
    plan = plan_removal(database, rule)
    for start in range(0, len(plan.uids), _CHUNK):
        _REMOVERS[rule.kind](database, plan.uids[start : start + _CHUNK])
    files, size = sweep_artifacts(database)
    return Removal(plan.uids, plan.protected, files, size)


def sweep_artifacts(database: Database) -> tuple[int, int]:
    """Remove files that belong to no result; return their number and their size in bytes.

    Raises:
        EnvironmentProblem: The database cannot be written.
    """
    is_used = exists().where(ARTIFACTS_OF_RESULTS.c.digest == ARTIFACTS.c.digest)
    with database.write() as connection:
        orphans = connection.execute(select(ARTIFACTS.c.digest, ARTIFACTS.c.size_bytes).where(~is_used)).all()
        connection.execute(delete(ARTIFACTS).where(~is_used))
    moved = {digest: _set_aside(database.artifacts.locate(digest)) for digest, _ in orphans}
    with database.read() as connection:  # whoever stores the same content meanwhile has seen the file
        again = {digest for digest in moved if _is_known(connection, digest)}
    for digest, aside in moved.items():
        with contextlib.suppress(OSError):
            if aside is not None and digest in again:
                aside.rename(database.artifacts.locate(digest))
            elif aside is not None:
                aside.unlink()
    gone = [size for digest, size in orphans if digest not in again]
    return len(gone), sum(gone)


def _old(rule: RetentionRule) -> Select[tuple[str, int]]:
    """Return the query of results that are old enough, and none that its cell keeps."""
    newest_first = func.row_number().over(
        partition_by=RESULTS.c.cell_id, order_by=(RESULTS.c.started.desc(), RESULTS.c.id.desc())
    )
    ranked = select(RESULTS.c.id, newest_first.label("place")).subquery()
    is_latest = exists().where((CELLS.c.latest_good_id == RESULTS.c.id) | (CELLS.c.latest_result_id == RESULTS.c.id))
    query = (
        select(RESULTS.c.uid, RESULTS.c.cell_id)
        .join(ranked, ranked.c.id == RESULTS.c.id)
        .where(RESULTS.c.started < rule.before, ranked.c.place > rule.keep, ~is_latest)
        .order_by(RESULTS.c.started, RESULTS.c.id)
    )
    if rule.kind is RetentionKind.LOGS:
        return query.where(exists().where(ARTIFACTS_OF_RESULTS.c.result_id == RESULTS.c.id))
    if rule.kind is RetentionKind.SAMPLES:
        return query.where(RESULTS.c.id.in_(select(METRICS.c.result_id).join(SAMPLES)))
    return query


def _remove_results(database: Database, uids: Sequence[str]) -> None:
    with database.write() as connection:
        ids = select(RESULTS.c.id).where(RESULTS.c.uid.in_(uids))
        cells = connection.execute(select(RESULTS.c.cell_id).distinct().where(RESULTS.c.uid.in_(uids))).scalars().all()
        metrics = select(METRICS.c.id).where(METRICS.c.result_id.in_(ids))
        connection.execute(delete(SAMPLES).where(SAMPLES.c.metric_id.in_(metrics)))
        for table in (METRICS, CONTRASTS, ARTIFACTS_OF_RESULTS):
            connection.execute(delete(table).where(table.c.result_id.in_(ids)))
        connection.execute(delete(RESULTS).where(RESULTS.c.uid.in_(uids)))
        count = select(func.count()).where(RESULTS.c.cell_id == CELLS.c.id).scalar_subquery()
        connection.execute(update(CELLS).where(CELLS.c.id.in_(cells)).values(results=count))
        _remove_commits(connection)


def _remove_commits(connection: Connection) -> None:
    """Remove commits that nothing names any more."""
    named = [RESULTS.c.commit_id, METRICS.c.commit_id, CONTRASTS.c.commit_id, CONTRASTS.c.control_id]
    is_named = (exists().where(column == COMMITS.c.id) for column in named)
    is_suspected = exists().where(ALARM_COMMITS.c.commit == COMMITS.c.sha)
    connection.execute(delete(COMMITS).where(~is_suspected, *(~condition for condition in is_named)))


def _remove_logs(database: Database, uids: Sequence[str]) -> None:
    ids = select(RESULTS.c.id).where(RESULTS.c.uid.in_(uids))
    with database.write() as connection:
        connection.execute(delete(ARTIFACTS_OF_RESULTS).where(ARTIFACTS_OF_RESULTS.c.result_id.in_(ids)))


def _remove_samples(database: Database, uids: Sequence[str]) -> None:
    """Remove samples; statistics, intervals and pairs stay, and the digest by which the result is known."""
    bodies = dict(_bodies_without_samples(database, uids))
    with database.write() as connection:
        for uid, body in bodies.items():
            connection.execute(update(RESULTS).where(RESULTS.c.uid == uid).values(body=body))
        ids = select(RESULTS.c.id).where(RESULTS.c.uid.in_(list(bodies)))
        metrics = select(METRICS.c.id).where(METRICS.c.result_id.in_(ids))
        connection.execute(delete(SAMPLES).where(SAMPLES.c.metric_id.in_(metrics)))


def _bodies_without_samples(database: Database, uids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    for uid in uids:
        result = load_stored(database, uid)
        if result is not None:
            yield uid, pack_body(to_json_line(without_samples(result)))


_REMOVERS: Final = {
    RetentionKind.RESULTS: _remove_results,
    RetentionKind.LOGS: _remove_logs,
    RetentionKind.SAMPLES: _remove_samples,
}


def _set_aside(file: Path) -> Path | None:
    aside = file.with_name(file.name + _ORPHAN)
    try:
        return file.rename(aside)
    except OSError:  # it is gone already, or cannot be removed: `check` names it
        return None


def _is_known(connection: Connection, digest: str) -> bool:
    return connection.execute(select(ARTIFACTS.c.digest).where(ARTIFACTS.c.digest == digest)).first() is not None
