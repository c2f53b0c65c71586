"""Pages that tests open: each kind, with values that are usual, empty, huge, failed or hostile."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from harness.core.alarm import AlarmReport, AlarmStage
from harness.core.effect import Effect
from harness.core.origin import Origin
from harness.core.outcome import Outcome
from harness.core.verdict import Verdict
from harness.dashboard.alarms import render_alarm, render_alarms
from harness.dashboard.cell import render_cell
from harness.dashboard.changes import render_changes
from harness.dashboard.errors import render_error
from harness.dashboard.links import Site
from harness.dashboard.result import render_result
from harness.store.history import (
    AlarmAction,
    AlarmDetail,
    AlarmRemark,
    AlarmRow,
    ArtifactInfo,
    ChangeRow,
    CommitInfo,
    Period,
    ProofKind,
    ResultRow,
    Selection,
)
from harness.testing.results import failed_result, ok_result
from tests.dashboard.samples import (
    HOSTILE,
    LATENCY,
    START,
    make_cell,
    make_change,
    make_commit,
    make_history,
    make_points,
    make_site,
)
from tests.reporters.alarms.alarm_samples import bisected_step, closed, nasty_subjects


@cache
def make_pages() -> Mapping[str, str]:
    """Return pages by name; those of a hostile store have every text hostile that a store can give."""
    live = make_site(person="ada")
    hostile = make_site(person=HOSTILE)
    hostile_history = make_history(make_points(30), make_change(9), cell=make_cell(HOSTILE, HOSTILE))
    return {
        "cell": render_cell(make_history(make_points(40, step=20), make_change(20)), Period(), live),
        "cell-static": render_cell(make_history(make_points(40, step=20)), Period(), make_site(live=False)),
        "cell-empty": render_cell(make_history(()), Period(), live),
        "cell-huge": render_cell(make_history(make_points(10_000, step=5_000), make_change(5_000)), Period(), live),
        "cell-hostile": render_cell(hostile_history, Period(), hostile),
        "changes": render_some_changes(live),
        "changes-static": render_some_changes(make_site(live=False)),
        "changes-empty": render_changes((), (), Period(), Selection(), live),
        "changes-hostile": render_changes((_hostile_change(),), (), Period(), Selection(text=HOSTILE), hostile),
        "result": render_ok(live),
        "result-failed": render_failed(live),
        "result-hostile": render_hostile(hostile),
        "alarms": render_alarms(
            [row_of(bisected_step()), row_of(closed()).model_copy(update={"stage": AlarmStage.CLOSED})], live
        ),
        "alarms-empty": render_alarms([], live),
        "alarm": render_alarm(detail_of(bisected_step()), live),
        "alarm-static": render_alarm(detail_of(bisected_step()), make_site(live=False)),
        "alarm-hostile": render_alarm(detail_of(nasty_subjects(), HOSTILE), hostile),
        "error": render_error(404, "no cell with this key", "", live),
        "error-hostile": render_error(400, HOSTILE, HOSTILE, hostile),
    }


def render_some_changes(site: Site) -> str:
    """Return a page with a regression, an improvement and a level."""
    worse = make_change(9)
    better = make_change(30, verdict=Verdict.IMPROVEMENT, effect=Effect(log_ratio=-0.05))
    level = make_change(40, proof=ProofKind.MEDIANS, verdict=Verdict.UNDECIDED, alarm="", culprit=False, before=None)
    return render_changes((worse, better), (level,), Period(), Selection(), site)


def row_of(report: AlarmReport, text: str = "looking at it") -> AlarmRow:
    """Return the row of an alarm, acknowledged with a remark."""
    alarm = report.alarm
    remark = AlarmRemark(action=AlarmAction.ACKNOWLEDGE, person="Ada", time=START, text=text)
    return AlarmRow(
        identity=alarm.identity,
        cell=make_cell(),
        title=alarm.change.title,
        device=report.device_name,
        metric=alarm.change.metric,
        stage=alarm.stage,
        effect=alarm.size.effect,
        culprits=tuple(make_commit(number) for number, _ in enumerate(alarm.culprits)),
        opened=alarm.opened,
        updated=alarm.updated,
        acknowledged=remark,
        remarks=(remark,),
    )


def detail_of(report: AlarmReport, text: str = "looking at it") -> AlarmDetail:
    """Return everything about an alarm."""
    return AlarmDetail(row=row_of(report, text), report=report)


def render_ok(site: Site) -> str:
    """Return the page of a result with files."""
    result = ok_result(samples=[1.0, 1.1, 1.2, 1.3] * 5, launches=5)
    files = (ArtifactInfo(name="logs/0.txt", digest="a" * 64, size_bytes=1234),)
    return render_result(result, _row(result.uid), files, site)


def render_failed(site: Site) -> str:
    """Return the page of a failed result."""
    result = failed_result()
    row = _row(result.uid).model_copy(update={"outcome": result.outcome, "reason": result.reason or "", "figure": None})
    return render_result(result, row, (), site)


def render_hostile(site: Site) -> str:
    """Return the page of a result whose names attack it."""
    origin = Origin(format=HOSTILE, file=HOSTILE, digest="e" * 64, place=HOSTILE, published=3.0)
    result = ok_result(identifier=HOSTILE, model=HOSTILE).model_copy(update={"origin": origin})
    commit = CommitInfo(id=HOSTILE, subject=HOSTILE, url="javascript:alert(1)")
    row = _row(result.uid).model_copy(
        update={"cell": make_cell(HOSTILE, HOSTILE), "commit": commit, "origin": origin, "reproduce": HOSTILE}
    )
    return render_result(result, row, (ArtifactInfo(name=HOSTILE, digest="a" * 64, size_bytes=1),), site)


def _row(uid: str) -> ResultRow:
    return ResultRow(
        uid=uid,
        cell=make_cell(),
        commit=make_commit(3),
        time=START,
        outcome=Outcome.OK,
        reproduce="harness -b 'a b.json'",
    )


def _hostile_change() -> ChangeRow:
    commit = CommitInfo(id=HOSTILE, subject=HOSTILE, author=HOSTILE, url="javascript:alert(1)")
    metric = LATENCY.model_copy(update={"name": HOSTILE})
    return make_change(
        1, cell=make_cell(HOSTILE, HOSTILE), metric=metric, after=commit, before=commit, reproduce=HOSTILE
    )
