"""Commits that a person wants measured again."""

from __future__ import annotations

import pytest

from harness.analysis.trend.changes import TrendReader
from harness.core.errors import BenchmarkFailed, BuildFailed, UsageError
from harness.core.series import SeriesKey
from harness.watch.loop import watch
from harness.watch.measuring_again import queue_again, resolve_range
from harness.watch.store.commits import CommitStatus
from harness.watch.store.event_log import BrokenCommits
from harness.watch.store.state import State
from harness.watch.tasks import WatchTasks
from tests.watch.watching import Clock, Laboratory, Line, kill_with, once, orders

KEY = SeriesKey(benchmark="mv2", device="board", metric="NET latency")


@pytest.fixture
def line() -> Line:
    return Line([f"c{number}" for number in range(6)])


def ids(line: Line, text: str) -> list[str]:
    return [commit.id for commit in resolve_range(line, text)]


def test_a_range_excludes_its_beginning_and_a_commit_may_be_named_alone(line: Line) -> None:
    assert ids(line, "c1..c3") == ["c2", "c3"]
    assert ids(line, "main~2..main") == ["c4", "c5"]
    assert ids(line, "c3") == ["c3"]


@pytest.mark.parametrize("text", ["..c3", "c3..", "..", "c1...c3", "c3..c3", "c3..c1", "c1..nothing"])
def test_ranges_that_name_no_commits_are_refused(line: Line, text: str) -> None:
    with pytest.raises(UsageError):
        resolve_range(line, text)


def test_commits_that_failed_are_measured_again_in_their_place(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    laboratory.answers = {"c2": BuildFailed("no disk"), "c3": BenchmarkFailed("a bad night")}
    once(state, line, laboratory, clock, base="c0", since="c0")
    laboratory.answers.clear()
    laboratory.asked.clear()
    assert queue_again(state, resolve_range(line, "c1..c4"), 1.0) == "3 commits will be measured again"
    once(state, line, laboratory, clock, base="c0")
    assert laboratory.treatments == ["c2", "c3", "c4"]
    assert state.commits.counts() == {CommitStatus.DONE: 5}
    series = state.points.series(KEY)
    assert [point.commit for point in series.points] == ["c1", "c2", "c3", "c4", "c4", "c5"]


def test_a_commit_that_was_given_up_because_it_killed_the_harness_gets_all_its_attempts_again(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    kill_with(state, line.commit("c1"))
    assert [entry.commit.id for entry in state.recover(1.0)] == ["c1"]
    queue_again(state, resolve_range(line, "c1"), 1.0)
    (entry,) = state.commits.with_status(CommitStatus.WAITING)
    assert (entry.commit.id, entry.attempts, entry.reason) == ("c1", 0, "")


def test_a_commit_that_could_not_be_built_may_be_a_control_again(state: State, line: Line) -> None:
    for commit in ("c1", "c2"):
        state.commits.add(line.commit(commit), CommitStatus.BUILD_FAILED)
    state.log.write(BrokenCommits(commits=("c1", "c2")))
    queue_again(state, resolve_range(line, "c2"), 1.0)
    assert state.log.read(BrokenCommits) == BrokenCommits(commits=("c1",))


def test_commits_that_were_never_taken_are_counted_and_alone_are_a_mistake(state: State, line: Line) -> None:
    state.commits.add(line.commit("c3"), CommitStatus.FAILED)
    assert queue_again(state, resolve_range(line, "c0..c4"), 1.0) == (
        "1 commit will be measured again; 3 others were never in the backlog"
    )
    with pytest.raises(UsageError, match="none of the 2 commits was ever in the backlog"):
        queue_again(state, resolve_range(line, "c0..c2"), 1.0)


def test_commits_that_are_not_in_the_history_any_more_stay_as_they_are(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    once(state, line, laboratory, clock, base="c0", since="c3")
    gone = line.commit("c5")
    line.ids = ["c0", "c1", "c2", "c3", "c4", "n5"]
    once(state, line, laboratory, clock, base="c0")
    queue_again(state, [gone, line.commit("c4")], 1.0)
    assert state.commits.counts() == {CommitStatus.VANISHED: 1, CommitStatus.WAITING: 1, CommitStatus.DONE: 1}


def test_series_are_read_anew_once_for_all_commits_that_are_measured_again(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    readers: list[SeriesKey] = []

    def read_trend(key: SeriesKey, progress: str | None) -> TrendReader:
        readers.extend([key] * (progress is None))
        return TrendReader(key, progress)

    tasks = WatchTasks(laboratory.compare, read_trend)
    watch(orders(line, base="c0", since="c0"), tasks, state, timing=clock.timing)
    assert len(readers) == 1
    queue_again(state, resolve_range(line, "c0..c4"), 1.0)
    laboratory.answers["c4"] = BenchmarkFailed("the last of them has no point")
    watch(orders(line, base="c0"), tasks, state, timing=clock.timing)
    assert len(readers) == 2
    progress = state.points.load_progress(KEY)
    assert progress is not None
    numbers = [number for number, _ in state.points.stored_after(KEY, 0)]
    assert progress[0] == max(numbers), "every point was judged"
