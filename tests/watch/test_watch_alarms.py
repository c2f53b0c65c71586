"""Alarms in the loop of the continuous mode: verified, searched, told once, also when something breaks down."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from harness.analysis.trend.changes import TrendReader
from harness.core.alarm import Alarm, AlarmEvent, AlarmStage, Verification
from harness.core.change import ChangeKind, Trend
from harness.core.commit import Commit
from harness.core.culprit import Candidate, SearchResult
from harness.core.errors import BuildFailed, DeliveryFailed, DeviceLost, ExitCode, UsageError
from harness.core.series import FigureEffect, Series
from harness.core.verdict import Verdict
from harness.flows.inspect.status import status_of
from harness.flows.watch.watch import exit_code_of
from harness.shell import Interrupted
from harness.watch.alarm_lifecycle import MOST_SEARCHES
from harness.watch.closings import reopen_alarms
from harness.watch.loop import watch
from harness.watch.recoveries import takes_back
from harness.watch.store.commits import CommitStatus
from harness.watch.store.notifications import DeliveryStatus, Notification
from harness.watch.store.state import State
from harness.watch.tasks import CommitOutcome, ReadTrend, WatchTasks
from tests.watch.watching import (
    Clock,
    Laboratory,
    Line,
    change,
    confirmed,
    for_hours,
    found,
    orders,
    point,
    whole_series,
)
from tests.watch.watching import (
    alarm as made_alarm,
)


class RecordingChannel:
    """A channel that takes everything."""

    name = "hook"

    def __init__(self) -> None:
        self.events: list[tuple[str, AlarmEvent]] = []

    def deliver(self, notification: Notification) -> str:
        self.events.append((notification.alarm.identity, notification.event))
        return "taken"


@whole_series
def step_or_recovery(series: Series) -> Trend:
    """Find a step in any value above 4 %; a value below it after that is its recovery."""
    values = [point.effect.log_ratio for point in series.points if point.effect is not None]
    if max(values) <= 0.04:
        return Trend()
    benchmark = series.key.benchmark
    slowest = next(point for point in series.points if point.effect is not None and point.effect.log_ratio > 0.04)
    step = change(f"step of {benchmark}", benchmark=benchmark, first=slowest.control, last=slowest.commit)
    if values[-1] > 0.04:
        return Trend(changes=(step,))
    faster = next(point for point in series.points if point.order > slowest.order)
    recovery = change(
        "recovery",
        ChangeKind.RECOVERY,
        benchmark=benchmark,
        first=slowest.commit,
        last=faster.commit,
        recovers=(step.identity,),
    )
    return Trend(changes=(step, recovery))


def slow_commit(laboratory: Laboratory, *commits: str) -> None:
    for commit in commits:
        laboratory.answers[commit] = CommitOutcome(points=(point("c0", 0.05, commit=commit),))


def test_a_confirmed_alarm_is_searched_and_reported_once_each(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c1", "c2")
    channel = RecordingChannel()
    tasks = WatchTasks(laboratory.compare, step_or_recovery, confirmed, lambda *_: found("c1"))
    plan = orders(line, base="c0", since="c0")
    summary = watch(plan, tasks, state, channels=(channel,), timing=clock.timing)
    assert channel.events == [("step of mv2", AlarmEvent.CONFIRMED), ("step of mv2", AlarmEvent.BISECTED)]
    assert summary.alarms == ("step of mv2",)
    (alarm,) = state.alarms.in_stages(AlarmStage.REPORTED)
    assert [culprit.commits for culprit in alarm.culprits] == [("c1",)]
    line.ids.append("c3")
    slow_commit(laboratory, "c3")
    watch(plan, tasks, state, channels=(channel,), timing=clock.timing)
    assert len(channel.events) == 2


def test_a_suspicion_that_is_not_confirmed_is_closed_and_not_reported(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c2")
    channel = RecordingChannel()
    refuted = Verification(confirmed=False, verdict=Verdict.NO_CHANGE, reason="equal within 1 %")
    tasks = WatchTasks(laboratory.compare, step_or_recovery, lambda _: refuted)
    summary = watch(orders(line, base="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    assert (channel.events, summary.alarms) == ([], ())
    (alarm,) = state.alarms.in_stages(AlarmStage.CLOSED)
    assert alarm.reason == "not confirmed: no change: equal within 1 %"


def test_a_level_that_is_back_ends_no_alarm_whose_culprit_is_still_in(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c1")
    channel = RecordingChannel()
    tasks = WatchTasks(
        laboratory.compare, step_or_recovery, confirmed, lambda alarm, *_: found(alarm.change.first_with)
    )
    watch(orders(line, base="c0", since="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    assert channel.events == [
        ("step of mv2", AlarmEvent.CONFIRMED),
        ("step of mv2", AlarmEvent.BISECTED),
        ("recovery", AlarmEvent.CONFIRMED),
        ("step of mv2", AlarmEvent.RECOVERED),
        ("recovery", AlarmEvent.BISECTED),
    ]
    step, recovery = state.alarms.in_stages(AlarmStage.REPORTED)
    assert step.reason == "the level is below again since c2, while c1 is still in"
    assert (step.recovery, recovery.change.kind) == (recovery.change, ChangeKind.RECOVERY)
    assert status_of(state.path).unresolved == (step,)


def test_an_alarm_is_closed_with_the_commit_that_takes_its_culprit_back(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    line.subjects["c2"] = 'Revert "Make c1" (#7)'
    slow_commit(laboratory, "c1")
    channel = RecordingChannel()
    tasks = WatchTasks(
        laboratory.compare, step_or_recovery, confirmed, lambda alarm, *_: found(alarm.change.first_with)
    )
    watch(orders(line, base="c0", since="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    assert ("step of mv2", AlarmEvent.CLOSED) in channel.events
    assert AlarmEvent.RECOVERED not in {event for _, event in channel.events}
    (alarm,) = state.alarms.in_stages(AlarmStage.CLOSED)
    assert alarm.reason == "taken back by c2"


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ('Revert "Use a slower loop"', True),
        ("Back out changeset 1234567: too slow", True),
        ("Reverted 1234567890ab", True),
        ("Use a faster loop", False),
        ("Fix what 1234567 documents", False),
        ('Revert "Use a slower cache"', False),
        ("Revert 7654321", False),
    ],
)
def test_a_commit_takes_another_back_only_where_it_says_so(subject: str, expected: bool) -> None:
    culprit = Commit(source="line:", id="1234567890abcdef", subject="Use a slower loop")
    assert takes_back(Commit(source="line:", id="f" * 16, subject=subject), culprit) is expected


def test_an_improvement_that_is_not_verified_is_not_told_of_the_alarm(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c1")
    channel = RecordingChannel()
    refuted = Verification(confirmed=False, verdict=Verdict.NO_CHANGE, reason="")
    tasks = WatchTasks(
        laboratory.compare, step_or_recovery, lambda alarm: confirmed(alarm) if alarm.change.is_worse else refuted
    )
    watch(orders(line, base="c0", since="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    assert channel.events == [("step of mv2", AlarmEvent.CONFIRMED)]


def suspicion_or_step(covers: tuple[str, ...]) -> ReadTrend:
    """Suspect the first commit that is 5 % slower; the series shows it with the second."""

    @whole_series
    def read(series: Series) -> Trend:
        slow = [point for point in series.points if point.effect is not None and point.effect.log_ratio > 0.04]
        suspicion = change("suspicion", first="c0", last="c1")
        if len(slow) == 1:
            return Trend(suspicion=suspicion)
        return Trend(
            changes=(change("step", first="c0", last="c1").model_copy(update={"covers": covers}),) if slow else ()
        )

    return read


def test_a_regression_of_one_comparison_is_verified_and_told_once(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c1", "c2", "c3")
    channel = RecordingChannel()
    tasks = WatchTasks(laboratory.compare, suspicion_or_step(("suspicion",)), confirmed)
    watch(orders(line, base="c0", since="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    assert channel.events == [("suspicion", AlarmEvent.CONFIRMED)]


@pytest.mark.parametrize("covers", [("suspicion",), ()])
def test_an_alarm_of_one_comparison_is_closed_by_the_commit_that_takes_its_culprit_back(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, covers: tuple[str, ...]
) -> None:
    """The level that is back is that of the step in the series, which the alarm of the comparison is about."""

    @whole_series
    def read(series: Series) -> Trend:
        step = change("step", first="c0", last="c1").model_copy(update={"covers": covers})
        recovery = change("recovery", ChangeKind.RECOVERY, first="c2", last="c3", recovers=("step",))
        trends = {
            "c1": Trend(suspicion=change("suspicion", first="c0", last="c1")),
            "c2": Trend(changes=(step,)),
            "c3": Trend(changes=(step, recovery)),
        }
        return trends[series.points[-1].commit]

    line.ids.append("c3")
    line.subjects["c3"] = 'Revert "Make c1"'
    tasks = WatchTasks(laboratory.compare, read, confirmed, lambda alarm, *_: found(alarm.change.first_with))
    watch(orders(line, base="c0", since="c0"), tasks, state, timing=clock.timing)
    (alarm,) = state.alarms.in_stages(AlarmStage.CLOSED)
    assert (alarm.identity, alarm.reason) == ("suspicion", "taken back by c3")


def test_what_a_comparison_calls_a_regression_is_verified_with_the_first_commit_that_shows_it(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    figures = tuple(FigureEffect(log_ratio=ratio, standard_error=0.004) for ratio in (0.0, 0.0, 0.001, 0.01, 0.012))
    tail = point("c0", commit="c2").model_copy(update={"verdict": Verdict.REGRESSION, "figures": figures})
    laboratory.answers["c2"] = CommitOutcome(points=(tail,))
    channel = RecordingChannel()
    tasks = WatchTasks(laboratory.compare, TrendReader, confirmed)
    watch(orders(line, base="c0", since="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    ((identity, event),) = channel.events
    assert event is AlarmEvent.CONFIRMED
    alarm = state.alarms.find(identity)
    assert alarm is not None
    assert (alarm.change.figure, alarm.change.first_with) == ("p90", "c2")


def test_a_change_of_the_series_is_verified_although_a_suspicion_of_it_was_refuted(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c1", "c2", "c3")
    channel = RecordingChannel()
    refuted = Verification(confirmed=False, verdict=Verdict.UNDECIDED, reason="")
    tasks = WatchTasks(
        laboratory.compare,
        suspicion_or_step(("suspicion",)),
        lambda alarm: refuted if alarm.identity == "suspicion" else confirmed(alarm),
    )
    watch(orders(line, base="c0", since="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    assert channel.events == [("step", AlarmEvent.CONFIRMED)]


UNDECIDED: Final = Verification(confirmed=False, verdict=Verdict.UNDECIDED, reason="the budget is spent", pairs=300)


@pytest.mark.parametrize("second", [confirmed(made_alarm()), UNDECIDED], ids=["confirmed", "undecided"])
def test_a_verification_that_is_undecided_is_made_once_more(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, second: Verification
) -> None:
    slow_commit(laboratory, "c2")
    asked: list[Verification | None] = []
    said: list[str] = []

    def verify(alarm: Alarm) -> Verification:
        asked.append(alarm.verification)
        return UNDECIDED if len(asked) == 1 else second

    tasks = WatchTasks(laboratory.compare, step_or_recovery, verify)
    summary = watch(orders(line, base="c0"), tasks, state, timing=clock.timing, say=said.append)
    assert asked == [None, UNDECIDED]
    assert "undecided after 300 pairs, and verified again" in "\n".join(said)
    if second.confirmed:
        assert (summary.undecided, len(summary.alarms)) == ((), 1)
        return
    (alarm,) = state.alarms.in_stages(AlarmStage.CLOSED)
    assert summary.undecided == (alarm.identity,)
    assert f"harness alarms reopen {alarm.identity}" in said[-1]
    assert exit_code_of(summary, is_worse=False, has_failures=False) is ExitCode.UNDECIDED
    reopen_alarms(state.path, alarm.identity, "ada", "a quiet night", 10.0)
    summary = watch(orders(line, base="c0"), WatchTasks(laboratory.compare, step_or_recovery, confirmed), state,
                    timing=clock.timing)  # fmt: skip
    assert summary.alarms == (alarm.identity,)


def test_a_killed_watcher_goes_on_with_the_second_verification(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c2")
    asked: list[Verification | None] = []

    def verify(alarm: Alarm) -> Verification:
        asked.append(alarm.verification)
        if len(asked) == 2:
            raise Interrupted("SIGTERM")
        return UNDECIDED if len(asked) == 1 else confirmed(alarm)

    tasks = WatchTasks(laboratory.compare, step_or_recovery, verify)
    with pytest.raises(Interrupted):
        watch(orders(line, base="c0"), tasks, state, timing=clock.timing)
    watch(orders(line, base="c0"), tasks, state, timing=clock.timing)
    assert asked == [None, UNDECIDED, UNDECIDED]
    assert state.alarms.in_stages(AlarmStage.REPORTED)


def test_an_alarm_without_channels_is_shown_by_the_status_alone(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c2")
    watch(
        orders(line, base="c0"), WatchTasks(laboratory.compare, step_or_recovery, confirmed), state, timing=clock.timing
    )
    assert state.alarms.in_stages(AlarmStage.REPORTED)


def test_a_verification_that_breaks_down_is_tried_again_and_holds_up_no_commit(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    slow_commit(laboratory, "c1", "c2")
    asked: list[float] = []

    def confirm(alarm: Alarm) -> Verification:
        asked.append(clock.monotonic)
        if len(asked) < 4:
            raise DeviceLost("unplugged")
        return confirmed(alarm)

    status = tmp_path / "status"
    for_hours(clock, status, 2)
    watching = orders(line, base="c0", since="c0", interval_s=3600.0, switch=status)
    watch(watching, WatchTasks(laboratory.compare, step_or_recovery, confirm), state, timing=clock.timing)
    assert laboratory.treatments == ["c1", "c2"]
    assert [later - first for first, later in pairwise(asked)] == pytest.approx([60, 120, 240])
    assert state.alarms.in_stages(AlarmStage.REPORTED)


def test_an_alarm_whose_benchmark_is_no_longer_asked_for_holds_up_no_commit(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    def confirm(alarm: Alarm) -> Verification:
        raise UsageError("no benchmark matches `m/old`")

    slow_commit(laboratory, "c1", "c2")
    plan = orders(line, base="c0", since="c0")
    summary = watch(plan, WatchTasks(laboratory.compare, step_or_recovery, confirm), state, timing=clock.timing)
    assert laboratory.treatments == ["c1", "c2"]
    assert summary.has_environment_problem, "the alarm is not settled"
    (alarm,) = status_of(state.path).alarms
    assert alarm.reason == "no benchmark matches `m/old`"


def test_a_search_goes_on_where_it_was_and_is_given_up_in_the_end(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    slow_commit(laboratory, "c2")
    seen: list[str | None] = []

    def search(
        alarm: Alarm, progress: str | None, save: Callable[[str], None]
    ) -> tuple[SearchResult, tuple[Candidate, ...]]:
        seen.append(progress)
        save(str(len(seen)))
        raise BuildFailed("no compiler")

    status = tmp_path / "status"
    for_hours(clock, status, 1)
    plan = orders(line, base="c0", interval_s=3600.0, switch=status)
    channel = RecordingChannel()
    tasks = WatchTasks(laboratory.compare, step_or_recovery, confirmed, search)
    watch(plan, tasks, state, channels=(channel,), timing=clock.timing)
    assert seen == [None, *map(str, range(1, MOST_SEARCHES))]
    assert [event for _, event in channel.events] == [AlarmEvent.CONFIRMED]
    (alarm,) = state.alarms.in_stages(AlarmStage.REPORTED)
    assert alarm.reason == "no compiler"


def test_a_refused_notification_keeps_its_alarm_from_counting_as_reported(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    class Refusing(RecordingChannel):
        def deliver(self, notification: Notification) -> str:
            raise DeliveryFailed("gone", final=True)

    slow_commit(laboratory, "c2")
    tasks = WatchTasks(laboratory.compare, step_or_recovery, confirmed)
    watch(orders(line, base="c0"), tasks, state, channels=(Refusing(),), timing=clock.timing)
    assert not state.alarms.in_stages(AlarmStage.REPORTED)
    status = status_of(state.path)
    assert [(delivery.status, delivery.reply) for delivery in status.undelivered] == [(DeliveryStatus.REFUSED, "gone")]


def test_a_reported_change_stays_in_the_status_until_it_is_made_good(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c2")
    watch(
        orders(line, base="c0"), WatchTasks(laboratory.compare, step_or_recovery, confirmed), state, timing=clock.timing
    )
    status = status_of(state.path)
    assert (status.alarms, status.reported) == ((), 1)
    assert [alarm.change.first_with for alarm in status.unresolved] == ["c2"]
    line.ids.append("c3")
    line.subjects["c3"] = 'Revert "Make c2"'
    watch(
        orders(line, base="c0"), WatchTasks(laboratory.compare, step_or_recovery, confirmed), state, timing=clock.timing
    )
    assert status_of(state.path).unresolved == ()


def test_an_improvement_that_was_reported_is_not_unresolved(state: State) -> None:
    for number, kind in enumerate((ChangeKind.STEP, ChangeKind.IMPROVEMENT, ChangeKind.DRIFT)):
        changed = change(kind, kind)
        state.alarms.open(changed, float(number))
        state.alarms.update(Alarm(change=changed, stage=AlarmStage.REPORTED, opened=float(number), updated=0.0))
    status = status_of(state.path)
    assert status.reported == 3
    assert [alarm.change.kind for alarm in status.unresolved] == ["step", "drift"]


def test_the_status_shows_what_was_done_and_what_is_open(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c2")
    laboratory.answers["c1"] = BuildFailed("no compiler")

    def confirm(alarm: Alarm) -> Verification:
        raise DeviceLost("unplugged")

    plan = orders(line, base="c0", since="c0")
    watch(plan, WatchTasks(laboratory.compare, step_or_recovery, confirm), state, timing=clock.timing)
    status = status_of(state.path)
    assert status.is_alive
    assert status.counts == {CommitStatus.DONE: 1, CommitStatus.BUILD_FAILED: 1}
    assert [(finished.entry.commit.id, len(finished.points)) for finished in status.finished] == [("c2", 1), ("c1", 0)]
    assert [(alarm.stage, alarm.reason) for alarm in status.alarms] == [(AlarmStage.OPENED, "unplugged")]
    assert type(status).model_validate_json(status.model_dump_json()) == status
