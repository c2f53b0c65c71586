"""Alarms: lists, each with what persons did about it, and all about each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, select

from harness.core.alarm import AlarmReport, AlarmStage
from harness.core.commit import Commit
from harness.store.database.alarm_columns import unpack_report
from harness.store.database.columns import key_text
from harness.store.database.tables import ALARM_REMARKS, ALARMS, CELLS, COMMITS
from harness.store.database.views.rows import to_commit
from harness.store.database.views.selecting import (
    contains,
    is_stored_text,
    keys_of,
    load_cells,
    split,
    within,
)
from harness.store.history import (
    AlarmAction,
    AlarmDetail,
    AlarmRemark,
    AlarmRow,
    Cell,
    CommitInfo,
    Page,
    Period,
    Selection,
)

ENDLESS: Final = 253_402_300_799.0
"""Last second of the year 9999, which stands for a mute without an end."""


def list_alarms(
    connection: Connection, selection: Selection, period: Period, page: Page, *, only_open: bool, now: float
) -> tuple[AlarmRow, ...]:
    """Return alarms, the last opened first. A selection also finds texts in alarms whose cells are not here."""
    conditions = within(ALARMS.c.time, period)
    if only_open:
        conditions.append(ALARMS.c.stage != AlarmStage.CLOSED.value)
    if (selected := select_alarms(selection)) is not None:
        conditions.append(selected)
    query = select(ALARMS.c.identity, ALARMS.c.cell_key, ALARMS.c.report)
    newest_first = query.where(*conditions).order_by(ALARMS.c.opened.desc(), ALARMS.c.identity)
    rows = connection.execute(newest_first.limit(page.limit).offset(page.offset)).all()
    return tuple(_describe(connection, rows, [unpack_report(row.report) for row in rows], now))


def select_alarms(selection: Selection) -> ColumnElement[bool] | None:
    """Return the condition on alarms whose cells are selected; None where all are."""
    keys = keys_of(selection)
    if keys is None:
        return None
    is_selected = ALARMS.c.cell_key.in_(keys)
    if selection.text and selection == Selection(text=selection.text):
        return is_selected | contains((ALARMS.c.title, ALARMS.c.device), selection.text)
    return is_selected


def find_alarm(connection: Connection, identity: str, now: float) -> AlarmDetail | None:
    """Return an alarm by its identity, with its series."""
    if not is_stored_text(identity):
        return None
    row = connection.execute(select(ALARMS).where(ALARMS.c.identity == key_text(identity))).one_or_none()
    if row is None:
        return None
    report = unpack_report(row.report, row.series)
    return AlarmDetail(row=_describe(connection, [row], [report], now)[0], report=report)


def load_cells_of_alarms(connection: Connection, keys: Iterable[str]) -> dict[str, Cell]:
    """Return the cells that are here, by their keys."""
    records = (
        record for part in split(list(dict.fromkeys(keys))) for record in load_cells(connection, CELLS.c.key.in_(part))
    )
    return {record.key: record.to_cell() for record in records}


class CommitsOfAlarms:
    """Commits that alarms name, with all that the database and the reports know of them.

    Args:
        connection: Connection to the database.
        reports: The reports.
    """

    def __init__(self, connection: Connection, reports: Sequence[AlarmReport]) -> None:
        named = dict.fromkeys(commit for report in reports for commit in _list_shown(report))
        query = select(COMMITS).order_by(COMMITS.c.id)
        rows = (row for part in split(list(named)) for row in connection.execute(query.where(COMMITS.c.sha.in_(part))))
        self._stored: dict[str, CommitInfo] = {row.sha: to_commit(row) for row in rows}

    def describe(self, report: AlarmReport, identity: str) -> CommitInfo:
        """Return a commit that a report names."""
        stored = self._stored.get(identity, CommitInfo(id=identity))
        commits = (report.before, *(candidate.commit for candidate in report.alarm.candidates))
        reported = next((commit for commit in commits if commit.id == identity), None)
        return stored if reported is None else _complete(stored, reported)

    def describe_culprits(self, report: AlarmReport) -> tuple[CommitInfo, ...]:
        """Return the commits that a search found, and fresh pairs confirmed, oldest first."""
        return tuple(self.describe(report, identity) for identity in list_culprits(report))


def list_culprits(report: AlarmReport) -> tuple[str, ...]:
    """Return the ids of confirmed culprits; one that may also be another commit, which does not build, is none."""
    found = (culprit for culprit in report.alarm.culprits if culprit.confirmed and len(culprit.commits) == 1)
    return tuple(culprit.commits[0] for culprit in found)


def _list_shown(report: AlarmReport) -> tuple[str, ...]:
    size = report.alarm.size
    return size.before, size.after, *list_culprits(report)


def _complete(stored: CommitInfo, reported: Commit) -> CommitInfo:
    """Return a commit with what a report adds to what the database knows."""
    return stored.model_copy(
        update={
            "source": stored.source or reported.source,
            "time": reported.time if stored.time is None else stored.time,
            "subject": stored.subject or reported.subject,
            "author": stored.author or reported.author,
        }
    )


def _describe(
    connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]], reports: Sequence[AlarmReport], now: float
) -> list[AlarmRow]:
    cells = load_cells_of_alarms(connection, (row.cell_key for row in rows))
    commits = CommitsOfAlarms(connection, reports)
    remarks = _load_remarks(connection, [row.identity for row in rows])
    return [
        _describe_alarm(report, commits, remarks.get(row.identity, ()), now).model_copy(
            update={"cell": cells.get(row.cell_key)}
        )
        for row, report in zip(rows, reports, strict=True)
    ]


def _describe_alarm(
    report: AlarmReport, commits: CommitsOfAlarms, done: tuple[AlarmRemark, ...], now: float
) -> AlarmRow:
    alarm = report.alarm
    culprits = commits.describe_culprits(report)
    seen = [remark for remark in done if remark.action is AlarmAction.ACKNOWLEDGE]
    return AlarmRow(
        identity=alarm.identity,
        title=alarm.change.title,
        device=report.device_name,
        metric=alarm.change.metric,
        stage=alarm.stage,
        effect=alarm.size.effect,
        culprit=culprits[-1] if culprits else None,
        culprits=culprits,
        before=commits.describe(report, alarm.size.before),
        opened=alarm.opened,
        updated=alarm.updated,
        acknowledged=seen[-1] if seen else None,
        muted_until=_find_end_of_mute(done, now),
        remarks=done,
    )


def _find_end_of_mute(remarks: Sequence[AlarmRemark], now: float) -> float | None:
    """Return when the newest mute ends; None where it ended, was taken back, or was never there."""
    mutes = [remark for remark in remarks if remark.action in {AlarmAction.MUTE, AlarmAction.UNMUTE}]
    if not mutes or mutes[-1].action is AlarmAction.UNMUTE:
        return None
    until = ENDLESS if mutes[-1].until is None else mutes[-1].until
    return until if until > now else None


def _load_remarks(connection: Connection, identities: Sequence[str]) -> dict[str, tuple[AlarmRemark, ...]]:
    """Return the remarks about alarms, oldest first."""
    remarks: dict[str, tuple[AlarmRemark, ...]] = {}
    query = select(ALARM_REMARKS).order_by(ALARM_REMARKS.c.time, ALARM_REMARKS.c.id)
    for part in split(identities):
        for row in connection.execute(query.where(ALARM_REMARKS.c.alarm.in_(part))):
            remark = AlarmRemark(
                action=AlarmAction(row.action), person=row.person, time=row.time, text=row.text, until=row.until
            )
            remarks[row.alarm] = (*remarks.get(row.alarm, ()), remark)
    return remarks
