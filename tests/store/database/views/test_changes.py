"""Proven changes: alarms, comparisons that none of them explains, and which of both comes first."""

from __future__ import annotations

import pytest

from harness.core.alarm import AlarmEvent, AlarmReport
from harness.core.comparison import Comparison
from harness.core.effect import Effect, log_ratio_of
from harness.core.result import Result
from harness.core.verdict import Verdict
from harness.store.database.alarms import store_alarm
from harness.store.database.engine import Database
from harness.store.database.views import History
from harness.store.history import Page, Period, ProofKind, Selection
from tests.reporters.alarms.alarm_samples import (
    bisected_step,
    changed,
    commit,
    found_step,
    improvement,
    two_culprits,
    unbuildable_range,
)
from tests.store.database.views.samples import (
    ALL,
    ALWAYS,
    DAY,
    FIRST,
    START,
    against,
    build,
    foreign,
    good,
    keep,
    near,
    sha,
    uids,
)


def alarm_of(result: Result, report: AlarmReport, **fields: object) -> AlarmReport:
    """Return a report about the cell of a result."""
    assert result.device is not None
    about = {"benchmark": result.benchmark.digest, "device": result.device.identity, "title": result.benchmark.title}
    return changed(report, **about, **fields)


def compared(
    number: int, control: int, log_ratio: float, *, verdict: Verdict = Verdict.REGRESSION, **changes: object
) -> Result:
    """Return a comparison of two commits of the history of the alarms' samples."""
    sides = [
        build(0, commit=commit(side).id, commit_time=commit(side).time, source=commit(side).source)
        for side in (number, control)
    ]
    comparison = against(0, log_ratio, verdict).model_copy(update={"control": sides[1]})
    started = float(sides[0].commit_time or 0) + 60
    result = good(0, comparison=comparison, started=started, build=sides[0])
    return result.model_copy(update=changes)


def test_regressions_come_before_improvements_and_large_ones_first(database: Database) -> None:
    sizes = {1: 0.02, 2: -0.5, 3: 0.1, 4: -0.03}
    for day, size in sizes.items():
        verdict = Verdict.REGRESSION if size > 0 else Verdict.IMPROVEMENT
        keep(database, good(day, backend=f"b{day}", comparison=against(0, size, verdict)))
    keep(
        database,
        good(5, comparison=against(0, 0.3, Verdict.UNDECIDED)),
        good(6, comparison=against(0, 0.0, Verdict.NO_CHANGE)),
    )
    reader = History(database)
    rows = reader.changes(ALWAYS, ALL, FIRST)
    assert [row.effect.log_ratio for row in rows if row.effect] == [near(size) for size in (0.1, 0.02, -0.5, -0.03)]
    assert [row.verdict for row in rows] == [Verdict.REGRESSION] * 2 + [Verdict.IMPROVEMENT] * 2
    first = rows[0]
    assert first.before is not None
    assert first.after is not None
    assert (first.proof, first.culprit) == (ProofKind.COMPARISON, False)
    assert (first.before.id, first.after.id, first.time) == (sha(0), sha(3), START + 3 * DAY)
    assert first.effect is not None
    assert first.effect.low_log_ratio == near(0.095)
    paged = [reader.changes(ALWAYS, ALL, Page(limit=1, offset=offset)) for offset in range(6)]
    assert [row for page in paged for row in page] == list(rows)
    part = reader.changes(Period(start=START + 2 * DAY, end=START + 3 * DAY), Selection(backends=("b2",)), FIRST)
    assert [row.cell.backend for row in part] == ["b2"]


def test_of_comparisons_made_again_the_newest_counts_whatever_it_says(database: Database) -> None:
    false = good(1, comparison=against(0, 0.1), started=START + 2 * DAY)
    again = good(1, comparison=against(0, 0.0, Verdict.NO_CHANGE), started=START + 3 * DAY)
    other = good(1, comparison=against(-1, 0.05), started=START + DAY)
    newest = good(1, comparison=against(-1, 0.06), started=START + 4 * DAY)
    keep(database, again, false, newest, other)
    assert [row.result for row in History(database).changes(ALWAYS, ALL, FIRST)] == [newest.uid]


def test_an_alarm_has_its_culprit_its_size_and_the_command(database: Database) -> None:
    result = good(0)
    report = alarm_of(result, bisected_step())
    keep(database, result)
    store_alarm(database, report, now=report.alarm.updated)
    (row,) = History(database).changes(ALWAYS, ALL, FIRST)
    assert (row.proof, row.verdict, row.alarm) == (ProofKind.ALARM, Verdict.REGRESSION, report.alarm.identity)
    assert row.before is not None
    assert row.after is not None
    assert row.culprit
    assert (row.before.id, row.after.id, row.after.subject) == (commit(24).id, commit(25).id, _subject(report, 25))
    assert row.effect == report.alarm.size.effect
    assert (row.reproduce, row.cell.title) == (report.command, result.benchmark.title)


def _subject(report: AlarmReport, number: int) -> str:
    named = (candidate.commit for candidate in report.alarm.candidates)
    return next(one.subject for one in named if one.id == commit(number).id)


@pytest.mark.parametrize("report", [found_step(), unbuildable_range(), two_culprits()])
def test_without_one_proven_culprit_none_is_claimed(database: Database, report: AlarmReport) -> None:
    store_alarm(database, report, now=report.alarm.updated)
    (row,) = History(database).changes(ALWAYS, ALL, FIRST)
    assert (row.culprit, row.culprits) == (False, ())
    assert row.effect == report.alarm.size.effect


def test_an_alarm_about_results_elsewhere_names_its_cell_by_itself(database: Database) -> None:
    report = improvement()
    store_alarm(database, report, now=report.alarm.updated)
    (row,) = History(database).changes(ALWAYS, ALL, FIRST)
    assert (row.cell.model, row.cell.identifier, row.cell.device.name) == ("mv2", "mv2-xnnpack_q8", "Pixel 8")
    assert row.verdict is Verdict.IMPROVEMENT
    assert History(database).changes(ALWAYS, Selection(models=("resnet",)), FIRST) == ()


def test_alarms_that_were_not_confirmed_prove_nothing(database: Database) -> None:
    report = found_step()
    store_alarm(database, changed(report, verification=None), now=report.alarm.updated)
    store_alarm(database, changed(report, identity="test", event=AlarmEvent.TEST), now=report.alarm.updated)
    assert History(database).changes(ALWAYS, ALL, FIRST) == ()
    assert len(History(database).alarms(only_open=False, selection=ALL, period=ALWAYS, page=FIRST)) == 2


def test_an_alarm_explains_comparisons_of_its_commits_and_across_its_change(database: Database) -> None:
    size = log_ratio_of(0.031)
    in_question, across = compared(24, 23, 0.9), compared(30, 10, size)
    larger, before = compared(31, 10, 0.2), compared(20, 10, size)
    behind, better = compared(33, 32, size), compared(29, 10, -0.1, verdict=Verdict.IMPROVEMENT)
    keep(database, in_question, across, larger, before, behind, better)
    report = alarm_of(across, bisected_step())
    store_alarm(database, report, now=report.alarm.updated)
    rows = History(database).changes(ALWAYS, ALL, FIRST)
    assert rows[0].alarm == report.alarm.identity
    assert [row.result for row in rows[1:4]] == [larger.uid, *uids([before, behind])]
    assert [row.result for row in rows[4:]] == [better.uid]
    earlier = Period(end=float(commit(24).time or 0))
    assert in_question.uid in [row.result for row in History(database).changes(earlier, ALL, FIRST)], (
        "the alarm is not in this list, so it cannot stand for the comparison"
    )


def test_an_alarm_of_another_cell_explains_nothing(database: Database) -> None:
    across = compared(30, 10, log_ratio_of(0.031))
    keep(database, across)
    report = bisected_step()
    store_alarm(database, report, now=report.alarm.updated)
    assert [row.proof for row in History(database).changes(ALWAYS, ALL, FIRST)] == [
        ProofKind.ALARM,
        ProofKind.COMPARISON,
    ]


def test_figures_from_elsewhere_are_marked(database: Database) -> None:
    keep(database, good(1, comparison=against(0, 0.1), origin=foreign()))
    (row,) = History(database).changes(ALWAYS, ALL, FIRST)
    assert row.elsewhere


def test_a_comparison_without_pairs_has_no_effect(database: Database) -> None:
    comparison: Comparison = against(0, 0.1).model_copy(update={"difference": None, "low": None, "high": None})
    keep(database, good(1, comparison=comparison))
    (row,) = History(database).changes(ALWAYS, ALL, FIRST)
    effect: Effect | None = row.effect
    assert effect is None
