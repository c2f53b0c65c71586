"""Alarms in a database: the latest report stays, with what persons did about it."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from harness.core.errors import UsageError
from harness.store.database.alarm_columns import unpack_report
from harness.store.database.alarms import add_remark, store_alarm
from harness.store.database.engine import Database
from harness.store.database.tables import ALARM_COMMITS, ALARM_REMARKS, ALARMS, COMMITS
from harness.store.history import AlarmAction, AlarmRemark
from tests.reporters.alarms.alarm_samples import bisected_step, found_step

NOW = 1_800_000_000.0


def test_the_latest_report_of_an_alarm_stays(database: Database) -> None:
    older = found_step()
    newer = older.model_copy(update={"alarm": older.alarm.model_copy(update={"updated": older.alarm.updated + 5})})
    assert store_alarm(database, older, now=NOW)
    assert not store_alarm(database, older, now=NOW)
    assert store_alarm(database, newer, now=NOW)
    assert not store_alarm(database, older, now=NOW)
    with database.read() as connection:
        row = connection.execute(select(ALARMS)).one()
    assert unpack_report(row.report, row.series) == newer


def test_commits_in_question_are_known_by_their_subjects(database: Database) -> None:
    report = bisected_step()
    store_alarm(database, report, now=NOW)
    with database.read() as connection:
        explained = set(connection.execute(select(ALARM_COMMITS.c.commit)).scalars())
        subjects = dict(connection.execute(select(COMMITS.c.sha, COMMITS.c.subject)).all())
    assert {candidate.commit.id for candidate in report.alarm.candidates} <= explained
    assert subjects[report.before.id] == report.before.subject


def test_texts_of_reports_may_hold_anything(database: Database) -> None:
    report = found_step().model_copy(update={"device_name": "a\0<script>\ud800" + "x" * 10_000})
    assert store_alarm(database, report, now=NOW)


def test_remarks_are_kept_and_belong_to_alarms(database: Database) -> None:
    remark = AlarmRemark(action=AlarmAction.MUTE, person="eve", time=NOW, text="known\0", until=NOW + 60)
    with pytest.raises(UsageError, match="no alarm 'nothing'"):
        add_remark(database, "nothing", remark)
    report = found_step()
    store_alarm(database, report, now=NOW)
    add_remark(database, report.alarm.identity, remark)
    with database.read() as connection:
        row = connection.execute(select(ALARM_REMARKS)).one()
    assert (row.action, row.person, row.text, row.until) == ("mute", "eve", "known\ufffd", NOW + 60)
