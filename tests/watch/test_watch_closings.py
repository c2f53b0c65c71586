"""Alarms that a person closes or opens again, and what people hear of it."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from harness.core.alarm import Alarm, AlarmEvent, AlarmStage, Closing, Verification
from harness.core.commit import Commit
from harness.core.culprit import Candidate, SearchResult
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.verdict import Verdict
from harness.flows.inspect.status import status_of
from harness.watch.closings import ClosedAlarms, close_alarms, reopen_alarms
from harness.watch.loop import watch
from harness.watch.store.state import State
from harness.watch.tasks import WatchTasks
from tests.watch.test_watch_alarms import RecordingChannel, slow_commit, step_or_recovery
from tests.watch.test_watch_migration import WRITTEN
from tests.watch.watching import Clock, Laboratory, Line, change, confirmed, found, orders

STEP = "step of mv2"


def decide(state: State, name: str = STEP, *, by: str = "") -> ClosedAlarms:
    return close_alarms(state.path, name, Closing(person="ada", time=9.0, reason="wanted", by=by))


def watch_slow_commit(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, channel: RecordingChannel
) -> WatchTasks:
    slow_commit(laboratory, *line.ids[1:], "c3")
    tasks = WatchTasks(laboratory.compare, step_or_recovery, confirmed, lambda *_: found("c1"))
    watch(orders(line, base="c0", since="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    assert channel.events == [(STEP, AlarmEvent.CONFIRMED), (STEP, AlarmEvent.BISECTED)]
    channel.events.clear()
    return tasks


def the_alarm(state: State) -> Alarm:
    (alarm,) = state.alarms.in_stages(*AlarmStage)
    return alarm


def test_a_person_closes_an_alarm_while_a_watcher_has_the_state(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    channel = RecordingChannel()
    tasks = watch_slow_commit(state, line, laboratory, clock, channel)
    assert len(status_of(state.path).unresolved) == 1
    closed = decide(state)
    assert the_alarm(state).stage is AlarmStage.CLOSED
    assert (closed.receivers, closed.has_reports) == (("hook",), False)
    assert the_alarm(state).reason == "closed by ada: wanted"
    assert status_of(state.path).unresolved == ()
    line.ids.append("c3")
    watch(orders(line, base="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    assert channel.events == [(STEP, AlarmEvent.CLOSED)], "told once, and the change is not found again"


def test_a_repair_is_named_by_a_commit_that_was_watched(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    line.ids = ["c0", "c1", "commit2"]
    slow_commit(laboratory, "commit2")
    watch_slow_commit(state, line, laboratory, clock, RecordingChannel())
    with pytest.raises(UsageError, match="knows no such commit"):
        decide(state, by="nothing")
    decide(state, by="comm")
    assert the_alarm(state).reason == "repaired by commit2, closed by ada: wanted"
    assert the_alarm(state).closing == Closing(person="ada", time=9.0, reason="wanted", by="commit2")


def test_all_alarms_of_a_culprit_are_closed_together(state: State) -> None:
    culprit = "1234567890abcdef"
    search, candidates = found(culprit)
    for number in range(3):
        changed = change(f"{number}aaaa", benchmark=f"model {number}")
        state.alarms.open(changed, 1.0)
        stored = Alarm(change=changed, stage=AlarmStage.REPORTED, opened=1.0, updated=1.0)
        state.alarms.update(stored.model_copy(update={"search": search, "candidates": candidates}))
    assert len(decide(state, "2aaa").alarms) == 1
    assert len(decide(state, "12345678").alarms) == 2, "those that were still open"
    with pytest.raises(UsageError, match="closed already: closed by ada: wanted"):
        decide(state, "12345678")


def test_a_name_that_means_no_alarm_or_several_is_refused(state: State) -> None:
    for identity, last in (("abcd1", "1111aaaa"), ("abcd2", "1111bbbb")):
        state.alarms.open(change(identity, last=last), 1.0)
    for name, words in (
        ("abcd", "could be 2 alarms"),
        ("1111", "could be 2 commits"),
        ("abc", "there is no alarm"),
        ("", "there is no alarm"),
        ("ffff", "there is no alarm"),
    ):
        with pytest.raises(UsageError, match=words):
            decide(state, name)
    assert not state.alarms.in_stages(AlarmStage.CLOSED)


def test_there_is_nothing_to_close_without_a_state(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no state"):
        close_alarms(tmp_path / "no.db", "abcd", Closing(person="ada", time=1.0, reason="x"))
    assert not list(tmp_path.iterdir())


def test_the_state_of_an_earlier_harness_is_left_to_its_watcher(tmp_path: Path) -> None:
    older = tmp_path / "watch.db"
    with contextlib.closing(sqlite3.connect(older)) as connection:
        connection.executescript(WRITTEN.read_text(encoding="utf-8"))
    before = older.read_bytes()
    with pytest.raises(EnvironmentProblem, match="is of an earlier harness"):
        close_alarms(older, "abcd", Closing(person="ada", time=1.0, reason="x"))
    assert older.read_bytes() == before


def test_an_alarm_that_is_closed_while_it_is_verified_stays_closed_and_is_not_told(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c1", "c2")
    channel = RecordingChannel()

    def verify(alarm: Alarm) -> Verification:
        decide(state)
        return confirmed(alarm)

    tasks = WatchTasks(laboratory.compare, step_or_recovery, verify, lambda *_: found("c1"))
    summary = watch(orders(line, base="c0", since="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    assert (channel.events, summary.alarms) == ([], ())
    assert (the_alarm(state).stage, the_alarm(state).reason) == (AlarmStage.CLOSED, "closed by ada: wanted")
    assert the_alarm(state).verification is not None, "what was measured is kept"


def test_an_alarm_that_is_closed_while_its_search_fails_stays_closed(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c1", "c2")
    channel = RecordingChannel()

    def search(*_: object) -> tuple[SearchResult, tuple[Candidate, ...]]:
        decide(state)
        raise UsageError("no such benchmark")

    tasks = WatchTasks(laboratory.compare, step_or_recovery, confirmed, search)
    watch(orders(line, base="c0", since="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    assert the_alarm(state).stage is AlarmStage.CLOSED
    assert channel.events == [(STEP, AlarmEvent.CONFIRMED), (STEP, AlarmEvent.CLOSED)]


def test_an_alarm_that_is_opened_again_is_told_and_its_next_end_too(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    channel = RecordingChannel()
    tasks = watch_slow_commit(state, line, laboratory, clock, channel)
    with pytest.raises(UsageError, match="is open already"):
        reopen_alarms(state.path, STEP, "ada", "no reason", 10.0)
    decide(state)
    reopen_alarms(state.path, STEP, "bob", "still slow", 10.0)
    assert (the_alarm(state).stage, the_alarm(state).closing) == (AlarmStage.REPORTED, None)
    assert the_alarm(state).reopened == ("opened again by bob: still slow",)
    decide(state)
    watch(orders(line, base="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    assert [event for _, event in channel.events] == [AlarmEvent.CLOSED, AlarmEvent.REOPENED, AlarmEvent.CLOSED]


def test_a_suspicion_that_was_closed_is_verified_when_it_is_opened_again(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    state.alarms.open(change(STEP), 1.0)
    decide(state)
    reopen_alarms(state.path, STEP, "bob", "look again", 10.0)
    assert the_alarm(state).stage is AlarmStage.OPENED


def test_an_alarm_that_its_verification_refuted_is_not_opened_again(state: State) -> None:
    refuted = Verification(confirmed=False, verdict=Verdict.NO_CHANGE, reason="equal")
    state.alarms.open(change(STEP), 1.0)
    state.alarms.update(the_alarm(state).model_copy(update={"stage": AlarmStage.CLOSED, "verification": refuted}))
    with pytest.raises(UsageError, match="was not confirmed"):
        reopen_alarms(state.path, STEP, "bob", "I doubt it", 10.0)


def test_a_forced_push_that_closes_an_alarm_is_told_and_so_is_its_return(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    line.ids = ["c0", "c1", "c2"]
    channel = RecordingChannel()
    slow_commit(laboratory, "c2")
    tasks = WatchTasks(laboratory.compare, step_or_recovery, confirmed, lambda *_: found("c2"))
    watch(orders(line, base="c0", since="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    channel.events.clear()
    line.ids = ["c0", "c1", "n2"]
    watch(orders(line, base="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    assert channel.events == [(STEP, AlarmEvent.CLOSED)]
    line.ids = ["c0", "c1", "c2"]
    watch(orders(line, base="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    assert [event for _, event in channel.events[1:]] == [AlarmEvent.CONFIRMED, AlarmEvent.BISECTED]
    assert the_alarm(state).reopened == ("its commits are in the history again",)


def test_an_alarm_whose_repair_vanishes_is_told_to_be_open_again(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    channel = RecordingChannel()
    tasks = watch_slow_commit(state, line, laboratory, clock, channel)
    line.ids = ["c0", "c1", "c2", "repair"]
    watch(orders(line, base="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    decide(state, by="repair")
    line.ids = ["c0", "c1", "c2", "new"]
    slow_commit(laboratory, "new")
    watch(orders(line, base="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    step = state.alarms.find(STEP)
    assert step is not None
    assert step.stage is AlarmStage.REPORTED
    assert [event for identity, event in channel.events if identity == STEP][-2:] == [
        AlarmEvent.CLOSED,
        AlarmEvent.REOPENED,
    ]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("Faster loop\n\nThis reverts commit 1234567890abcdef.", "taken back by c2"),
        ('Faster loop\n\nFixes: 1234567890 ("Use a slower loop")', "repaired by c2"),
        ("Faster loop\n\nSee 1234567890abcdef, which this does not touch.", ""),
        ("Faster loop\n\nIt fixes: nothing", ""),
    ],
)
def test_the_whole_message_of_a_commit_says_what_it_repairs(
    state: State, laboratory: Laboratory, clock: Clock, message: str, reason: str
) -> None:
    line = Line(["c0", "1234567890abcdef", "c2"])
    slow_commit(laboratory, "1234567890abcdef")
    tasks = WatchTasks(
        laboratory.compare,
        step_or_recovery,
        confirmed,
        lambda alarm, *_: found(alarm.change.first_with),
        lambda commit: message if commit.id == "c2" else commit.subject,
    )
    watch(orders(line, base="c0", since="c0"), tasks, state, timing=clock.timing)
    closed = [alarm.reason for alarm in state.alarms.in_stages(AlarmStage.CLOSED)]
    assert closed == ([reason] if reason else [])


def test_a_repair_inside_a_merge_closes_the_alarm_once_the_improvement_was_searched(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    """`c1` brought `slow`, and `c2` the commit that takes it back; both merges say nothing of it."""
    brought = {
        "c1": Commit(source=line.name, id="51" * 20, subject="Use a slower loop"),
        "c2": Commit(source=line.name, id="b4" * 20, subject='Revert "Use a slower loop"'),
    }
    slow_commit(laboratory, "c1")
    channel = RecordingChannel()

    def search(alarm: Alarm, *_: object) -> tuple[SearchResult, tuple[Candidate, ...]]:
        inner = brought[alarm.change.first_with]
        result, (candidate,) = found(alarm.change.first_with)
        (culprit,) = result.culprits
        culprit = culprit.model_copy(update={"commits": (inner.id,), "merges": (alarm.change.first_with,)})
        return result.model_copy(update={"culprits": (culprit,)}), (Candidate(commit=inner), candidate)

    tasks = WatchTasks(laboratory.compare, step_or_recovery, confirmed, search)
    watch(orders(line, base="c0", since="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    assert [event for identity, event in channel.events if identity == STEP] == [
        AlarmEvent.CONFIRMED,
        AlarmEvent.BISECTED,
        AlarmEvent.RECOVERED,
        AlarmEvent.CLOSED,
    ]
    step = state.alarms.find(STEP)
    assert step is not None
    assert step.reason == f"taken back by {'b4' * 6}"


def test_taking_back_a_merge_takes_back_what_it_brought(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    line.subjects |= {"c1": "Merge branch 'fast'", "c2": "Revert \"Merge branch 'fast'\""}
    slow_commit(laboratory, "c1")

    def search(alarm: Alarm, *_: object) -> tuple[SearchResult, tuple[Candidate, ...]]:
        inner = Commit(source=line.name, id="51" * 20, subject="Use a slower loop")
        result, (candidate,) = found("c1")
        (culprit,) = result.culprits
        culprit = culprit.model_copy(update={"commits": (inner.id,), "merges": ("c1",)})
        return result.model_copy(update={"culprits": (culprit,)}), (Candidate(commit=inner), candidate)

    tasks = WatchTasks(laboratory.compare, step_or_recovery, confirmed, search)
    watch(orders(line, base="c0", since="c0"), tasks, state, timing=clock.timing)
    assert [alarm.reason for alarm in state.alarms.in_stages(AlarmStage.CLOSED)] == ["taken back by c2"]
