"""Selection among stored results: conditions that the database decides, and results in the order of measurement."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct, structs
from sqlalchemy import ColumnElement, Select, and_, exists, false, or_, select

from harness.core.device import device_names
from harness.core.device_doubt import mark_doubts
from harness.core.outcome import Outcome
from harness.core.patterns import matches_pattern
from harness.core.result import Result
from harness.core.scalars import format_scalar
from harness.store.database.columns import KEY_CHARACTERS, key_text
from harness.store.database.doubts import load_doubts
from harness.store.database.engine import Database
from harness.store.database.tables import (
    BENCHMARKS,
    CELLS,
    COMMITS,
    DEVICES,
    METRIC_NAMES,
    METRICS,
    RESULTS,
)
from harness.store.database.writing import load_stored

_FAILED = tuple(outcome.value for outcome in Outcome if outcome is not Outcome.OK and not outcome.is_skipped)


class StoredSelection(Struct, frozen=True):
    """Selection among stored results; each condition that is given must hold. An empty one holds for every result.

    Attributes:
        models: Names of models.
        backends: Names of backends.
        devices: Identities or names of devices.
        commit: Beginning of the id of the build's commit, or the name that it was asked for by; empty for any.
        only: Patterns as of `--only`, of which one must match.
        metrics: Names of metrics, of which the result must have one.
        since: Earliest start of the measurement, Unix seconds.
        until: Latest start.
        failed: Whether to keep only results that should have numbers and have none.
        cell: Key of a cell; empty for any.
        limit: Most results: the newest; None for all.
    """

    models: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    commit: str = ""
    only: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    failed: bool = False
    cell: str = ""
    limit: int | None = None

    @property
    def is_by_name_alone(self) -> bool:
        """True if it names something, so that it is a mistake where nothing is called so."""
        names = (self.models, self.backends, self.devices, self.commit, self.only, self.metrics, self.cell)
        return any(names) and self.since is None and self.until is None and not self.failed


def select_uids(database: Database, selection: StoredSelection) -> tuple[str, ...]:
    """Return the uids of the selected results, oldest first.

    Raises:
        EnvironmentProblem: The database cannot be read, or a result that patterns select from is damaged.
    """
    if not selection.only or selection.limit is None:
        return _select_uids(database, selection)
    candidates = _select_uids(database, structs.replace(selection, limit=None))
    newest = (uid for uid in reversed(candidates) if _is_named(load_stored(database, uid), selection.only))
    return tuple(islice(newest, selection.limit))[::-1]


def _select_uids(database: Database, selection: StoredSelection) -> tuple[str, ...]:
    """Return the uids of the selected results, oldest first, and of some that only they themselves show not to be."""
    with database.read() as connection:
        benchmarks = connection.execute(select(BENCHMARKS.c.id, BENCHMARKS.c.model, BENCHMARKS.c.identifier)).all()
        devices = connection.execute(select(DEVICES.c.id, DEVICES.c.identity, DEVICES.c.name)).all()
        conditions = _conditions(selection)
        if selection.only and not any(":" in pattern for pattern in selection.only):
            conditions.append(
                CELLS.c.benchmark_id.in_(
                    [
                        number
                        for number, model, identifier in benchmarks
                        if KEY_CHARACTERS in {len(model), len(identifier)}  # a column may shorten a name
                        or any(matches_pattern(pattern, model, identifier, {}) for pattern in selection.only)
                    ]
                )
            )
        if selection.devices:
            wanted = set(map(key_text, selection.devices))
            named = [number for number, identity, name in devices if wanted & {*device_names(identity), name}]
            conditions.append(CELLS.c.device_id.in_(named))
        query = _joined().where(and_(*conditions)).order_by(RESULTS.c.started.desc(), RESULTS.c.id.desc())
        rows = connection.execute(query.limit(selection.limit)).all()
    return tuple(row.uid for row in reversed(rows))


def iterate_selected(database: Database, selection: StoredSelection, *, as_measured: bool = False) -> Iterator[Result]:
    """Yield the selected results, oldest first, loaded one after the other.

    Args:
        database: Where they are.
        selection: Which.
        as_measured: Whether to leave out the notes that say whose device is in doubt.

    Raises:
        EnvironmentProblem: The database cannot be read, or a result in it is damaged.
    """
    with database.read() as connection:
        doubts = () if as_measured else load_doubts(connection)
    for uid in select_uids(database, selection):
        result = load_stored(database, uid)
        if result is not None and _is_named(result, selection.only):
            yield mark_doubts(result, doubts)


def _is_named(result: Result | None, patterns: tuple[str, ...]) -> bool:
    """Return whether one of the patterns selects a result, which may have been pruned meanwhile."""
    if result is None:
        return False
    info = result.benchmark
    properties = {axis: (format_scalar(value),) for axis, value in info.axes.items()} | {"model": (info.model,)}
    return not patterns or any(
        matches_pattern(pattern, info.model, info.identifier, properties) for pattern in patterns
    )


def _joined() -> Select[tuple[str]]:
    return (
        select(RESULTS.c.uid)
        .join(CELLS, CELLS.c.id == RESULTS.c.cell_id)
        .join(BENCHMARKS, BENCHMARKS.c.id == CELLS.c.benchmark_id)
        .join(COMMITS, COMMITS.c.id == RESULTS.c.commit_id, isouter=True)
    )


def _conditions(selection: StoredSelection) -> list[ColumnElement[bool]]:
    """Return the conditions that need no other query."""
    conditions: list[ColumnElement[bool]] = [~false()]
    if selection.models:
        conditions.append(BENCHMARKS.c.model.in_(map(key_text, selection.models)))
    if selection.backends:
        conditions.append(BENCHMARKS.c.backend.in_(map(key_text, selection.backends)))
    if selection.commit:
        begins = COMMITS.c.sha.startswith(key_text(selection.commit), autoescape=True)
        conditions.append(or_(begins, COMMITS.c.name == key_text(selection.commit)))
    if selection.metrics:
        names = select(METRIC_NAMES.c.id).where(METRIC_NAMES.c.name.in_(map(key_text, selection.metrics)))
        has_metric = (METRICS.c.result_id == RESULTS.c.id) & METRICS.c.name_id.in_(names)
        conditions.append(exists().where(has_metric))
    if selection.since is not None:
        conditions.append(RESULTS.c.started >= selection.since)
    if selection.until is not None:
        conditions.append(RESULTS.c.started <= selection.until)
    if selection.failed:
        conditions.append(RESULTS.c.outcome.in_(_FAILED))
    if selection.cell:
        conditions.append(CELLS.c.key == selection.cell)
    return conditions
