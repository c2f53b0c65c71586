"""What commits, devices, disks, networks and clocks do to the loop of the continuous mode."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.core.commit import Commit
from harness.core.errors import (
    BenchmarkFailed,
    BuildFailed,
    DeviceLost,
    EnvironmentProblem,
    ExitCode,
    HarnessError,
    UsageError,
)
from harness.flows.inspect.status import status_of
from harness.flows.watch.watch import exit_code_of
from harness.shell import Interrupted
from harness.watch.commit_processor import MOST_FAILURES
from harness.watch.control_troubles import MOST_ATTEMPTS
from harness.watch.loop import watch
from harness.watch.store.commits import CommitStatus
from harness.watch.store.event_log import BrokenCommits, ControlTrouble, LastError, PollStatus
from harness.watch.store.state import MOST_KILLS, State
from harness.watch.tasks import CommitOutcome, StopRequested, WatchTasks
from tests.watch.watching import (
    Clock,
    Laboratory,
    Line,
    for_hours,
    kill_with,
    limit_pages,
    once,
    orders,
    page_count,
    point,
)


@pytest.mark.parametrize(
    "problem",
    [
        BuildFailed("no compiler"),
        BenchmarkFailed("no numbers"),
        CommitOutcome(status=CommitStatus.FAILED, reason="crashed"),
    ],
)
def test_a_commit_that_fails_is_reported_and_the_next_is_taken(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, problem: CommitOutcome | HarnessError
) -> None:
    laboratory.answers["c1"] = problem
    progress = CommitStatus.BUILD_FAILED if isinstance(problem, BuildFailed) else CommitStatus.FAILED
    summary = once(state, line, laboratory, clock, base="c0", since="c0")
    assert summary.commits == {progress: 1, CommitStatus.DONE: 1}
    (entry,) = state.commits.with_status(progress)
    assert entry.reason


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
    summary = once(state, line, laboratory, clock, base="c0", interval_s=3600.0, switch=status)
    assert laboratory.treatments == ["c2"] * 5
    assert (summary.commits, summary.has_environment_problem) == ({CommitStatus.DONE: 1}, False)
    assert state.log.read(LastError) is None


def test_trouble_is_shown_while_it_lasts(state: State, line: Line, laboratory: Laboratory, clock: Clock) -> None:
    laboratory.answers["c2"] = DeviceLost("unplugged", hint="plug it in")
    summary = once(state, line, laboratory, clock, base="c0")
    assert summary.has_environment_problem
    status = status_of(state.path)
    assert status.last_error is not None
    assert "plug it in" in status.last_error.error
    assert [entry.commit.id for entry in status.waiting] == ["c2"]


def test_a_commit_that_spoils_the_device_again_and_again_gives_way(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    laboratory.answers["c1"] = DeviceLost("rebooted")
    status = tmp_path / "status"
    for_hours(clock, status, 5)
    once(state, line, laboratory, clock, base="c0", since="c0", interval_s=3600.0, switch=status)
    assert laboratory.treatments == ["c1"] * MOST_FAILURES + ["c2"]
    assert state.commits.counts() == {CommitStatus.FAILED: 1, CommitStatus.DONE: 1}


def test_a_commit_that_killed_the_harness_too_often_is_reported_and_no_success(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    kill_with(state, line.commit("c1"))
    said: list[str] = []
    tasks = WatchTasks(laboratory.compare)
    summary = watch(orders(line, base="c0"), tasks, state, timing=clock.timing, say=said.append)
    assert summary.commits == {CommitStatus.FAILED: 1, CommitStatus.DONE: 1}
    assert any(f"c1: given up, because the harness was killed {MOST_KILLS} times" in text for text in said)
    assert laboratory.treatments == ["c2"]


def test_a_control_that_cannot_be_built_is_replaced(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    line.times = {"c0": 10, "c1": 20, "c2": 30}
    line.ids = ["c0", "c1", "c2"]

    def compare(control: Commit, treatment: Commit) -> CommitOutcome:
        laboratory.compare(control, treatment)
        return CommitOutcome(control_failed=control.id == "c0", reason="no compiler then")

    watch(orders(line), WatchTasks(compare), state, timing=clock.timing)
    assert laboratory.asked == [("c0", "c2"), ("c1", "c2")]
    assert state.commits.counts() == {CommitStatus.DONE: 1}


def test_nothing_left_to_compare_with_is_reported_as_what_it_is_and_no_success(
    state: State, line: Line, clock: Clock
) -> None:
    line.times = {"c0": 10, "c1": 20, "c2": 30}
    line.ids = ["c0", "c1", "c2"]
    broken = CommitOutcome(control_failed=True, reason="no compiler then")
    summary = watch(orders(line), WatchTasks(lambda *_: broken), state, timing=clock.timing)
    assert summary.commits == {CommitStatus.SKIPPED: 1}
    (entry,) = state.commits.with_status(CommitStatus.SKIPPED)
    assert entry.reason == "c0 and every other commit to compare it with could not be built or measured"
    assert exit_code_of(summary, is_worse=False, has_failures=False) is ExitCode.BENCHMARK_FAILED


def test_of_releases_each_is_held_against_the_one_before_that_can_be_built(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    line.ids = ["c0", "c1", "c2", "c3"]
    laboratory.answers["c2"] = BuildFailed("no wheel")
    once(state, line, laboratory, clock, since="c0")
    assert laboratory.asked == [("c0", "c1"), ("c1", "c2"), ("c1", "c3")]


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (CommitOutcome(control_failed=True, reason="no compiler then"), "cannot be built: no compiler then"),
        (CommitOutcome(control_unmeasured=True, reason="SIGABRT"), "cannot be measured: SIGABRT"),
    ],
)
def test_a_pinned_control_that_cannot_run_is_trouble_and_no_verdict_on_commits(
    state: State, line: Line, clock: Clock, broken: CommitOutcome, problem: str
) -> None:
    for _ in range(2 * MOST_FAILURES):  # each night
        plan = orders(line, base="c0", since="c0")
        summary = watch(plan, WatchTasks(lambda *_: broken), state, timing=clock.timing)
        assert summary.commits == {}
        assert exit_code_of(summary, is_worse=False, has_failures=False) is ExitCode.ENVIRONMENT
        assert state.commits.counts() == {CommitStatus.WAITING: 2}
    last_error = status_of(state.path).last_error
    assert last_error is not None
    assert f"the control c0 {problem}" in last_error.error
    assert "--base-commit" in last_error.error


def test_commits_are_measured_once_their_control_can_be(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    tries = 0

    def compare(control: Commit, treatment: Commit) -> CommitOutcome:
        nonlocal tries
        tries += 1
        unmeasured = CommitOutcome(control_unmeasured=True, reason="SIGABRT")
        return unmeasured if tries <= 2 * MOST_FAILURES else laboratory.compare(control, treatment)

    for_hours(clock, switch := tmp_path / "status", 48)
    plan = orders(line, base="c0", since="c0", interval_s=3600.0, switch=switch)
    summary = watch(plan, WatchTasks(compare), state, timing=clock.timing)
    assert laboratory.treatments == ["c1", "c2"]
    assert summary.commits == {CommitStatus.DONE: 2}
    assert not summary.has_environment_problem
    assert state.log.read(ControlTrouble) is None


def test_a_control_that_is_built_and_cannot_be_measured_is_replaced_after_some_attempts(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    line.times = {"c0": 10, "c1": 20, "c2": 30}
    said: list[str] = []

    def compare(control: Commit, treatment: Commit) -> CommitOutcome:
        outcome = laboratory.compare(control, treatment)
        return CommitOutcome(control_unmeasured=True, reason="SIGABRT") if control.id == "c0" else outcome

    for night in range(1, MOST_ATTEMPTS + 1):
        summary = watch(orders(line), WatchTasks(compare), state, timing=clock.timing, say=said.append)
        assert summary.has_environment_problem == (night < MOST_ATTEMPTS)
    assert laboratory.asked == [("c0", "c2")] * MOST_ATTEMPTS + [("c1", "c2")]
    assert "the control c0 cannot be measured: SIGABRT; another commit takes its place" in said
    assert state.commits.counts() == {CommitStatus.DONE: 1}


def test_where_no_control_can_be_measured_controls_are_not_to_blame_and_are_not_used_up(
    state: State, line: Line, clock: Clock
) -> None:
    line.ids = [f"c{number}" for number in range(6)]
    line.times = {commit: 10 + number for number, commit in enumerate(line.ids)}
    unmeasured = CommitOutcome(control_unmeasured=True, reason="SIGABRT")
    for _ in range(5 * MOST_ATTEMPTS):
        watch(orders(line), WatchTasks(lambda *_: unmeasured), state, timing=clock.timing)
    broken = state.log.read(BrokenCommits)
    assert broken is not None
    assert broken.commits == ("c0",)
    assert state.commits.counts() == {CommitStatus.WAITING: 1}
    last_error = state.log.read(LastError)
    assert last_error is not None
    assert "controls are hardly to blame" in last_error.error


def test_what_can_never_work_ends_the_watcher(state: State, line: Line, laboratory: Laboratory, clock: Clock) -> None:
    laboratory.answers["c2"] = UsageError("no such device")
    with pytest.raises(UsageError):
        once(state, line, laboratory, clock, base="c0")


def test_a_branch_that_is_gone_is_told_by_every_start_and_is_no_success(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    line.problem = EnvironmentProblem("the branch main no longer exists on origin", hint="--branch trunk")
    for _ in range(2):
        said: list[str] = []
        tasks = WatchTasks(laboratory.compare)
        summary = watch(orders(line, base="c0"), tasks, state, timing=clock.timing, say=said.append)
        assert summary.is_unreachable
        assert exit_code_of(summary, is_worse=False, has_failures=False) is ExitCode.ENVIRONMENT
        (words,) = said
        assert "no longer exists on origin" in words
        assert "--branch trunk" in words
    poll = status_of(state.path).poll
    assert poll is not None
    assert "--branch trunk" in str(poll.error)
    assert poll.failures == 2


def test_a_branch_that_stays_away_is_told_once_and_looked_for_again(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    line.problem = EnvironmentProblem("the branch main no longer exists on origin")
    said: list[str] = []
    for_hours(clock, switch := tmp_path / "status", 5)
    plan = orders(line, base="c0", interval_s=3600.0, switch=switch)
    watch(plan, WatchTasks(laboratory.compare), state, timing=clock.timing, say=said.append)
    poll = state.log.read(PollStatus)
    assert poll is not None
    assert poll.failures > 3
    assert sum("no longer exists" in words for words in said) == 1


def test_a_branch_that_never_was_is_a_mistake(state: State, laboratory: Laboratory, clock: Clock) -> None:
    with pytest.raises(UsageError, match="no main"):
        once(state, Line(), laboratory, clock)


def test_an_unreachable_repository_is_asked_again_and_shown(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    once(state, line, laboratory, clock, base="c0")
    line.problem = EnvironmentProblem("no network")
    summary = once(state, line, laboratory, clock, base="c0")
    assert summary.is_unreachable
    polled = status_of(state.path).poll
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
    assert state.log.read(PollStatus) is not None
    assert any("answers again" in happening.text for happening in state.log.latest())


@pytest.mark.parametrize(
    "problem", [StopRequested("stopped after a launch"), Interrupted("ctrl-c"), KeyboardInterrupt()]
)
def test_a_comparison_that_was_given_up_is_done_again(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, problem: BaseException
) -> None:
    def compare(control: Commit, treatment: Commit) -> CommitOutcome:
        raise problem

    plan = orders(line, base="c0")
    if isinstance(problem, StopRequested):
        watch(plan, WatchTasks(compare), state, timing=clock.timing)
    else:
        with pytest.raises(type(problem)):
            watch(plan, WatchTasks(compare), state, timing=clock.timing)
    once(state, line, laboratory, clock, base="c0")
    assert laboratory.treatments == ["c2"]


def test_results_wait_for_room_on_the_disk(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    said: list[str] = []
    many = CommitOutcome(points=tuple(point("c0", benchmark=f"{number:03}" * 60) for number in range(200)))

    def compare(control: Commit, treatment: Commit) -> CommitOutcome:
        limit_pages(state, page_count(state))
        laboratory.compare(control, treatment)
        return many

    def make_room() -> None:
        if len(clock.waited) == 90:
            limit_pages(state, 1 << 20)

    clock.meanwhile = make_room
    watch(orders(line, base="c0"), WatchTasks(compare), state, timing=clock.timing, say=said.append)
    assert laboratory.treatments == ["c2"], "what was measured is not measured again"
    assert len(state.points.of_commit("c2")) == 200
    assert any("no room" in text for text in said)


def test_a_full_disk_does_not_keep_a_person_from_stopping(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    status = tmp_path / "status"
    many = CommitOutcome(points=tuple(point("c0", benchmark=f"{number:03}" * 60) for number in range(200)))

    def compare(control: Commit, treatment: Commit) -> CommitOutcome:
        limit_pages(state, page_count(state))
        return many

    for_hours(clock, status, 1)
    watch(orders(line, base="c0", switch=status), WatchTasks(compare), state, timing=clock.timing)
    limit_pages(state, 1 << 20)
    state.recover(clock.wall)
    once(state, line, laboratory, clock, base="c0")
    assert laboratory.treatments == ["c2"]


def test_a_commit_file_that_cannot_be_written_stops_nothing(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    said: list[str] = []
    (tmp_path / "folder").write_text("")
    plan = orders(line, base="c0", since="c0")
    plan = replace(plan, commit_file=tmp_path / "folder" / "commit")
    with pytest.raises(EnvironmentProblem, match="cannot read the commit file"):
        watch(plan, WatchTasks(laboratory.compare), state, timing=clock.timing, say=said.append)
    plan = orders(line, base="c0", since="c0", commit_file=tmp_path / "later" / "commit")
    (tmp_path / "later").symlink_to("/proc")
    watch(plan, WatchTasks(laboratory.compare), state, timing=clock.timing, say=said.append)
    assert laboratory.treatments == ["c1", "c2"]
    assert any("cannot write the commit file" in text for text in said)


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
