"""Alarms with what persons did about them."""

from __future__ import annotations

from harness.core.alarm import AlarmStage
from harness.store.database.alarms import add_remark, store_alarm
from harness.store.database.engine import Database
from harness.store.database.views import History
from harness.store.database.views.alarms import ENDLESS
from harness.store.history import AlarmAction, AlarmRemark, Page, Period, Selection
from tests.reporters.alarms.alarm_samples import bisected_step, changed, commit, found_step, two_culprits
from tests.store.database.views.samples import ALL, ALWAYS, FIRST, good, keep

NOW = 1_800_000_000.0


def remark(action: AlarmAction, time: float, *, until: float | None = None) -> AlarmRemark:
    """Return a remark of Ada."""
    return AlarmRemark(action=action, person="ada", time=time, text=f"{action} at {time:g}", until=until)


def test_alarms_are_listed_with_culprit_and_cell_the_last_opened_first(database: Database) -> None:
    result = good(1)
    assert result.device is not None
    about = {"benchmark": result.benchmark.digest, "device": result.device.identity}
    first = changed(bisected_step(), **about)
    second = changed(two_culprits(), identity="2", opened=first.alarm.opened + 5)
    closed = changed(found_step(), identity="3", stage=AlarmStage.CLOSED, opened=first.alarm.opened - 5)
    keep(database, result)
    for report in (closed, first, second):
        store_alarm(database, report, now=NOW)
    reader = History(database)
    rows = reader.alarms(only_open=False, selection=ALL, period=ALWAYS, page=FIRST)
    assert [row.identity for row in rows] == ["2", first.alarm.identity, "3"]
    assert [row.cell.title if row.cell else None for row in rows] == [None, result.benchmark.title, None]
    assert [row.culprit.id if row.culprit else None for row in rows] == [commit(10).id, commit(25).id, None]
    assert rows[1].before is not None
    assert rows[1].before.id == commit(24).id
    assert rows[1].effect == first.alarm.size.effect
    opened = reader.alarms(only_open=True, selection=ALL, period=ALWAYS, page=Page(limit=1, offset=1))
    assert [row.identity for row in opened] == [first.alarm.identity]
    selected = reader.alarms(only_open=False, selection=Selection(models=("mv2",)), period=ALWAYS, page=FIRST)
    assert [row.identity for row in selected] == [first.alarm.identity]
    found = reader.alarms(only_open=False, selection=Selection(text="PIXEL"), period=ALWAYS, page=FIRST)
    assert len(found) == 3
    late = Period(start=float(commit(26).time or 0))
    assert len(reader.alarms(only_open=False, selection=ALL, period=late, page=FIRST)) == 1


def test_an_alarm_in_full_is_the_report_with_its_series(database: Database) -> None:
    report = bisected_step()
    store_alarm(database, report, now=NOW)
    detail = History(database).alarm(report.alarm.identity)
    assert detail is not None
    assert detail.report == report
    assert detail.row.title == "mv2/mv2-xnnpack_q8"
    assert [History(database).alarm(name) for name in ("", "\0", "\ud800", "%")] == [None] * 4


def test_remarks_are_shown_oldest_first_and_mutes_end(database: Database) -> None:
    identity = found_step().alarm.identity
    store_alarm(database, found_step(), now=NOW)
    clock = [NOW]
    reader = History(database, clock=lambda: clock[0])

    def muted_until() -> float | None:
        return reader.alarms(only_open=False, selection=ALL, period=ALWAYS, page=FIRST)[0].muted_until

    assert muted_until() is None
    add_remark(database, identity, remark(AlarmAction.ACKNOWLEDGE, NOW + 2))
    add_remark(database, identity, remark(AlarmAction.MUTE, NOW + 1, until=NOW + 100))
    assert muted_until() == NOW + 100
    detail = reader.alarm(identity)
    assert detail is not None
    assert [item.action for item in detail.row.remarks] == [AlarmAction.MUTE, AlarmAction.ACKNOWLEDGE]
    assert detail.row.acknowledged is not None
    assert detail.row.acknowledged.person == "ada"
    clock[0] = NOW + 101
    assert muted_until() is None
    add_remark(database, identity, remark(AlarmAction.MUTE, NOW + 102))
    assert muted_until() == ENDLESS
    add_remark(database, identity, remark(AlarmAction.UNMUTE, NOW + 103))
    assert muted_until() is None
