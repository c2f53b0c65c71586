"""History of a cell: one metric over the commits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, and_, func, literal_column, or_, select

from harness.core.metric import MetricInfo, convert
from harness.core.outcome import Outcome
from harness.core.verdict import Verdict
from harness.store.database.columns import key_text
from harness.store.database.tables import BENCHMARKS, CELLS, CONTRASTS, DEVICES, METRIC_NAMES, METRICS, RESULTS
from harness.store.database.views.bands import Point, make_bands
from harness.store.database.views.changes import find_change_times, list_changes_of
from harness.store.database.views.rows import load_commits, read_origin, to_effect, to_metric
from harness.store.database.views.selecting import CellRecord, is_stored_text, load_cells, within
from harness.store.history import CellHistory, CommitInfo, HistoryPoint, Period

_FEWEST_POINTS: Final = 2
_MOST_POINTS: Final = 100_000


class _ShownMetric(Struct, frozen=True):
    """A metric of a cell, in the unit of its newest result.

    Attributes:
        info: The metric.
        factors: For the id of each `metric_names` of its name: factor to this unit; None where it does not convert.
        units: The unit of each.
    """

    info: MetricInfo
    factors: Mapping[int, float | None]
    units: Mapping[int, str]

    def to_unit(self, value: float | None, name_id: int | None) -> float | None:
        """Return a value in this unit; None where it has none, or leaves the range of a double."""
        factor = self.factors.get(name_id) if name_id is not None else None
        if value is None or factor is None:
            return None
        converted = value * factor
        return converted if math.isfinite(converted) else None

    def find_obstacle(self, name_id: int | None) -> str:
        """Return why a good result has no value here; empty where it has one."""
        if name_id is None:
            return f"{self.info.name} was not measured"
        unit = self.units.get(name_id, "")
        return "" if self.factors.get(name_id) is not None else f"measured in {unit or 'another unit'}"


def load_history(connection: Connection, key: str, metric: str, period: Period, limit: int) -> CellHistory | None:
    """Return the history of a cell; see `HistoryReader.cell`."""
    cells = load_cells(connection, CELLS.c.key == key_text(key)) if is_stored_text(key) else []
    if not cells:
        return None
    cell = cells[0]
    names = _list_metrics(connection, cell)
    shown = _choose(names, metric)
    conditions = [RESULTS.c.cell_id == cell.id, *within(RESULTS.c.time, period)]
    total = connection.scalar(select(func.count()).select_from(RESULTS).where(*conditions)) or 0
    info = shown.info if shown is not None else None
    limit = min(max(limit, _FEWEST_POINTS), _MOST_POINTS)
    points = _load_points(connection, cell, shown, period, limit)
    changes = list_changes_of(connection, cell, info, period, points[0].time if points else None)
    return CellHistory(
        cell=cell.to_cell(),
        metric=info,
        metrics=tuple({name.info.name: name.info for name in names}.values()),
        points=points,
        bands=()
        if shown is None
        else make_bands(
            _load_own(connection, cell, shown, period),
            find_change_times(connection, cell.key, shown.info.name),
            limit,
        ),
        changes=changes,
        total=total,
        others=tuple(other.to_cell() for other in _find_others(connection, cell)),
        reproduce=_find_command(connection, cell),
    )


class _NamedMetric(Struct, frozen=True):
    """Row of `metric_names` of which a cell has values."""

    id: int
    info: MetricInfo


def _list_metrics(connection: Connection, cell: CellRecord) -> list[_NamedMetric]:
    """Return the metrics with numbers that a cell has: in the order of its newest good result, the main one first."""
    has_values = select(1).where(METRICS.c.cell_id == cell.id, METRICS.c.name_id == METRIC_NAMES.c.id).limit(1).exists()
    named = connection.execute(select(METRIC_NAMES).where(METRIC_NAMES.c.direction != "", has_values))
    query = select(METRICS.c.name_id, METRICS.c.is_main, METRICS.c.position)
    newest = connection.execute(query.where(METRICS.c.result_id == cell.latest_good_id))
    places = {name_id: (not is_main, position) for name_id, is_main, position in newest}
    metrics = [_NamedMetric(row.id, to_metric(row.name, row.unit, row.direction)) for row in named]
    return sorted(
        metrics, key=lambda metric: (*places.get(metric.id, (True, 1 << 16)), metric.info.name, metric.info.unit)
    )


def _choose(names: Sequence[_NamedMetric], metric: str) -> _ShownMetric | None:
    """Return the metric that was asked for; None where the cell does not have it."""
    first = next((name for name in names if metric in {"", name.info.name}), None)
    if first is None:
        return None
    same = [name for name in names if name.info.name == first.info.name]
    return _ShownMetric(
        first.info,
        {
            name.id: convert(1.0, name.info.unit, first.info.unit)
            if name.info.direction is first.info.direction
            else None
            for name in same
        },
        {name.id: name.info.unit for name in same},
    )


def _load_points(
    connection: Connection, cell: CellRecord, shown: _ShownMetric | None, period: Period, limit: int
) -> tuple[HistoryPoint, ...]:
    """Return the newest points of a period, oldest first: results are chosen by their index, and then read."""
    page = (
        select(RESULTS.c.id)
        .where(RESULTS.c.cell_id == cell.id, *within(RESULTS.c.time, period))
        .order_by(RESULTS.c.time.desc(), RESULTS.c.started.desc(), RESULTS.c.id.desc())
        .limit(limit)
        .subquery()
    )
    columns = (
        RESULTS.c.uid,
        RESULTS.c.commit_id,
        RESULTS.c.time,
        RESULTS.c.outcome,
        RESULTS.c.reason,
        RESULTS.c.trusted,
        RESULTS.c.origin,
        METRICS.c.name_id,
        METRICS.c.median,
        METRICS.c.low,
        METRICS.c.high,
        CONTRASTS.c.name_id.label("compared"),
        CONTRASTS.c.verdict,
        CONTRASTS.c.log_ratio,
        CONTRASTS.c.low_log_ratio,
        CONTRASTS.c.high_log_ratio,
    )
    joined = (
        page.join(RESULTS, RESULTS.c.id == page.c.id)
        .outerjoin(METRICS, _is_metric_of(cell, shown))
        .outerjoin(CONTRASTS, CONTRASTS.c.result_id == RESULTS.c.id)
    )
    order = (RESULTS.c.time, RESULTS.c.started, RESULTS.c.id)
    rows = connection.execute(select(*columns).select_from(joined).order_by(*order)).all()
    commits = load_commits(connection, (row.commit_id for row in rows))
    return tuple(_describe_point(row, shown, commits) for row in rows)


def _is_metric_of(cell: CellRecord, shown: _ShownMetric | None) -> ColumnElement[bool]:
    """Return the condition of the shown metric of a result, by which its index finds it."""
    return and_(
        METRICS.c.result_id == RESULTS.c.id,
        METRICS.c.cell_id == cell.id,
        METRICS.c.time == RESULTS.c.time,
        METRICS.c.name_id.in_(shown.factors if shown is not None else ()),
    )


def _describe_point(
    row: Row[*tuple[Any, ...]], shown: _ShownMetric | None, commits: Mapping[int | None, CommitInfo]
) -> HistoryPoint:
    outcome = Outcome(row.outcome)
    is_compared = shown is not None and row.compared in shown.factors
    is_shown = shown is not None and outcome is Outcome.OK
    return HistoryPoint(
        uid=row.uid,
        commit=commits.get(row.commit_id),
        time=row.time,
        median=shown.to_unit(row.median, row.name_id) if shown is not None and is_shown else None,
        low=shown.to_unit(row.low, row.name_id) if shown is not None and is_shown else None,
        high=shown.to_unit(row.high, row.name_id) if shown is not None and is_shown else None,
        trusted=row.trusted,
        outcome=outcome,
        reason=row.reason or (shown.find_obstacle(row.name_id) if shown is not None and is_shown else ""),
        verdict=Verdict(row.verdict) if is_compared else None,
        effect=to_effect(row.log_ratio, row.low_log_ratio, row.high_log_ratio) if is_compared else None,
        origin=read_origin(row.origin),
    )


def _load_own(connection: Connection, cell: CellRecord, shown: _ShownMetric, period: Period) -> list[Point]:
    """Return times and medians of the trusted results of the harness; of figures from elsewhere where all are.

    Three scans of indexes, and no row is read: a period may have thousands of points.
    """
    bad = select(RESULTS.c.id).where(
        RESULTS.c.cell_id == cell.id,
        *within(RESULTS.c.time, period),
        or_(RESULTS.c.outcome != Outcome.OK.value, ~RESULTS.c.trusted),
    )
    left_out = set(connection.scalars(bad).all())
    elsewhere = select(RESULTS.c.id).where(RESULTS.c.cell_id == cell.id, RESULTS.c.origin != literal_column("''"))
    foreign = set(connection.scalars(elsewhere).all())
    query = select(METRICS.c.time, METRICS.c.median, METRICS.c.name_id, METRICS.c.result_id).where(
        METRICS.c.cell_id == cell.id, METRICS.c.name_id.in_(shown.factors), *within(METRICS.c.time, period)
    )
    own: list[Point] = []
    others: list[Point] = []
    for time, median, name_id, result in connection.execute(query).all():
        value = shown.to_unit(median, name_id)
        if value is not None and result not in left_out:
            (others if result in foreign else own).append((time, value))
    return sorted(own or others)


def _find_others(connection: Connection, cell: CellRecord) -> list[CellRecord]:
    """Return the cells with the same name on the same device, and another definition."""
    others = load_cells(
        connection,
        and_(
            BENCHMARKS.c.model == cell.model,
            BENCHMARKS.c.identifier == cell.identifier,
            BENCHMARKS.c.framework == cell.framework,
            DEVICES.c.identity == cell.device,
            CELLS.c.id != cell.id,
        ),
    )
    return sorted(others, key=lambda other: -(other.latest_result_id or 0))


def _find_command(connection: Connection, cell: CellRecord) -> str:
    query = select(RESULTS.c.reproduce).where(RESULTS.c.id == cell.latest_result_id)
    return connection.scalar(query) or ""
