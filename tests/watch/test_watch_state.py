"""What a watcher remembers, whatever happens to it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core.alarm import Alarm, AlarmEvent, AlarmStage
from harness.core.effect import Effect
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.metric import Direction, MetricInfo
from harness.core.verdict import Verdict
from harness.watch.store.commits import CommitStatus
from harness.watch.store.database import VERSION, StateFull
from harness.watch.store.event_log import MOST_EVENTS, CurrentActivity
from harness.watch.store.notifications import DeliveryStatus
from harness.watch.store.state import MOST_KILLS, State, open_state, read_state
from harness.watch.store.state_lock import Owner, last_owner, this_process
from tests.processes import wait_until, written
from tests.watch.watching import Line, change, limit_pages, page_count, point

CHANGE = change("x")


def waiting(state: State, *ids: str) -> None:
    for identity in ids:
        state.commits.add(Line().commit(identity), CommitStatus.WAITING)


def test_commits_are_taken_in_the_order_in_which_they_came(state: State) -> None:
    waiting(state, "b", "a")
    first = state.commits.next()
    assert first is not None
    assert first.commit == Line().commit("b")
    state.commits.finish(first, CommitStatus.DONE, "", 5.0)
    second = state.commits.next()
    assert second is not None
    assert second.commit.id == "a"


def test_a_commit_that_is_known_is_not_added_twice(state: State) -> None:
    waiting(state, "a", "a")
    assert state.commits.counts() == {CommitStatus.WAITING: 1}


def test_a_withdrawn_commit_waits_again_when_history_comes_back(state: State) -> None:
    waiting(state, "a", "b")
    assert state.commits.withdraw("a", keep=()) == 1
    assert [entry.commit.id for entry in state.commits.with_status(CommitStatus.SKIPPED)] == ["b"]
    waiting(state, "b")
    assert [entry.commit.id for entry in state.commits.with_status(CommitStatus.WAITING)] == ["a", "b"]


def test_a_commit_is_finished_once(state: State) -> None:
    waiting(state, "a")
    entry = state.commits.next()
    assert entry is not None
    state.commits.finish(entry, CommitStatus.DONE, "", 1.0)
    with pytest.raises(EnvironmentProblem, match="by another program"):
        state.commits.finish(entry, CommitStatus.DONE, "", 2.0)


def test_a_transaction_that_breaks_leaves_nothing(state: State) -> None:
    def change() -> None:
        with state.transaction():
            waiting(state, "a")
            state.points.add(state.commits.with_status(CommitStatus.WAITING)[0], point("c0"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change()
    assert not state.commits.counts()
    assert not state.points.every_series()


def test_a_point_comes_back_as_it_was_and_knows_its_place(state: State) -> None:
    waiting(state, "c0", "c1")
    control, entry = state.commits.with_status(CommitStatus.WAITING)
    speed = MetricInfo(name="LLM speed", unit="tokens/s", direction=Direction.HIGHER)
    effect = Effect(log_ratio=0.25, low_log_ratio=0.2)
    made = point("c0", commit="c1").model_copy(
        update={"metric": speed, "verdict": Verdict.UNDECIDED, "effect": effect, "standard_error": 0.1}
    )
    state.points.add(entry, made)
    (series,) = state.points.every_series()
    places = {"order": entry.position, "control_order": control.position}
    assert series.points == (made.model_copy(update=places),)
    assert series.metric == speed


def test_a_point_of_equal_bytes_is_in_every_series_of_its_benchmark_and_device(state: State) -> None:
    waiting(state, "same", "slower", "larger")
    same, slower, larger = state.commits.with_status(CommitStatus.WAITING)
    equal = point("c0").model_copy(update={"metric": None})
    state.points.add(same, equal)
    (alone,) = state.points.every_series()
    assert (alone.metric, [placed.commit for placed in alone.points]) == (None, ["same"])
    state.points.add(slower, point("c0", 0.04))
    state.points.add(larger, point("c0", 0.1).model_copy(update={"metric": MetricInfo(name="NET memory")}))
    found = {series.key.metric: [placed.commit for placed in series.points] for series in state.points.every_series()}
    assert found == {"NET latency": ["same", "slower"], "NET memory": ["same", "larger"]}
    assert [key.metric for key in state.points.keys(equal)] == ["NET latency", "NET memory"]
    elsewhere = equal.model_copy(update={"device": "another board"})
    state.points.add(same, elsewhere)
    assert [key.metric for key in state.points.keys(elsewhere)] == [""]


def test_points_are_in_the_order_of_commits_also_where_history_came_back(state: State) -> None:
    waiting(state, "back", "other")
    for entry in state.commits.with_status(CommitStatus.WAITING):
        state.points.add(entry, point("c0"))
    state.commits.withdraw(None, keep=("other",))
    waiting(state, "back")
    (series,) = state.points.every_series()
    assert [placed.commit for placed in series.points] == ["other", "back"]


def test_an_alarm_is_opened_once_and_delivered_once_to_each_channel(state: State) -> None:
    assert state.alarms.open(CHANGE, 1.0)
    assert not state.alarms.open(CHANGE, 2.0)
    alarm = state.alarms.find("x")
    assert alarm == Alarm(change=CHANGE, stage=AlarmStage.OPENED, opened=1.0, updated=1.0)
    for _ in range(2):
        state.deliveries.queue(alarm, AlarmEvent.CONFIRMED, ("command", "hook"), 3.0)
    assert sorted(delivery.channel for delivery in state.deliveries.with_status(DeliveryStatus.WAITING)) == [
        "command",
        "hook",
    ]


def test_the_progress_of_a_search_is_kept(state: State) -> None:
    state.alarms.open(CHANGE, 1.0)
    assert state.alarms.load_search("x") is None
    for tried in (1, 2):
        state.alarms.save_search("x", f"tried {tried}")
    assert state.alarms.load_search("x") == "tried 2"


def test_old_events_are_forgotten(state: State) -> None:
    with state.transaction():
        for number in range(MOST_EVENTS + 5):
            state.log.record(str(number), 1.0)
    kept = state.log.latest(2 * MOST_EVENTS)
    assert len(kept) == MOST_EVENTS
    assert kept[0].text == str(MOST_EVENTS + 4)


def test_what_ran_when_a_watcher_was_killed_waits_again(state: State) -> None:
    waiting(state, "a")
    entry = state.commits.next()
    assert entry is not None
    state.commits.begin(entry, Line().commit("c0"), 1.0)
    assert state.commits.next() is None
    state.recover(2.0)
    again = state.commits.next()
    assert again is not None
    assert again.attempts == 1


def test_a_commit_that_kills_the_harness_again_and_again_is_given_up(state: State) -> None:
    waiting(state, "a", "b")
    for _ in range(MOST_KILLS):
        entry = state.commits.next()
        assert entry is not None
        assert entry.commit.id == "a"
        state.commits.begin(entry, Line().commit("c0"), 1.0)
        state.recover(2.0)
    (given_up,) = state.commits.with_status(CommitStatus.FAILED)
    assert given_up.commit.id == "a"
    assert "killed 3 times" in given_up.reason


def test_a_person_who_stops_the_harness_does_not_count_against_the_commit(state: State) -> None:
    waiting(state, "a")
    for _ in range(2 * MOST_KILLS):
        entry = state.commits.next()
        assert entry is not None
        state.commits.release(state.commits.begin(entry, Line().commit("c0"), 1.0), counts=False)
    state.recover(1.0)
    assert state.commits.counts() == {CommitStatus.WAITING: 1}


def test_a_second_watcher_is_refused_with_the_name_of_the_first(state: State, state_file: Path) -> None:
    with pytest.raises(EnvironmentProblem) as caught, open_state(state_file):
        pytest.fail("two watchers")
    assert f"process {os.getpid()} on {socket.gethostname()}" in caught.value.message


def test_a_watcher_that_ended_in_order_leaves_nobody_behind(state_file: Path) -> None:
    for _ in range(2):
        with open_state(state_file) as state:
            assert state.predecessor is None
    assert last_owner(state_file) is None


def test_a_killed_watcher_is_taken_over_from(state_file: Path, tmp_path: Path) -> None:
    said = tmp_path / "said"
    code = (
        "import pathlib, sys, time; from harness.watch.store.state import open_state\n"
        "with open_state(pathlib.Path(sys.argv[1])):\n"
        "    pathlib.Path(sys.argv[2]).write_text('held'); time.sleep(600)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(state_file), str(said)])
    try:
        wait_until(lambda: written(said))
        with pytest.raises(EnvironmentProblem, match=f"process {holder.pid} "), open_state(state_file):
            pytest.fail("two watchers")
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with open_state(state_file) as state:
        assert state.predecessor is not None
        assert state.predecessor.pid == holder.pid
        assert state.predecessor.is_alive is False


def test_whether_an_owner_lives_is_not_guessed_from_a_pid_used_again_or_another_machine() -> None:
    us = this_process()
    assert us.is_alive
    assert us.model_copy(update={"started": us.started - 1000}).is_alive is False
    assert Owner(pid=us.pid, host="elsewhere.example", started=us.started).is_alive is None


def test_a_state_can_be_looked_at_while_it_is_held_and_not_changed(state: State, state_file: Path) -> None:
    state.log.write(CurrentActivity(what="comparing", since=4.0))
    with read_state(state_file) as seen:
        assert seen.log.read(CurrentActivity) == CurrentActivity(what="comparing", since=4.0)
        with pytest.raises(EnvironmentProblem, match="readonly"):
            seen.log.forget(CurrentActivity)


def test_looking_at_a_state_that_is_not_there_makes_none(state_file: Path) -> None:
    with pytest.raises(UsageError, match="no state"), read_state(state_file):
        pytest.fail("there is none")
    assert not state_file.exists()


def test_a_state_of_a_newer_harness_is_refused_and_left_alone(state_file: Path) -> None:
    with open_state(state_file):
        pass
    with sqlite3.connect(state_file) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    with pytest.raises(EnvironmentProblem, match=f"schema version {VERSION + 1}"), open_state(state_file):
        pytest.fail("it cannot be read")


def test_a_database_of_something_else_is_refused(state_file: Path) -> None:
    state_file.parent.mkdir()
    with sqlite3.connect(state_file) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    with pytest.raises(UsageError, match="something else"), open_state(state_file):
        pytest.fail("it is not ours")


@pytest.mark.parametrize("where", ["head", "middle"])
def test_a_damaged_state_says_so_and_what_to_do(state_file: Path, where: str) -> None:
    with open_state(state_file) as state, state.transaction():
        waiting(state, *(f"commit-{number:040}" for number in range(500)))
    content = bytearray(state_file.read_bytes())
    begin = 0 if where == "head" else len(content) // 2
    content[begin : begin + 8192] = b"\xa5" * 8192
    state_file.write_bytes(content)
    with pytest.raises(EnvironmentProblem, match="damaged") as caught, open_state(state_file):
        pytest.fail("it is damaged")
    assert "mv " in (caught.value.hint or "")


def test_a_full_disk_changes_nothing_and_can_be_tried_again(state: State) -> None:
    waiting(state, "a")
    limit_pages(state, page_count(state))

    def fill() -> None:
        with state.transaction():
            for number in range(2000):
                state.log.record("x" * 1000, float(number))

    with pytest.raises(StateFull):
        fill()
    assert not state.log.latest()
    limit_pages(state, 1 << 20)
    waiting(state, "b")
    assert state.commits.counts() == {CommitStatus.WAITING: 2}


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("UPDATE commits SET status = 'lost'", "CommitCount has no valid status"),
        ("UPDATE deliveries SET status = 'lost'", "DeliveryCount has no valid status"),
        ("UPDATE points SET standard_error = 0", "Row has no valid standard_error"),
        ("UPDATE points SET pairs = -1", "Row has no valid pairs"),
    ],
)
def test_a_stored_value_that_is_not_valid_is_an_error_of_the_environment(
    state: State, state_file: Path, script: str, problem: str
) -> None:
    waiting(state, "a")
    state.points.add(state.commits.get("a"), point("c0").model_copy(update={"standard_error": 0.1, "pairs": 1}))
    state.deliveries.queue(
        Alarm(change=CHANGE, stage=AlarmStage.OPENED, opened=1.0, updated=1.0), AlarmEvent.CONFIRMED, ("hook",), 1.0
    )
    with contextlib.closing(sqlite3.connect(state_file)) as connection, connection:
        connection.execute(script)
    with pytest.raises(EnvironmentProblem, match=problem):
        (state.commits.counts(), state.deliveries.counts(), state.points.every_series())


def test_a_folder_that_cannot_be_written_is_an_error_of_the_environment(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="cannot"), open_state(tmp_path / "file" / "watch.sqlite"):
        pytest.fail("there is no such folder")
