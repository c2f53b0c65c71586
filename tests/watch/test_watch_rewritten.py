"""Forced pushes: what was measured of commits that vanished stays, and nothing is judged across."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.builders.sources.git import GitSource
from harness.core.alarm import AlarmStage
from harness.core.series import SeriesKey
from harness.watch.branch_poller import Branch, BranchPoller
from harness.watch.loop import watch
from harness.watch.store.commits import CommitStatus
from harness.watch.store.state import State
from harness.watch.tasks import WatchTasks
from tests.builders.sources.repositories import GitRepository, require
from tests.watch.test_watch_alarms import slow_commit, step_or_recovery
from tests.watch.watching import Clock, Laboratory, Line, alarm, change, confirmed, found, once, orders

KEY = SeriesKey(benchmark="mv2", device="board", metric="NET latency")


def commits_of_series(state: State) -> Sequence[str]:
    return [point.commit for point in state.points.series(KEY).points]


def with_status(state: State, status: CommitStatus) -> list[str]:
    return [entry.commit.id for entry in state.commits.with_status(status)]


def test_commits_that_vanished_are_in_no_series_and_keep_what_was_measured(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    line.ids = ["c0", "c1", "c2", "c3"]
    once(state, line, laboratory, clock, base="c0", since="c0")
    line.ids = ["c0", "c1", "n2", "n3"]
    said: list[str] = []
    watch(orders(line, base="c0"), WatchTasks(laboratory.compare), state, timing=clock.timing, say=said.append)
    assert commits_of_series(state) == ["c1", "n2", "n3"]
    assert with_status(state, CommitStatus.VANISHED) == ["c2", "c3"]
    assert [len(state.points.of_commit(commit)) for commit in ("c2", "c3")] == [1, 1]
    assert any("history was rewritten" in text and "2 measured commits out of the series" in text for text in said)


def test_history_that_returns_counts_again_without_being_measured_again(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    once(state, line, laboratory, clock, base="c0", since="c0")
    for ids in (["c0", "c1", "n2"], ["c0", "c1", "c2", "c3"]):
        line.ids = ids
        once(state, line, laboratory, clock, base="c0")
    assert laboratory.treatments == ["c1", "c2", "n2", "c3"]
    assert commits_of_series(state) == ["c1", "c2", "c3"]
    assert with_status(state, CommitStatus.VANISHED) == ["n2"]


def test_a_branch_that_was_moved_back_has_no_later_points(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    once(state, line, laboratory, clock, base="c0", since="c0")
    line.ids = ["c0", "c1"]
    once(state, line, laboratory, clock, base="c0")
    assert commits_of_series(state) == ["c1"]


def test_no_change_is_seen_between_a_commit_that_vanished_and_the_history_that_replaced_it(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    line.ids = ["c0", "c1", "slow"]
    slow_commit(laboratory, "slow")
    tasks = WatchTasks(laboratory.compare, step_or_recovery, confirmed, lambda *_: found("slow"))
    watch(orders(line, base="c0", since="c0"), tasks, state, timing=clock.timing)
    (raised,) = state.alarms.in_stages(*AlarmStage)
    assert raised.stage is AlarmStage.REPORTED
    line.ids = ["c0", "c1", "new"]
    watch(orders(line, base="c0"), tasks, state, timing=clock.timing)
    (closed,) = state.alarms.in_stages(*AlarmStage)
    assert closed.stage is AlarmStage.CLOSED
    assert closed.reason == "history was rewritten: slow is no longer in it"
    assert closed.recovery is None, "nothing made it good"


def test_an_alarm_whose_commits_return_begins_again(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    once(state, line, laboratory, clock, base="c0", since="c0")
    state.alarms.open(change(first="c1", last="c2"), 1.0)
    state.alarms.update(alarm(AlarmStage.REPORTED, change(first="c1", last="c2")))
    line.ids = ["c0", "c1", "n2"]
    once(state, line, laboratory, clock, base="c0")
    assert [raised.stage for raised in state.alarms.in_stages(*AlarmStage)] == [AlarmStage.CLOSED]
    line.ids = ["c0", "c1", "c2"]
    tasks = WatchTasks(laboratory.compare, verify=confirmed, find_culprits=lambda *_: found("c2"))
    watch(orders(line, base="c0"), tasks, state, timing=clock.timing)
    assert [raised.stage for raised in state.alarms.in_stages(*AlarmStage)] == [AlarmStage.REPORTED]


def test_an_alarm_begins_again_when_a_branch_that_was_moved_back_goes_on_as_before(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c2")
    tasks = WatchTasks(laboratory.compare, step_or_recovery, confirmed, lambda *_: found("c2"))
    for ids, stage in (
        (["c0", "c1", "c2"], AlarmStage.REPORTED),
        (["c0", "c1"], AlarmStage.CLOSED),
        (["c0", "c1", "c2"], AlarmStage.REPORTED),
    ):
        line.ids = ids
        watch(orders(line, base="c0", since="c0"), tasks, state, timing=clock.timing)
        assert [raised.stage for raised in state.alarms.in_stages(*AlarmStage)] == [stage], ids
    assert laboratory.treatments == ["c1", "c2"]


def test_a_branch_that_was_moved_back_and_goes_on_shows_what_its_earlier_points_show(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    slow_commit(laboratory, "c2", "c3")
    tasks = WatchTasks(laboratory.compare, step_or_recovery, confirmed, lambda *_: found("c2"))
    for ids in (["c0", "c1", "c2"], ["c0", "c1"], ["c0", "c1", "c2", "c3"]):
        line.ids = ids
        watch(orders(line, base="c0", since="c0"), tasks, state, timing=clock.timing)
    assert commits_of_series(state) == ["c1", "c2", "c3"]
    (raised,) = state.alarms.in_stages(*AlarmStage)
    assert (raised.stage, raised.change.first_with) == (AlarmStage.REPORTED, "c2")


def test_an_alarm_is_open_again_when_the_commit_that_made_it_good_vanishes(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    once(state, line, laboratory, clock, base="c0", since="c0")
    state.alarms.open(change(first="c0", last="c1"), 1.0)
    closed = alarm(AlarmStage.CLOSED, change(first="c0", last="c1"))
    state.alarms.update(closed.model_copy(update={"recovery": change("repair", first="c1", last="c2")}))
    line.ids = ["c0", "c1", "n2"]
    said: list[str] = []
    watch(orders(line, base="c0"), WatchTasks(laboratory.compare), state, timing=clock.timing, say=said.append)
    (raised,) = state.alarms.in_stages(*AlarmStage)
    assert (raised.stage, raised.recovery) == (AlarmStage.REPORTED, None)
    assert any("1 closed alarm open again" in text for text in said)


def test_commits_that_a_side_branch_shares_with_the_new_history_stay(
    state: State, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where both histories parted is a commit of a branch: the backlog has it only inside a merge."""
    require("git")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    repository = GitRepository(tmp_path / "user")
    names = {subject: repository.commit(subject) for subject in ("start", "shared", "shared too")}
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("side", {"side": "x"})
    repository.git("checkout", "-q", "main")
    names["merge"] = repository.git("merge", "-q", "--no-ff", "-m", "merge", "side") or repository.git(
        "rev-parse", "HEAD"
    )
    names["gone"] = repository.commit("gone")
    source = GitSource(repository.path, cache_dir=tmp_path / "cache")
    branch = Branch(source, ("main",), since=names["start"])

    def poll() -> None:
        assert BranchPoller(branch, state, None, clock.timing, lambda _: None).poll()
        while (entry := state.commits.next()) is not None:
            state.commits.finish(entry, CommitStatus.DONE, "", 1.0)

    poll()
    assert with_status(state, CommitStatus.DONE) == [names[name] for name in ("shared", "shared too", "merge", "gone")]
    repository.git("reset", "-q", "--hard", "refs/heads/side")
    new = repository.commit("new")
    poll()
    assert with_status(state, CommitStatus.VANISHED) == [names["merge"], names["gone"]]
    shared = [names["shared"], names["shared too"]]
    assert with_status(state, CommitStatus.DONE) == [*shared, new]
