"""Proven changes of a period: alarms that were verified, then comparisons that no alarm explains.

A watcher compares every commit with a control that stays the same for days. After a step, all of these comparisons say
"regression", and all say the same as the alarm. So an alarm explains a comparison of its cell in the same direction

- whose commit is one of the commits in question or a culprit, or
- whose two commits lie on either side of the change, if the alarm's size is enough for it: its interval, made wider by
  half of itself for that of the alarm, reaches that size or smaller ones.

Only alarms that the list itself has explain anything: nothing vanishes from a list because of what it does not show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, and_, case, func, or_, select
from sqlalchemy.sql.expression import Select

from harness.core.alarm import AlarmEvent, AlarmReport
from harness.core.metric import MetricInfo
from harness.core.verdict import Verdict
from harness.store.database.alarm_columns import unpack_report
from harness.store.database.tables import ALARM_COMMITS, ALARMS, CELLS, COMMITS, CONTRASTS, METRIC_NAMES, RESULTS
from harness.store.database.views.alarms import (
    CommitsOfAlarms,
    list_culprits,
    load_cells_of_alarms,
    select_alarms,
)
from harness.store.database.views.rows import is_measured_again, load_commits, load_named_cells, to_effect, to_metric
from harness.store.database.views.selecting import CellRecord, ids_of, split, within
from harness.store.history import Cell, ChangeRow, DeviceInfo, Page, Period, ProofKind, Selection

_CHANGES: Final = (Verdict.REGRESSION.value, Verdict.IMPROVEMENT.value)
_MOST: Final = 1000
"""Most changes in the history of a cell: more than a picture can mark."""


def list_changes(connection: Connection, period: Period, selection: Selection, page: Page) -> tuple[ChangeRow, ...]:
    """Return changes, alarms before comparisons, regressions before improvements, the largest first."""
    alarms, contrasts = _are_shown(period), _are_proven(period)
    if (selected := select_alarms(selection)) is not None:
        alarms.append(selected)
    if (cells := ids_of(selection)) is not None:
        # the sum keeps SQLite from reading all comparisons of each cell: those that prove something are few
        contrasts.append((CONTRASTS.c.cell_id + 0).in_(cells))
    count = connection.scalar(select(func.count()).select_from(ALARMS).where(*alarms)) or 0
    shown = _load_alarms(connection, alarms, page.limit, page.offset) if page.offset < count else []
    left = page.limit - len(shown)
    if left:
        shown += _load_contrasts(connection, contrasts, left, max(0, page.offset - count))
    return tuple(shown)


def list_changes_of(
    connection: Connection, cell: CellRecord, metric: MetricInfo | None, period: Period, first: float | None
) -> tuple[ChangeRow, ...]:
    """Return the changes of one metric of a cell, oldest first: alarms of a period, comparisons from a time on."""
    alarms = [*_are_shown(period), ALARMS.c.cell_key == cell.key]
    contrasts = [*_are_proven(period), CONTRASTS.c.cell_id == cell.id]
    if first is not None:
        contrasts.append(CONTRASTS.c.time >= first)
    changes = _load_alarms(connection, alarms, _MOST, 0) + _load_contrasts(connection, contrasts, _MOST, 0)
    about = (change for change in changes if metric is None or change.metric.name == metric.name)
    return tuple(sorted(about, key=lambda change: change.time))


def find_change_times(connection: Connection, key: str, metric: str) -> list[float]:
    """Return the times of all alarms of a metric of a cell, in order: its level is another from there on."""
    rows = connection.execute(
        select(ALARMS.c.time, ALARMS.c.report).where(*_are_shown(Period()), ALARMS.c.cell_key == key)
    )
    return sorted(time for time, report in rows if unpack_report(report).alarm.change.metric.name == metric)


def _are_shown(period: Period) -> list[ColumnElement[bool]]:
    return [*within(ALARMS.c.time, period), ALARMS.c.proven, ALARMS.c.event != AlarmEvent.TEST.value]


def _are_proven(period: Period) -> list[ColumnElement[bool]]:
    """Return the conditions on comparisons."""
    return [
        CONTRASTS.c.verdict.in_(_CHANGES),
        *within(CONTRASTS.c.time, period),
        ~is_measured_again(),
        ~_is_explained(period),
    ]


def _is_explained(period: Period) -> ColumnElement[bool]:
    """Return the condition that a shown alarm explains a comparison; see the module."""
    control = COMMITS.alias("control")
    commit = select(COMMITS.c.sha).where(COMMITS.c.id == CONTRASTS.c.commit_id).correlate(CONTRASTS).scalar_subquery()
    control_time = (
        select(control.c.time).where(control.c.id == CONTRASTS.c.control_id).correlate(CONTRASTS).scalar_subquery()
    )
    is_in_question = (
        select(1)
        .where(ALARM_COMMITS.c.alarm == ALARMS.c.identity, ALARM_COMMITS.c.commit == commit)
        .correlate(ALARMS, CONTRASTS)
        .exists()
    )
    ratio, low, high = CONTRASTS.c.log_ratio, CONTRASTS.c.low_log_ratio, CONTRASTS.c.high_log_ratio
    suffices = case(
        (ratio >= 0, func.coalesce(2 * low - ratio, 0) <= ALARMS.c.log_ratio),
        else_=func.coalesce(2 * high - ratio, 0) >= ALARMS.c.log_ratio,
    )
    spans = and_(ALARMS.c.time > control_time, ALARMS.c.time <= CONTRASTS.c.time, suffices)
    key = select(CELLS.c.key).where(CELLS.c.id == CONTRASTS.c.cell_id).correlate(CONTRASTS).scalar_subquery()
    is_worse = CONTRASTS.c.verdict == Verdict.REGRESSION.value
    same_direction = or_(and_(ALARMS.c.worse, is_worse), and_(~ALARMS.c.worse, ~is_worse))
    return (
        select(1)
        .where(ALARMS.c.cell_key == key, *_are_shown(period), same_direction, or_(is_in_question, spans))
        .correlate(CONTRASTS)
        .exists()
    )


def _load_alarms(
    connection: Connection, conditions: Sequence[ColumnElement[bool]], limit: int, offset: int
) -> list[ChangeRow]:
    query = (
        select(ALARMS.c.cell_key, ALARMS.c.time, ALARMS.c.report)
        .where(*conditions)
        .order_by(ALARMS.c.worse.desc(), func.abs(ALARMS.c.log_ratio).desc(), ALARMS.c.identity)
    )
    rows = connection.execute(query.limit(limit).offset(offset)).all()
    reports = [unpack_report(row.report) for row in rows]
    cells = load_cells_of_alarms(connection, (row.cell_key for row in rows))
    commits = CommitsOfAlarms(connection, reports)
    results = _find_results(connection, reports)
    return [
        _describe_alarm(row, report, cells.get(row.cell_key), commits, results)
        for row, report in zip(rows, reports, strict=True)
    ]


def _describe_alarm(
    row: Row[*tuple[Any, ...]],
    report: AlarmReport,
    cell: Cell | None,
    commits: CommitsOfAlarms,
    results: frozenset[str],
) -> ChangeRow:
    alarm, size = report.alarm, report.alarm.size
    culprits = commits.describe_culprits(report)
    result = alarm.verification.result if alarm.verification is not None else ""
    return ChangeRow(
        cell=cell or _make_cell(row.cell_key, report),
        metric=alarm.change.metric,
        proof=ProofKind.ALARM,
        verdict=Verdict.REGRESSION if alarm.change.is_worse else Verdict.IMPROVEMENT,
        effect=size.effect,
        before=commits.describe(report, size.before),
        after=commits.describe(report, size.after),
        culprit=list_culprits(report) == (size.after,),
        culprits=culprits if len(culprits) > 1 else (),
        time=row.time,
        alarm=alarm.identity,
        result=result if result in results else "",
        reproduce=report.command,
    )


def _make_cell(key: str, report: AlarmReport) -> Cell:
    """Return the cell of an alarm whose results are in another store, as far as its report knows it."""
    change = report.alarm.change
    model, _, identifier = change.title.partition("/")
    platform = report.alarm.verification.platform if report.alarm.verification is not None else ""
    device = DeviceInfo(identity=change.device, name=report.device_name, platform=platform)
    return Cell(key=key, model=model, identifier=identifier, framework="", digest=change.benchmark, device=device)


def _find_results(connection: Connection, reports: Sequence[AlarmReport]) -> frozenset[str]:
    """Return the uids of the verifications that are here."""
    uids = [report.alarm.verification.result for report in reports if report.alarm.verification is not None]
    query = select(RESULTS.c.uid)
    return frozenset(
        uid
        for part in split(list(filter(None, uids)))
        for uid in connection.scalars(query.where(RESULTS.c.uid.in_(part)))
    )


def _load_contrasts(
    connection: Connection, conditions: Sequence[ColumnElement[bool]], limit: int, offset: int
) -> list[ChangeRow]:
    ids = connection.scalars(_sort(select(CONTRASTS.c.result_id).where(*conditions)).limit(limit).offset(offset)).all()
    columns = (METRIC_NAMES.c.name, METRIC_NAMES.c.unit, METRIC_NAMES.c.direction)
    query = (
        select(CONTRASTS, *columns, RESULTS.c.uid, RESULTS.c.reproduce, RESULTS.c.origin, RESULTS.c.trusted)
        .join(METRIC_NAMES, CONTRASTS.c.name_id == METRIC_NAMES.c.id)
        .join(RESULTS, CONTRASTS.c.result_id == RESULTS.c.id)
    )
    rows = {row.result_id: row for row in connection.execute(query.where(CONTRASTS.c.result_id.in_(ids)))}
    cells = load_named_cells(connection, (row.cell_id for row in rows.values()))
    commits = load_commits(
        connection, [identity for row in rows.values() for identity in (row.commit_id, row.control_id)]
    )
    return [
        ChangeRow(
            cell=cells[row.cell_id],
            metric=to_metric(row.name, row.unit, row.direction),
            proof=ProofKind.COMPARISON,
            verdict=Verdict(row.verdict),
            effect=to_effect(row.log_ratio, row.low_log_ratio, row.high_log_ratio),
            before=commits[row.control_id],
            after=commits.get(row.commit_id),
            time=row.time,
            result=row.uid,
            reproduce=row.reproduce,
            elsewhere=bool(row.origin),
            trusted=row.trusted,
        )
        for row in (rows[identity] for identity in ids)
    ]


def _sort(query: Select[tuple[int]]) -> Select[tuple[int]]:
    is_better = case((CONTRASTS.c.verdict == Verdict.REGRESSION.value, 0), else_=1)
    size = func.abs(func.coalesce(CONTRASTS.c.log_ratio, 0))
    return query.order_by(is_better, size.desc(), CONTRASTS.c.result_id)
