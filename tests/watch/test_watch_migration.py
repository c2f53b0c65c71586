"""State files that an earlier harness wrote.

`golden/state_version_1.sql` was written by the harness that had schema version 1: it watched sixteen commits, of which
the ninth is 5 % slower, found that culprit, and has a second alarm, of another metric, that is not verified yet.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from pathlib import Path

import pytest

from harness.analysis.bisect.search import Search
from harness.analysis.trend.changes import TrendReader
from harness.core.alarm import AlarmEvent, AlarmStage
from harness.core.change import ChangeKind
from harness.core.commit import Commit
from harness.core.effect import Effect
from harness.core.errors import EnvironmentProblem
from harness.core.metric import Direction, MetricInfo
from harness.core.series import SeriesPoint
from harness.core.verdict import OutputVerdict
from harness.flows.inspect.status import status_of
from harness.watch.loop import watch
from harness.watch.store.commits import CommitStatus
from harness.watch.store.database import VERSION
from harness.watch.store.event_log import BrokenCommits, PollCursor
from harness.watch.store.notifications import DeliveryStatus
from harness.watch.store.state import State, open_state
from harness.watch.tasks import CommitOutcome, WatchTasks
from tests.watch.watching import Clock, Line, orders, point

WRITTEN = Path(__file__).parent / "golden" / "state_version_1.sql"
COMMITS = [f"{number:040x}" for number in range(16)]
SLOWER = "de44735d99ab0ff1-mv2"
"""Identity of the first alarm, as the earlier harness called it."""
WITHOUT_CHECKS = "ALTER TABLE points DROP COLUMN last_good_checks; ALTER TABLE points DROP COLUMN doubt;"


@pytest.fixture
def old_state(tmp_path: Path) -> Path:
    file = tmp_path / "watch.db"
    execute(file, WRITTEN.read_text(encoding="utf-8"))
    return file


def execute(file: Path, script: str) -> None:
    connection = sqlite3.connect(file)
    connection.executescript(script)
    connection.close()


def version_of(file: Path) -> int:
    connection = sqlite3.connect(file)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return int(version)


def test_commits_and_where_the_watcher_was_are_kept(old_state: Path) -> None:
    with open_state(old_state) as state:
        assert state.commits.counts() == {CommitStatus.DONE: 14, CommitStatus.BUILD_FAILED: 1}
        assert [entry.reason for entry in state.commits.with_status(CommitStatus.BUILD_FAILED)] == ["no compiler"]
        assert state.log.read(BrokenCommits) == BrokenCommits(commits=(COMMITS[4],))
        cursor = state.log.read(PollCursor)
        assert cursor is not None
        assert (cursor.cursor.id, cursor.tip) == (COMMITS[15], COMMITS[15])
        assert any("bisected: step of mv2/xnnpack" in event.text for event in state.log.latest(100))
    assert version_of(old_state) == VERSION


def test_series_are_kept_with_their_metrics_and_intervals(old_state: Path) -> None:
    with open_state(old_state) as state:
        latency, speed = sorted(state.points.every_series(), key=lambda series: series.key.metric, reverse=True)
    assert latency.metric == MetricInfo(name="NET latency", unit="us")
    assert speed.metric == MetricInfo(name="LLM speed", direction=Direction.HIGHER)
    equal, *_ = [point for point in latency.points if point.metric is None]
    assert (equal.commit, equal.effect) == (COMMITS[2], Effect(log_ratio=0.0, low_log_ratio=0.0, high_log_ratio=0.0))
    slow = latency.points[-1]
    assert slow.effect is not None
    assert slow.effect.log_ratio == pytest.approx(0.05, abs=0.001)
    assert slow.effect.low_log_ratio == pytest.approx(slow.effect.log_ratio - 0.006)
    assert (slow.standard_error, slow.pairs) == (0.002, 10)
    newest = speed.points[-1].effect
    assert newest is not None
    assert newest.low_log_ratio is None


def test_an_alarm_keeps_what_was_measured_and_found(old_state: Path) -> None:
    with open_state(old_state) as state:
        alarm = state.alarms.find(SLOWER)
        assert alarm is not None
        progress = state.alarms.load_search(SLOWER)
    change, verification, search = alarm.change, alarm.verification, alarm.search
    assert (alarm.stage, change.kind, change.title) == (AlarmStage.BISECTED, ChangeKind.STEP, "mv2/xnnpack")
    assert (change.last_without, change.first_with) == (COMMITS[6], COMMITS[9])
    assert (change.before_order, change.after_order) == (6, 9)
    assert change.effect.log_ratio == pytest.approx(0.05, abs=0.002)
    assert change.metric == MetricInfo(name="NET latency", unit="us")
    assert verification is not None
    assert verification.confirmed
    assert verification.effect is not None
    assert verification.effect.relative_change == pytest.approx(0.0513)
    assert verification.effect.low_relative_change == pytest.approx(0.047)
    assert (verification.evidence, verification.pairs, len(verification.log_ratios)) == (1240.0, 4, 4)
    assert search is not None
    (culprit,) = search.culprits
    assert culprit.commits == (COMMITS[8],)
    assert culprit.effect.relative_change == pytest.approx(0.0512)
    assert culprit.effect.high_log_ratio is None
    assert search.total_log_ratio is not None
    assert [candidate.commit.id for candidate in alarm.candidates] == COMMITS[7:10]
    assert progress is not None
    assert Search.model_validate_json(progress).pairs == 2


def test_an_alarm_that_was_not_verified_yet_knows_which_way_is_better(old_state: Path) -> None:
    with open_state(old_state) as state:
        (alarm,) = state.alarms.in_stages(AlarmStage.OPENED)
    assert alarm.change.metric == MetricInfo(name="LLM speed", direction=Direction.HIGHER)
    assert (alarm.reason, alarm.attempts) == ("the phone is charging", 1)
    assert (alarm.verification, alarm.search, alarm.candidates) == (None, None, ())


def test_alarms_and_points_have_the_unit_that_an_alarm_of_their_metric_was_verified_with(old_state: Path) -> None:
    execute(old_state, """UPDATE alarms SET alarm = replace(alarm, '"LLM speed"', '"NET latency"')""")
    with open_state(old_state) as state:
        (alarm,) = state.alarms.in_stages(AlarmStage.OPENED)
        units = {(point.metric.name, point.metric.unit) for point in points_of(state) if point.metric is not None}
    assert (alarm.change.metric.name, alarm.change.metric.unit) == ("NET latency", "us")
    assert units == {("NET latency", "us"), ("LLM speed", "")}


def test_a_unit_that_alarms_do_not_agree_on_stays_unknown(old_state: Path) -> None:
    copied = """replace(alarm, '"unit":"us"', '"unit":"ms"') FROM alarms WHERE identity"""
    execute(old_state, f"INSERT INTO alarms SELECT 'other', stage, opened, {copied} = '{SLOWER}'")
    with open_state(old_state) as state:
        assert {point.metric.unit for point in points_of(state) if point.metric is not None} == {""}
        alarm = state.alarms.find(SLOWER)
    assert alarm is not None
    assert alarm.change.metric.unit == "us"


def points_of(state: State) -> list[SeriesPoint]:
    return [point for series in state.points.every_series() for point in series.points]


@pytest.mark.parametrize(
    ("key", "kind"),
    [("Doing", "CurrentActivity"), ("Polled", "PollStatus"), ("Trouble", "LastError"), ("Unknown", "Unknown")],
)
def test_a_fact_that_a_watcher_writes_anew_is_left_out_where_it_cannot_be_read(
    old_state: Path, key: str, kind: str
) -> None:
    execute(old_state, f"""INSERT OR REPLACE INTO notebook VALUES ('{key}', '{{"failures": "many"}}')""")
    with open_state(old_state):
        pass
    with contextlib.closing(sqlite3.connect(old_state)) as connection:
        kinds = {str(stored) for (stored,) in connection.execute("SELECT kind FROM facts")}
    assert kinds == {"CurrentActivity", "PollStatus", "PollCursor", "BrokenCommits"} - {kind}


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("UPDATE notebook SET value = '{}' WHERE key = 'Place'", r"PollCursor has no valid cursor: Field required$"),
        ("UPDATE notebook SET value = '{\"commits\": 1}' WHERE key = 'Broken'", r"BrokenCommits .*commits: [^\n]*$"),
        (
            """UPDATE alarms SET alarm = replace(alarm, '"stage":"bisected"', '"stage":"lost"')""",
            r"Alarm has no valid stage: [^\n]*$",
        ),
    ],
)
def test_the_part_of_an_old_state_that_cannot_be_read_is_named_on_one_line(
    old_state: Path, script: str, problem: str
) -> None:
    execute(old_state, script)
    with pytest.raises(EnvironmentProblem, match="cannot be read: a stored") as caught, open_state(old_state):
        pytest.fail("it is misread")
    assert re.search(problem, caught.value.message)
    assert "\n" not in caught.value.message


def test_notifications_are_delivered_by_the_channels_that_they_waited_for(old_state: Path) -> None:
    with open_state(old_state) as state:
        waiting = state.deliveries.with_status(DeliveryStatus.WAITING)
        assert state.deliveries.counts() == {DeliveryStatus.WAITING: 2, DeliveryStatus.DELIVERED: 2}
    assert {(delivery.channel, delivery.attempts > 0) for delivery in waiting} <= {("hook", True), ("hook", False)}
    assert [delivery.notification.event for delivery in waiting] == [AlarmEvent.CONFIRMED, AlarmEvent.BISECTED]
    assert all(delivery.notification.schema_version == "2.0" for delivery in waiting)
    assert waiting[1].notification.alarm.culprits[0].commits == (COMMITS[8],)


def test_a_watcher_goes_on_and_raises_no_alarm_a_second_time(old_state: Path) -> None:
    def compare(control: Commit, treatment: Commit) -> CommitOutcome:
        return CommitOutcome(points=(point(control.id, 0.05, commit=treatment.id),))

    line = Line([*COMMITS, "f" * 40])
    with open_state(old_state) as state:
        before = {alarm.identity for alarm in state.alarms.in_stages(*AlarmStage)}
        tasks = WatchTasks(compare, TrendReader)
        watch(orders(line, base=COMMITS[0], since=COMMITS[0]), tasks, state, timing=Clock().timing)
        assert {alarm.identity for alarm in state.alarms.in_stages(*AlarmStage)} == before
        assert state.commits.counts()[CommitStatus.DONE] == 15


def test_an_alarm_in_the_former_stage_told_is_reported(old_state: Path) -> None:
    script = """UPDATE alarms SET stage = 'told', alarm = replace(alarm, '"stage":"bisected"', '"stage":"told"')"""
    execute(old_state, script)
    with open_state(old_state) as state:
        assert [alarm.identity for alarm in state.alarms.in_stages(AlarmStage.REPORTED)] == [SLOWER]


def test_the_status_of_an_old_state_is_shown_without_changing_it(old_state: Path) -> None:
    before = old_state.read_bytes()
    status = status_of(old_state)
    assert status.counts == {CommitStatus.DONE: 14, CommitStatus.BUILD_FAILED: 1}
    assert {alarm.identity for alarm in status.alarms} >= {SLOWER}
    assert old_state.read_bytes() == before


@pytest.mark.parametrize("key", ["size", "first", "stage"])
def test_a_state_that_cannot_be_migrated_is_refused_with_a_remedy_and_stays_as_it_is(old_state: Path, key: str) -> None:
    execute(old_state, f"""UPDATE alarms SET alarm = replace(alarm, '"{key}":', '"lost":')""")
    before = old_state.read_bytes()
    with pytest.raises(EnvironmentProblem, match=key) as caught, open_state(old_state):
        pytest.fail("it is misread")
    assert "--since" in (caught.value.hint or "")
    assert version_of(old_state) == 1
    assert old_state.read_bytes()[100:] == before[100:], "but for the header, in which SQLite counts"


def test_a_stored_value_that_is_not_valid_is_refused(old_state: Path) -> None:
    with open_state(old_state):
        pass
    execute(old_state, """UPDATE alarms SET alarm = replace(alarm, '"log_ratio":', '"ratio":')""")
    with (
        open_state(old_state) as state,
        pytest.raises(EnvironmentProblem, match=r"Alarm .*change\.effect\.log_ratio"),
    ):
        state.alarms.find(SLOWER)


def test_a_state_of_version_2_is_migrated_with_its_points(tmp_path: Path) -> None:
    file = tmp_path / "watch.db"
    with open_state(file) as state:
        state.commits.add(Commit(source="line:", id="c1"), CommitStatus.WAITING)
        with state.transaction():
            state.points.add(state.commits.get("c1"), point("c0", 0.05, commit="c1"))
    execute(
        file,
        f"{WITHOUT_CHECKS} ALTER TABLE points DROP COLUMN outputs; ALTER TABLE points DROP COLUMN figures;"
        "DROP TABLE judgements; PRAGMA user_version = 2",
    )
    with open_state(file) as state:
        (series,) = state.points.every_series()
        (stored,) = series.points
        assert (stored.effect, stored.figures) == (Effect(log_ratio=0.05), ())
        known = [figure for figure in stored.figure_effects if figure is not None]
        assert [figure.log_ratio for figure in known] == [0.05]
    assert version_of(file) == VERSION


def test_a_state_of_version_3_is_migrated_with_its_points(tmp_path: Path) -> None:
    file = tmp_path / "watch.db"
    with open_state(file) as state:
        state.commits.add(Commit(source="line:", id="c1"), CommitStatus.WAITING)
        with state.transaction():
            state.points.add(state.commits.get("c1"), point("c0", 0.05, commit="c1"))
    execute(file, f"{WITHOUT_CHECKS} ALTER TABLE points DROP COLUMN outputs; PRAGMA user_version = 3")
    with open_state(file) as state:
        (series,) = state.points.every_series()
        assert [stored.outputs for stored in series.points] == [None]
    assert version_of(file) == VERSION


def test_a_state_of_version_4_is_migrated_with_its_points(tmp_path: Path) -> None:
    file = tmp_path / "watch.db"
    with open_state(file) as state:
        state.commits.add(Commit(source="line:", id="c1"), CommitStatus.WAITING)
        with state.transaction():
            state.points.add(state.commits.get("c1"), point("c0", 0.05, commit="c1"))
    execute(file, f"{WITHOUT_CHECKS} PRAGMA user_version = 4")
    with open_state(file) as state:
        (series,) = state.points.every_series()
        assert [stored.last_good_checks for stored in series.points] == [{}]
    assert version_of(file) == VERSION


def test_points_keep_whether_outputs_differ(tmp_path: Path) -> None:
    with open_state(tmp_path / "watch.db") as state:
        state.commits.add(Commit(source="line:", id="c1"), CommitStatus.WAITING)
        different = point("c0", 0.05, commit="c1").model_copy(update={"outputs": OutputVerdict.DIFFERENT})
        with state.transaction():
            state.points.add(state.commits.get("c1"), different)
        (series,) = state.points.every_series()
        assert series.points[0].has_different_outputs
