"""The loop of the continuous mode, with everything real but what is measured."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import JsonValue

from harness.core.commit import Commit
from harness.core.errors import BenchmarkFailed, BuildFailed, DeviceLost, EnvironmentProblem, HarnessError, UsageError
from harness.shell import Interrupted
from harness.watch.couriers import DeliveryFailed
from harness.watch.loop import Tally, watch
from harness.watch.notebook import Doing, Polled, Trouble
from harness.watch.pursuit import MOST_SEARCHES
from harness.watch.records import Alarm, Compared, Document, Event, Fate, Judgement, News, Progress, Series, Sign, Stage
from harness.watch.state import State
from harness.watch.status import status_of
from harness.watch.taking import MOST_ROUNDS, MOST_TROUBLES
from harness.watch.work import Confirmation, Stopped, Work
from tests.watch.watching import Clock, Laboratory, Line, limit_pages, orders, page_count, point


class Postman:
    """A courier that takes everything."""

    name = "hook"

    def __init__(self) -> None:
        self.events: list[tuple[str, Event]] = []

    def deliver(self, news: News) -> str:
        self.events.append((news.alarm.sign.identity, news.event))
        return "taken"


def once(state: State, line: Line, laboratory: Laboratory, clock: Clock, **others: object) -> Tally:
    """Do what there is to do, once."""
    return watch(orders(line, **others), Work(laboratory.compare), state, timing=clock.timing)  # type: ignore[arg-type]


def for_hours(clock: Clock, file: Path, hours: float) -> None:
    """Stop the watcher after some hours of its clock."""
    end = clock.monotonic + 3600 * hours
    before = clock.meanwhile

    def meanwhile() -> None:
        before()
        if clock.monotonic >= end:
            file.write_text("0")

    clock.meanwhile = meanwhile


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


def test_the_first_start_measures_the_newest_commit(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    tally = once(state, line, laboratory, clock, base="c0")
    assert laboratory.asked == [("c0", "c2")]
    assert tally == Tally({Progress.DONE: 1}, (), unreachable=False, troubled=False)  # type: ignore[arg-type]


def test_new_commits_are_measured_in_order_the_newest_too_and_never_twice(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    once(state, line, laboratory, clock, base="c0")
    for more in (["c3"], [], ["c4", "c5"]):
        line.ids += more
        once(state, line, laboratory, clock, base="c0")
    assert laboratory.treatments == ["c2", "c3", "c4", "c5"]


def test_a_commit_is_never_compared_with_itself(state: State, line: Line, laboratory: Laboratory, clock: Clock) -> None:
    tally = once(state, line, laboratory, clock, base="c2")
    assert not laboratory.asked
    assert tally.commits == {Progress.SKIPPED: 1}


def test_the_commit_file_is_where_the_first_start_begins_and_says_what_is_safe(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    file = tmp_path / "commit"
    file.write_text("c0\n")
    laboratory.answers["c2"] = DeviceLost("unplugged")
    once(state, line, laboratory, clock, base="c0", commit_file=file)
    assert laboratory.treatments == ["c1", "c2"]
    assert file.read_text().strip() == "c1"


def test_the_state_knows_better_than_the_commit_file(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    file = tmp_path / "commit"
    once(state, line, laboratory, clock, base="c0", commit_file=file)
    file.write_text("c0\n")
    once(state, line, laboratory, clock, base="c0", commit_file=file)
    assert laboratory.treatments == ["c2"]
    assert file.read_text().strip() == "c2"


def test_a_commit_file_that_cannot_be_written_stops_nothing(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    said: list[str] = []
    (tmp_path / "folder").write_text("")
    asked = orders(line, base="c0", begin="c0")
    object.__setattr__(asked, "commit_file", tmp_path / "folder" / "commit")
    with pytest.raises(EnvironmentProblem, match="cannot read the commit file"):
        watch(asked, Work(laboratory.compare), state, timing=clock.timing, say=said.append)
    asked = orders(line, base="c0", begin="c0", commit_file=tmp_path / "later" / "commit")
    (tmp_path / "later").symlink_to("/proc")
    watch(asked, Work(laboratory.compare), state, timing=clock.timing, say=said.append)
    assert laboratory.treatments == ["c1", "c2"]
    assert any("cannot write the commit file" in text for text in said)


@pytest.mark.parametrize(
    "problem",
    [
        BuildFailed("no compiler"),
        BenchmarkFailed("no numbers"),
        Compared(progress=Progress.FAILED, why="crashed"),
    ],
)
def test_a_commit_that_fails_is_told_and_the_next_is_taken(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, problem: Compared | HarnessError
) -> None:
    laboratory.answers["c1"] = problem
    progress = Progress.BUILD_FAILED if isinstance(problem, BuildFailed) else Progress.FAILED
    tally = once(state, line, laboratory, clock, base="c0", begin="c0")
    assert tally.commits == {progress: 1, Progress.DONE: 1}
    (entry,) = state.commits.those(progress)
    assert entry.why


def test_a_device_that_is_away_costs_no_commit(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    laboratory.answers["c2"] = DeviceLost("unplugged")
    status = tmp_path / "status"

    def back() -> None:
        if len(laboratory.asked) == 4:
            laboratory.answers.clear()

    clock.meanwhile = back
    for_hours(clock, status, 3)
    tally = once(state, line, laboratory, clock, base="c0", interval_s=3600.0, switch=status)
    assert laboratory.treatments == ["c2"] * 5
    assert (tally.commits, tally.troubled) == ({Progress.DONE: 1}, False)
    assert state.notebook.read(Trouble) is None


def test_trouble_is_shown_while_it_lasts(state: State, line: Line, laboratory: Laboratory, clock: Clock) -> None:
    laboratory.answers["c2"] = DeviceLost("unplugged", hint="plug it in")
    tally = once(state, line, laboratory, clock, base="c0")
    assert tally.troubled
    status = status_of(state.path)
    assert status.trouble is not None
    assert "plug it in" in status.trouble.error
    assert [entry.commit.id for entry in status.waiting] == ["c2"]


def test_a_commit_that_spoils_the_device_again_and_again_gives_way(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    laboratory.answers["c1"] = DeviceLost("rebooted")
    status = tmp_path / "status"
    for_hours(clock, status, 5)
    once(state, line, laboratory, clock, base="c0", begin="c0", interval_s=3600.0, switch=status)
    assert laboratory.treatments == ["c1"] * MOST_TROUBLES + ["c2"]
    assert state.commits.counts() == {Progress.FAILED: 1, Progress.DONE: 1}


def test_a_control_that_cannot_be_built_is_replaced(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    line.times = {"c0": 10, "c1": 20, "c2": 30}
    line.ids = ["c0", "c1", "c2"]

    def compare(control: Commit, treatment: Commit) -> Compared:
        laboratory.compare(control, treatment)
        return Compared(control_failed=control.id == "c0", why="no compiler then")

    watch(orders(line), Work(compare), state, timing=clock.timing)
    assert laboratory.asked == [("c0", "c2"), ("c1", "c2")]
    assert state.commits.counts() == {Progress.DONE: 1}


def test_a_pinned_control_that_cannot_be_built_is_a_failure(state: State, line: Line, clock: Clock) -> None:
    broken = Compared(control_failed=True, why="no compiler then")
    tally = watch(orders(line, base="c0"), Work(lambda *_: broken), state, timing=clock.timing)
    assert tally.commits == {Progress.FAILED: 1}
    assert "control c0 cannot be built" in state.commits.those(Progress.FAILED)[0].why


def test_what_can_never_work_ends_the_watcher(state: State, line: Line, laboratory: Laboratory, clock: Clock) -> None:
    laboratory.answers["c2"] = UsageError("no such device")
    with pytest.raises(UsageError):
        once(state, line, laboratory, clock, base="c0")


def test_a_branch_that_never_was_is_a_mistake(state: State, laboratory: Laboratory, clock: Clock) -> None:
    with pytest.raises(UsageError, match="no main"):
        once(state, Line(), laboratory, clock)


def test_an_unreachable_repository_is_asked_again_and_shown(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    once(state, line, laboratory, clock, base="c0")
    line.problem = EnvironmentProblem("no network")
    tally = once(state, line, laboratory, clock, base="c0")
    assert tally.unreachable
    polled = status_of(state.path).polled
    assert polled is not None
    assert polled.success is not None
    assert (polled.error, polled.failures) == ("no network", 1)
    assert polled.next is None, "it was to be done once"
    line.ids.append("c3")
    status = tmp_path / "status"
    begin = clock.monotonic

    def mend() -> None:
        if clock.monotonic - begin > 7200:
            line.problem = None

    clock.meanwhile = mend
    for_hours(clock, status, 6)
    once(state, line, laboratory, clock, base="c0", interval_s=3600.0, switch=status)
    assert laboratory.treatments == ["c2", "c3"]
    assert state.notebook.read(Polled) is not None
    assert any("answers again" in happening.text for happening in state.notebook.lately())


@pytest.mark.parametrize("jump_s", [-86400.0, 86400.0])
def test_a_clock_that_is_set_changes_nothing(
    state: State, laboratory: Laboratory, clock: Clock, tmp_path: Path, jump_s: float
) -> None:
    line, status = Line(["c0", "c1", "c2"]), tmp_path / "status"
    looked: list[float] = []
    fetch = line.fetch

    def count() -> None:
        looked.append(clock.monotonic)
        fetch()

    def jump() -> None:
        if len(clock.waited) == 100:
            clock.wall += jump_s

    line.fetch = count  # type: ignore[method-assign]
    clock.meanwhile = jump
    for_hours(clock, status, 5.5)
    once(state, line, laboratory, clock, base="c0", interval_s=3600.0, switch=status)
    assert len(looked) == 6


def test_a_growing_repository_is_followed_for_days(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    status = tmp_path / "status"

    def grow() -> None:
        if len(clock.waited) % 500 == 0:
            line.ids.append(f"c{len(line.ids)}")

    clock.meanwhile = grow
    for_hours(clock, status, 4)
    once(state, line, laboratory, clock, base="c0", interval_s=3600.0, switch=status)
    assert laboratory.treatments == line.ids[2 : 2 + len(laboratory.treatments)]
    assert 0 <= len(line.ids) - 2 - len(laboratory.treatments) <= 8, "those of the last hour"


def test_a_rewritten_history_is_told_and_waiting_commits_that_are_gone_are_passed_over(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    said: list[str] = []
    once(state, line, laboratory, clock, base="c0")
    line.ids += ["old3", "old4"]
    laboratory.answers["old3"] = DeviceLost("away")
    once(state, line, laboratory, clock, base="c0")
    line.ids[3:] = ["new3"]
    watch(orders(line, base="c0"), Work(laboratory.compare), state, timing=clock.timing, say=said.append)
    assert laboratory.treatments == ["c2", "old3", "new3"]
    assert any("history was rewritten" in text and "2 waiting commits" in text for text in said)


def test_a_zero_in_the_status_file_stops_after_the_commit_and_loses_nothing(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    status = tmp_path / "status"

    def compare(control: Commit, treatment: Commit) -> Compared:
        status.write_text("0")
        return laboratory.compare(control, treatment)

    asked = orders(line, base="c0", begin="c0", interval_s=60.0, switch=status)
    watch(asked, Work(compare), state, timing=clock.timing)
    assert laboratory.treatments == ["c1"]
    doing = state.notebook.read(Doing)
    assert doing is not None
    assert doing.what == "stopped"
    assert state.commits.counts() == {Progress.DONE: 1, Progress.WAITING: 1}


@pytest.mark.parametrize("problem", [Stopped("stopped after a launch"), Interrupted("ctrl-c"), KeyboardInterrupt()])
def test_a_comparison_that_was_given_up_is_done_again(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, problem: BaseException
) -> None:
    def compare(control: Commit, treatment: Commit) -> Compared:
        raise problem

    asked = orders(line, base="c0")
    if isinstance(problem, Stopped):
        watch(asked, Work(compare), state, timing=clock.timing)
    else:
        with pytest.raises(type(problem)):
            watch(asked, Work(compare), state, timing=clock.timing)
    once(state, line, laboratory, clock, base="c0")
    assert laboratory.treatments == ["c2"]


def test_results_wait_for_room_on_the_disk(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    said: list[str] = []
    many = Compared(points=tuple(point("c0", benchmark=f"{number:03}" * 60) for number in range(200)))

    def compare(control: Commit, treatment: Commit) -> Compared:
        limit_pages(state, page_count(state))
        laboratory.compare(control, treatment)
        return many

    def make_room() -> None:
        if len(clock.waited) == 90:
            limit_pages(state, 1 << 20)

    clock.meanwhile = make_room
    watch(orders(line, base="c0"), Work(compare), state, timing=clock.timing, say=said.append)
    assert laboratory.treatments == ["c2"], "what was measured is not measured again"
    assert len(state.points.of_commit("c2")) == 200
    assert any("no room" in text for text in said)


def test_a_full_disk_does_not_keep_a_person_from_stopping(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    status = tmp_path / "status"
    many = Compared(points=tuple(point("c0", benchmark=f"{number:03}" * 60) for number in range(200)))

    def compare(control: Commit, treatment: Commit) -> Compared:
        limit_pages(state, page_count(state))
        return many

    for_hours(clock, status, 1)
    watch(orders(line, base="c0", switch=status), Work(compare), state, timing=clock.timing)
    limit_pages(state, 1 << 20)
    state.recover(clock.wall)
    once(state, line, laboratory, clock, base="c0")
    assert laboratory.treatments == ["c2"]


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


def test_a_commit_that_stands_out_is_measured_again_but_not_for_ever(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    def doubts(series: Series) -> Judgement:
        return Judgement(again=(series.points[-1].commit,))

    watch(orders(line, base="c0"), Work(laboratory.compare, doubts), state, timing=clock.timing)
    assert laboratory.treatments == ["c2"] * MOST_ROUNDS
    (series,) = state.points.every_series()
    assert len(series.points) == MOST_ROUNDS


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
