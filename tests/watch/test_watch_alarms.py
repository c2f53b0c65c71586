"""Alarms in the loop of the continuous mode: verified, searched, told once, also when something breaks down."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import JsonValue

from harness.core.errors import BuildFailed, DeviceLost, UsageError
from harness.watch.alarm_lifecycle import MOST_SEARCHES
from harness.watch.loop import watch
from harness.watch.notify.channels import DeliveryFailed
from harness.watch.status import status_of
from harness.watch.store.records import (
    Alarm,
    Compared,
    Document,
    Event,
    Fate,
    Judgement,
    News,
    Progress,
    Series,
    Sign,
    Stage,
)
from harness.watch.store.state import State
from harness.watch.work import Confirmation, Work
from tests.watch.watching import Clock, Laboratory, Line, for_hours, orders, point


class Postman:
    """A courier that takes everything."""

    name = "hook"

    def __init__(self) -> None:
        self.events: list[tuple[str, Event]] = []

    def deliver(self, news: News) -> str:
        self.events.append((news.alarm.sign.identity, news.event))
        return "taken"


def sign(series: Series, *, over: bool = False) -> Sign:
    return Sign(
        identity=f"step of {series.benchmark}",
        benchmark=series.benchmark,
        device=series.device,
        metric=series.metric,
        kind="step",
        first=series.points[-1].point.control,
        last=series.points[-1].commit,
        over=over,
        document={"size": 0.05},
    )


def suspects(series: Series) -> Judgement:
    """Any value above 4 % is a step; one below 1 % after it is its end."""
    values = [placed.point.log_ratio or 0.0 for placed in series.points]
    if values[-1] > 0.04:
        return Judgement(signs=(sign(series),))
    return Judgement(signs=(sign(series, over=True),)) if max(values) > 0.04 else Judgement()


def found(alarm: Alarm) -> Confirmation:
    return Confirmation(confirmed=True, document={"pairs": 20})


def slow_commit(laboratory: Laboratory, *commits: str) -> None:
    for commit in commits:
        laboratory.answers[commit] = Compared(points=(point("c0", 0.05),))


def test_a_confirmed_alarm_is_searched_and_told_once_each(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c1", "c2")
    postman = Postman()
    work = Work(laboratory.compare, suspects, found, lambda *_: {"culprit": "c1"})
    asked = orders(line, base="c0", begin="c0")
    tally = watch(asked, work, state, couriers=(postman,), timing=clock.timing)
    assert postman.events == [("step of mv2", Event.CONFIRMED), ("step of mv2", Event.BISECTED)]
    assert tally.alarms == ("step of mv2",)
    (alarm,) = state.alarms.those(Stage.TOLD)
    assert alarm.document["search"] == {"culprit": "c1"}
    line.ids.append("c3")
    slow_commit(laboratory, "c3")
    watch(asked, work, state, couriers=(postman,), timing=clock.timing)
    assert len(postman.events) == 2


def test_a_suspicion_that_is_not_confirmed_is_closed_and_told_to_nobody(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c2")
    postman = Postman()
    work = Work(laboratory.compare, suspects, lambda _: Confirmation(confirmed=False, why="no difference"))
    tally = watch(orders(line, base="c0"), work, state, couriers=(postman,), timing=clock.timing)
    assert (postman.events, tally.alarms) == ([], ())
    (alarm,) = state.alarms.those(Stage.CLOSED)
    assert alarm.why == "not confirmed: no difference"


def test_an_alarm_that_was_told_is_told_when_it_is_over(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c1")
    postman = Postman()
    work = Work(laboratory.compare, suspects, found)
    watch(orders(line, base="c0", begin="c0"), work, state, couriers=(postman,), timing=clock.timing)
    assert [event for _, event in postman.events] == [Event.CONFIRMED, Event.CLOSED]
    assert state.alarms.those(Stage.CLOSED)


def test_an_alarm_without_couriers_is_told_by_the_status_alone(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c2")
    watch(orders(line, base="c0"), Work(laboratory.compare, suspects, found), state, timing=clock.timing)
    assert state.alarms.those(Stage.TOLD)


def test_a_verification_that_breaks_down_is_tried_again_and_holds_up_no_commit(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    slow_commit(laboratory, "c1", "c2")
    asked: list[float] = []

    def confirm(alarm: Alarm) -> Confirmation:
        asked.append(clock.monotonic)
        if len(asked) < 4:
            raise DeviceLost("unplugged")
        return found(alarm)

    status = tmp_path / "status"
    for_hours(clock, status, 2)
    watching = orders(line, base="c0", begin="c0", interval_s=3600.0, switch=status)
    watch(watching, Work(laboratory.compare, suspects, confirm), state, timing=clock.timing)
    assert laboratory.treatments == ["c1", "c2"]
    assert [later - first for first, later in pairwise(asked)] == pytest.approx([60, 120, 240])
    assert state.alarms.those(Stage.TOLD)


def test_an_alarm_whose_benchmark_is_no_longer_asked_for_holds_up_no_commit(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    def confirm(alarm: Alarm) -> Confirmation:
        raise UsageError("no benchmark matches `m/old`")

    slow_commit(laboratory, "c1", "c2")
    asked = orders(line, base="c0", begin="c0")
    tally = watch(asked, Work(laboratory.compare, suspects, confirm), state, timing=clock.timing)
    assert laboratory.treatments == ["c1", "c2"]
    assert tally.troubled, "the alarm is not settled"
    (alarm,) = status_of(state.path).alarms
    assert alarm.why == "no benchmark matches `m/old`"


def test_a_search_goes_on_where_it_was_and_is_given_up_in_the_end(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    slow_commit(laboratory, "c2")
    seen: list[JsonValue] = []

    def search(alarm: Alarm, progress: JsonValue, save: object) -> Document:
        seen.append(progress)
        assert callable(save)
        save(len(seen))
        raise BuildFailed("no compiler")

    status = tmp_path / "status"
    for_hours(clock, status, 1)
    asked = orders(line, base="c0", interval_s=3600.0, switch=status)
    postman = Postman()
    work = Work(laboratory.compare, suspects, found, search)
    watch(asked, work, state, couriers=(postman,), timing=clock.timing)
    assert seen == [None, *range(1, MOST_SEARCHES)]
    assert [event for _, event in postman.events] == [Event.CONFIRMED]
    (alarm,) = state.alarms.those(Stage.TOLD)
    assert alarm.why == "no compiler"


def test_a_refused_letter_keeps_its_alarm_from_counting_as_told(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    class Refusing(Postman):
        def deliver(self, news: News) -> str:
            raise DeliveryFailed("gone", final=True)

    slow_commit(laboratory, "c2")
    work = Work(laboratory.compare, suspects, found)
    watch(orders(line, base="c0"), work, state, couriers=(Refusing(),), timing=clock.timing)
    assert not state.alarms.those(Stage.TOLD)
    status = status_of(state.path)
    assert [(letter.fate, letter.said) for letter in status.undelivered] == [(Fate.REFUSED, "gone")]


def test_what_was_told_stays_in_the_status_until_it_is_made_good(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c2")
    watch(orders(line, base="c0"), Work(laboratory.compare, suspects, found), state, timing=clock.timing)
    status = status_of(state.path)
    assert (status.alarms, status.told) == ((), 1)
    assert [alarm.sign.last for alarm in status.standing] == ["c2"]
    line.ids.append("c3")
    watch(orders(line, base="c0"), Work(laboratory.compare, suspects, found), state, timing=clock.timing)
    assert status_of(state.path).standing == ()


def test_an_improvement_that_was_told_is_nothing_that_stands(state: State) -> None:
    for number, kind in enumerate(("step", "improvement", "drift")):
        sign = Sign(identity=kind, benchmark="b", device="board", kind=kind, first="c0", last="c1")
        state.alarms.open(sign, float(number))
        state.alarms.keep(Alarm(sign=sign, stage=Stage.TOLD, opened=float(number), changed=0.0))
    status = status_of(state.path)
    assert status.told == 3
    assert [alarm.sign.kind for alarm in status.standing] == ["step", "drift"]


def test_the_status_shows_what_was_done_and_what_is_open(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c2")
    laboratory.answers["c1"] = BuildFailed("no compiler")

    def confirm(alarm: Alarm) -> Confirmation:
        raise DeviceLost("unplugged")

    asked = orders(line, base="c0", begin="c0")
    watch(asked, Work(laboratory.compare, suspects, confirm), state, timing=clock.timing)
    status = status_of(state.path)
    assert status.alive
    assert status.counts == {Progress.DONE: 1, Progress.BUILD_FAILED: 1}
    assert [(done.entry.commit.id, len(done.points)) for done in status.done] == [("c2", 1), ("c1", 0)]
    assert [(alarm.stage, alarm.why) for alarm in status.alarms] == [(Stage.OPENED, "unplugged")]
    assert type(status).model_validate_json(status.model_dump_json()) == status
