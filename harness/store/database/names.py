"""Rows that many results share: commits, devices, benchmarks, cells and names of metrics, and their ids."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Final, TypedDict, TypeVar

from msgspec import Struct
from sqlalchemy import Connection, Table, func, select, tuple_
from sqlalchemy.dialects.postgresql import insert as insert_postgresql
from sqlalchemy.dialects.sqlite import insert as insert_sqlite

from harness.core.build import BuildInfo
from harness.store.database.columns import bounded_float, shown_text
from harness.store.database.result_columns import CommitKey, MetricName, ResultColumns, commit_key
from harness.store.database.tables import BENCHMARKS, CELLS, COMMITS, DEVICES, METRIC_NAMES

_CHUNK: Final = 200
"""Keys of a query: SQLite allows 32,766 variables, and its expression tree a depth of 1,000."""


class Places(TypedDict):
    """Columns that metrics and comparisons repeat of their result."""

    cell_id: int
    commit_id: int | None


class Resolved(Struct, frozen=True):
    """Ids of the rows that a result shares with others.

    Attributes:
        places: Its cell and its commit.
        names: Name of each metric.
        contrast: Name of the metric that was compared, and the control's commit; None without a comparison.
    """

    places: Places
    names: tuple[int, ...]
    contrast: tuple[int, int] | None


Key = TypeVar("Key", bound=Hashable)


def resolve(connection: Connection, results: Sequence[ResultColumns]) -> list[Resolved]:
    """Return the ids of everything that results share; what is new is stored."""
    contrasts = [columns.contrast for columns in results if columns.contrast is not None]
    builds = [columns.build for columns in results if columns.build is not None]
    commits = ensure_commits(connection, [*builds, *(contrast.control for contrast in contrasts)])
    devices = ensure_devices(connection, [columns.device for columns in results])
    benchmarks = ensure_benchmarks(connection, [columns.benchmark for columns in results])
    pairs = {
        columns.cell_key: (benchmarks[columns.benchmark["digest"]], devices[columns.device["identity"]])
        for columns in results
    }
    cells = ensure_cells(connection, pairs)
    metrics = [name for columns in results for name in columns.names]
    ids = ensure_metric_names(connection, [*metrics, *(contrast.name for contrast in contrasts)])
    return [
        Resolved(
            places=Places(
                cell_id=cells[columns.cell_key],
                commit_id=commits[commit_key(columns.build)] if columns.build is not None else None,
            ),
            names=tuple(ids[name] for name in columns.names),
            contrast=(ids[columns.contrast.name], commits[commit_key(columns.contrast.control)])
            if columns.contrast is not None
            else None,
        )
        for columns in results
    ]


def ensure_commits(connection: Connection, builds: Iterable[BuildInfo]) -> dict[CommitKey, int]:
    """Return the ids of commits; new ones are stored, and times and names that were not known are added."""
    rows: dict[CommitKey, dict[str, object]] = {}
    for build in builds:
        row = rows.setdefault(commit_key(build), {"time": None, "name": "", "subject": "", "author": "", "url": ""})
        if row["time"] is None and build.commit_time is not None:
            row["time"] = bounded_float(build.commit_time)
        for column, text in _describe(build):
            row[column] = row[column] or shown_text(text)
    ids: dict[CommitKey, int] = {}
    for chunk in _chunks(rows):
        insert_new(connection, COMMITS, [{"source": key[0], "sha": key[1], **rows[key]} for key in sorted(chunk)])
        stored = select(COMMITS).where(tuple_(COMMITS.c.source, COMMITS.c.sha).in_(chunk))
        for known in connection.execute(stored).mappings():
            row = rows[known["source"], known["sha"]]
            ids[known["source"], known["sha"]] = known["id"]
            added = {name: value for name, value in row.items() if value and not known[name]}
            if added:
                connection.execute(COMMITS.update().where(COMMITS.c.id == known["id"]).values(added))
    return ids


def _describe(build: BuildInfo) -> tuple[tuple[str, str], ...]:
    """Return the columns of a commit that are text, with what a build says."""
    return (
        ("name", build.commit_name),
        ("subject", build.commit_subject),
        ("author", build.commit_author),
        ("url", build.commit_url),
    )


def ensure_devices(connection: Connection, rows: Iterable[Mapping[str, object]]) -> dict[object, int]:
    """Return the ids of devices by identity; what is told about one that is known replaces what was known."""
    told = {row["identity"]: row for row in rows}
    ids: dict[object, int] = {}
    for chunk in _chunks(told):
        insert_new(connection, DEVICES, [told[key] for key in sorted(chunk, key=str)])
        for known in connection.execute(select(DEVICES).where(DEVICES.c.identity.in_(chunk))).mappings():
            ids[known["identity"]] = known["id"]
            changed = {name: value for name, value in told[known["identity"]].items() if value and known[name] != value}
            if changed:
                connection.execute(DEVICES.update().where(DEVICES.c.id == known["id"]).values(changed))
    return ids


def ensure_benchmarks(connection: Connection, rows: Iterable[Mapping[str, object]]) -> dict[object, int]:
    """Return the ids of benchmarks by digest."""
    told = {row["digest"]: row for row in rows}
    ids: dict[object, int] = {}
    for chunk in _chunks(told):
        insert_new(connection, BENCHMARKS, [told[key] for key in sorted(chunk, key=str)])
        found = select(BENCHMARKS.c.digest, BENCHMARKS.c.id).where(BENCHMARKS.c.digest.in_(chunk))
        ids.update((digest, identity) for digest, identity in connection.execute(found))
    return ids


def ensure_cells(connection: Connection, cells: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    """Return the ids of cells by key.

    Args:
        connection: A connection that writes.
        cells: Ids of benchmark and device, by key.
    """
    ids: dict[str, int] = {}
    for chunk in _chunks(cells):
        pairs = {key: cells[key] for key in sorted(chunk)}
        rows = [
            {"key": key, "benchmark_id": pair[0], "device_id": pair[1], "results": 0} for key, pair in pairs.items()
        ]
        insert_new(connection, CELLS, rows)
        found = select(CELLS.c.key, CELLS.c.id).where(CELLS.c.key.in_(chunk))
        ids.update((key, identity) for key, identity in connection.execute(found))
    return ids


def ensure_metric_names(connection: Connection, names: Iterable[MetricName]) -> dict[MetricName, int]:
    """Return the ids of names of metrics."""
    table = METRIC_NAMES.c
    ids: dict[MetricName, int] = {}
    for chunk in _chunks(dict.fromkeys(names)):
        rows = [{"name": name, "unit": unit, "direction": direction} for name, unit, direction in sorted(chunk)]
        insert_new(connection, METRIC_NAMES, rows)
        found = select(table.name, table.unit, table.direction, table.id)
        for name, unit, direction, identity in connection.execute(
            found.where(tuple_(table.name, table.unit, table.direction).in_(chunk))
        ):
            ids[name, unit, direction] = identity
    return ids


def insert_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
    """Insert rows, without those whose key is there."""
    if not rows:
        return
    insert = insert_sqlite if connection.dialect.name == "sqlite" else insert_postgresql
    connection.execute(insert(table).on_conflict_do_nothing(), rows)


def insert_numbered(connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]) -> list[int]:
    """Insert rows into a table that numbers them; return their ids in this order."""
    if connection.dialect.name != "sqlite":
        numbered = table.insert().returning(table.c.id, sort_by_parameter_order=True)
        return list(connection.execute(numbered, rows).scalars())
    # SQLite returns ids in no order, so that each row would be a statement; no other process writes meanwhile
    first = 1 + (connection.execute(select(func.max(table.c.id))).scalar() or 0)
    ids = list(range(first, first + len(rows)))
    connection.execute(table.insert(), [{**row, "id": key} for row, key in zip(rows, ids, strict=True)])
    return ids


def _chunks(keys: Collection[Key]) -> Iterable[list[Key]]:
    ordered = list(keys)
    for start in range(0, len(ordered), _CHUNK):
        yield ordered[start : start + _CHUNK]
