"""Rows of lists, for results that were chosen before: a page is chosen from an index, and only then are rows read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, or_, select

from harness.core.effect import Effect
from harness.core.metric import Direction, MetricInfo
from harness.core.origin import Origin
from harness.core.outcome import Outcome
from harness.core.verdict import OutputVerdict, Verdict
from harness.store.database.tables import CELLS, COMMITS, CONTRASTS, METRIC_NAMES, METRICS, RESULTS
from harness.store.database.views.selecting import load_cells, split
from harness.store.history import Cell, CommitInfo, Contrast, Figure, ResultRow


def load_rows(connection: Connection, ids: Sequence[int]) -> list[ResultRow]:
    """Return results as lists have them, in the order of their ids; those that are not there are left out."""
    rows = load_rows_by_id(connection, ids)
    return [rows[identity] for identity in ids if identity in rows]


def load_rows_by_id(connection: Connection, ids: Sequence[int]) -> dict[int, ResultRow]:
    """Return results as lists have them, by their ids; those that are not there are left out."""
    columns = (
        RESULTS.c.id,
        RESULTS.c.uid,
        RESULTS.c.cell_id,
        RESULTS.c.commit_id,
        RESULTS.c.started,
        RESULTS.c.outcome,
        RESULTS.c.reason,
        RESULTS.c.trusted,
        RESULTS.c.origin,
        RESULTS.c.reproduce,
        RESULTS.c.run,
    )
    found = [row for part in split(ids) for row in connection.execute(select(*columns).where(RESULTS.c.id.in_(part)))]
    cells = load_named_cells(connection, (row.cell_id for row in found))
    commits = load_commits(connection, (row.commit_id for row in found))
    figures = load_figures(connection, ids)
    contrasts = load_contrasts(connection, ids)
    return {
        row.id: ResultRow(
            uid=row.uid,
            cell=cells[row.cell_id],
            commit=commits.get(row.commit_id),
            time=row.started,
            outcome=Outcome(row.outcome),
            reason=row.reason,
            trusted=row.trusted,
            figure=figures.get(row.id),
            contrast=contrasts.get(row.id),
            origin=read_origin(row.origin),
            reproduce=row.reproduce,
            run=row.run,
        )
        for row in found
    }


def load_named_cells(connection: Connection, ids: Iterable[int]) -> dict[int, Cell]:
    """Return cells by their ids."""
    wanted = list(dict.fromkeys(ids))
    records = (record for part in split(wanted) for record in load_cells(connection, CELLS.c.id.in_(part)))
    return {record.id: record.to_cell() for record in records}


def load_commits(connection: Connection, ids: Iterable[int | None]) -> dict[int | None, CommitInfo]:
    """Return commits by their ids; None has none."""
    wanted = [identity for identity in dict.fromkeys(ids) if identity is not None]
    query = select(COMMITS)
    rows = (row for part in split(wanted) for row in connection.execute(query.where(COMMITS.c.id.in_(part))))
    return {row.id: to_commit(row) for row in rows}


def to_commit(row: Row[*tuple[Any, ...]]) -> CommitInfo:
    """Return a row of `commits` as lists name it."""
    return CommitInfo(
        id=row.sha,
        source=row.source,
        time=row.time,
        name=row.name,
        subject=row.subject,
        author=row.author,
        url=row.url,
    )


def load_figures(connection: Connection, ids: Sequence[int]) -> dict[int, Figure]:
    """Return the main figures of results by their ids."""
    query = select(
        METRICS.c.result_id,
        METRIC_NAMES.c.name,
        METRIC_NAMES.c.unit,
        METRIC_NAMES.c.direction,
        METRICS.c.median,
        METRICS.c.low,
        METRICS.c.high,
        METRICS.c.count,
    ).join(METRIC_NAMES, METRICS.c.name_id == METRIC_NAMES.c.id)
    figures: dict[int, Figure] = {}
    for part in split(ids):
        for row in connection.execute(query.where(METRICS.c.is_main, METRICS.c.result_id.in_(part))):
            identity, name, unit, direction, median, low, high, count = row
            metric = to_metric(name, unit, direction)
            figures[identity] = Figure(metric=metric, median=median, low=low, high=high, count=count)
    return figures


def to_metric(name: str, unit: str, direction: str) -> MetricInfo:
    """Return a row of `metric_names` as lists name it; a text has no direction, and the usual one stands for it."""
    return MetricInfo(name=name, unit=unit, direction=Direction(direction or Direction.LOWER))


def load_contrasts(connection: Connection, ids: Sequence[int]) -> dict[int, Contrast]:
    """Return the comparisons of results by the ids of the results."""
    query = select(CONTRASTS, METRIC_NAMES.c.name, METRIC_NAMES.c.unit, METRIC_NAMES.c.direction).join(
        METRIC_NAMES, CONTRASTS.c.name_id == METRIC_NAMES.c.id
    )
    rows = [row for part in split(ids) for row in connection.execute(query.where(CONTRASTS.c.result_id.in_(part)))]
    controls = load_commits(connection, (row.control_id for row in rows))
    return {
        row.result_id: Contrast(
            control=controls[row.control_id],
            metric=to_metric(row.name, row.unit, row.direction),
            verdict=Verdict(row.verdict),
            effect=to_effect(row.log_ratio, row.low_log_ratio, row.high_log_ratio),
            pairs=row.pairs,
            outputs=OutputVerdict(row.outputs) if row.outputs else None,
        )
        for row in rows
    }


def to_effect(log_ratio: float | None, low: float | None, high: float | None) -> Effect | None:
    """Return columns as an effect; None without a number."""
    return None if log_ratio is None else Effect(log_ratio=log_ratio, low_log_ratio=low, high_log_ratio=high)


def read_origin(json: str) -> Origin | None:
    """Return the origin of a figure that was measured elsewhere; None for a figure of the harness."""
    return Origin.model_validate_json(json) if json else None


def is_measured_again() -> ColumnElement[bool]:
    """Return the condition that a comparison was made again later: then the newest counts, whatever it says."""
    newer = CONTRASTS.alias("newer")
    return (
        select(1)
        .where(
            newer.c.commit_id == CONTRASTS.c.commit_id,
            newer.c.cell_id == CONTRASTS.c.cell_id,
            newer.c.control_id == CONTRASTS.c.control_id,
            newer.c.name_id == CONTRASTS.c.name_id,
            or_(
                newer.c.started > CONTRASTS.c.started,
                and_(newer.c.started == CONTRASTS.c.started, newer.c.result_id > CONTRASTS.c.result_id),
            ),
        )
        .correlate(CONTRASTS)
        .exists()
    )
