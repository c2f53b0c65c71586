"""Which commits a watcher measures, where it begins, and what it remembers of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.store.canonical_json import load_result
from harness.watch.store.commits import CommitStatus
from tests.cli.project import Project, generic, one_test
from tests.e2e.groups import MEASURING
from tests.e2e.repositories import need
from tests.e2e.watched import Watch, watch_of

pytestmark = [pytest.mark.slow, MEASURING]

WEEK_S = 7 * 24 * 3600


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    need("git", "g++")
    return watch_of(Project(tmp_path, tmp_path / "cache"))


def measured(watch: Watch) -> list[str]:
    """Commits that were dealt with by comparing them, oldest first."""
    with watch.open_state() as state:
        return [entry.commit.id for entry in state.commits.with_status(CommitStatus.DONE)]


def controls(watch: Watch) -> set[str | None]:
    with watch.open_state() as state:
        return {entry.control for entry in state.commits.with_status(CommitStatus.DONE)}


def test_by_default_only_the_newest_commit_is_measured(watch: Watch) -> None:
    for number in range(1, 4):
        watch.work.commit(f"Change {number}", same=True)
    assert watch.harness().code == 0
    assert measured(watch) == watch.work.commits[3:]
    assert controls(watch) == {watch.work.commits[0]}, "the first of its week"


def test_by_default_the_main_branch_of_the_remote_is_followed(watch: Watch) -> None:
    remote = watch.project.folder / "remote.git"
    watch.work.git("clone", "--quiet", "--bare", str(watch.work.folder), str(remote))
    watch.work.git("remote", "add", "origin", str(remote))
    watch.work.git("fetch", "--quiet", "origin")
    watch.work.git("remote", "set-head", "origin", "main")
    pushed = watch.work.commit("Change 1", same=True)
    watch.work.git("push", "--quiet", str(remote), "main")  # which leaves refs/remotes/origin as it is
    watch.work.git("reset", "--quiet", "--hard", watch.work.commits[0])
    assert watch.harness("--since", watch.work.commits[0]).code == 0
    assert measured(watch) == [pushed]


def test_every_third_commit_and_finally_the_newest_is_measured(watch: Watch) -> None:
    for number in range(1, 9):
        watch.work.commit(f"Change {number}", same=True)
    arguments = ("--since", watch.work.commits[0], "--step", "3", "--interval", "1")
    with watch.running(*arguments) as process:
        watch.wait_for(watch.work.commits[8], process)
    assert measured(watch) == [watch.work.commits[number] for number in (3, 6, 8)]
    assert watch.counts() == {CommitStatus.DONE: 3, CommitStatus.SKIPPED: 5}
    with watch.open_state() as state:
        assert {entry.reason for entry in state.commits.with_status(CommitStatus.SKIPPED)} == {
            "--step 3: only each 3th commit is measured"
        }


def test_merge_commits_can_be_skipped(watch: Watch) -> None:
    watch.work.commit("Change 1", same=True)
    merge = watch.work.merge("Join")
    newest = watch.work.commit("Change 2", same=True)
    assert watch.harness("--since", watch.work.commits[0], "--no-merges").code == 0
    with watch.open_state() as state:
        (passed,) = state.commits.with_status(CommitStatus.SKIPPED)
    assert (passed.commit.id, passed.reason) == (merge, "a merge commit")
    assert measured(watch)[-1] == newest


def test_the_commit_file_sets_the_start_and_records_progress(watch: Watch) -> None:
    for number in range(1, 5):
        watch.work.commit(f"Change {number}", same=True)
    file = watch.project.write("commit", f"{watch.work.commits[2]}\n")
    assert watch.harness("--commit_file", file).code == 0
    assert measured(watch) == watch.work.commits[3:]
    assert file.read_text().strip() == watch.work.commits[4]


def test_fai_peps_flags_for_the_first_commit_are_supported(watch: Watch) -> None:
    for number in range(1, 4):
        watch.work.commit(f"Change {number}", same=True)
    arguments = ("--ab_testing", "--base_commit", watch.work.commits[0], "--commit", watch.work.commits[1])
    assert watch.harness(*arguments).code == 0
    assert measured(watch) == watch.work.commits[2:]
    assert controls(watch) == {watch.work.commits[0]}


def test_a_commit_is_compared_with_the_first_of_its_week(tmp_path: Path) -> None:
    need("git", "g++")
    watch = watch_of(Project(tmp_path, tmp_path / "cache"), every_s=WEEK_S // 3)
    for number in range(1, 7):
        watch.work.commit(f"Change {number}", same=True)
    assert watch.harness("--since", watch.work.commits[0]).code == 0
    with watch.open_state() as state:
        controls_by_commit = {entry.commit.id: entry.control for entry in state.commits.with_status(CommitStatus.DONE)}
    names = watch.work.commits
    # the first of a week is held against the first of the week before: nothing is held against itself
    assert [controls_by_commit[name] for name in names[1:]] == [names[number] for number in (0, 0, 0, 3, 3, 3)]


def test_fai_peps_command_line_watches_until_the_status_file_contains_0(watch: Watch) -> None:
    watch.work.commit("Change 1", same=True)
    switch, commits = watch.project.folder / "status", watch.project.write("commit", watch.work.commits[0])
    plain = watch.arguments("--interval", "1", "--status_file", switch, "--commit_file", commits)[1:]
    arguments = (*plain, "--repo", "git", "--regression", "--ab_testing", "--same_host", "--platforms", "host")
    with watch.started(*arguments) as process:
        watch.wait_for(watch.work.commits[1], process)
        assert switch.read_text() == "1\n"
        switch.write_text("0")
        assert process.wait(120) == 0
    assert "stopped; write 1 into it before the next start" in watch.stderr
    assert commits.read_text().strip() == watch.work.commits[1]


def test_the_status_file_stops_a_comparison_after_its_pair_which_is_kept(watch: Watch) -> None:
    watch.work.commit("Change 1")
    switch = watch.project.folder / "status"
    long = ("--since", watch.work.commits[0], "--pairs", "2000", "--precision", "0.00001")
    with watch.running(*long, "--interval", "1", "--status_file", switch) as process:
        watch.wait_until(lambda: "comparing on" in watch.stderr, process)
        switch.write_text("0")
        assert process.wait(120) == 0
    assert watch.counts() == {CommitStatus.WAITING: 1}
    switch.write_text("1")
    assert watch.harness("--since", watch.work.commits[0], "--pairs", "8", "--status_file", switch).code == 0
    assert measured(watch) == watch.work.commits[1:]


def test_rewritten_history_is_followed(watch: Watch) -> None:
    watch.work.commit("Change 1", same=True)
    gone = watch.work.commit("Change 2", same=True)
    arguments = ("--since", watch.work.commits[0])
    assert watch.harness(*arguments).code == 0
    watch.work.git("reset", "--quiet", "--hard", watch.work.commits[1])
    identical_commit = watch.work.commit("Another change 2", same=True)
    done = watch.harness(*arguments)
    assert done.code == 0
    assert "history was rewritten" in done.stderr
    assert measured(watch) == [watch.work.commits[1], identical_commit]
    assert watch.counts() == {CommitStatus.DONE: 2, CommitStatus.VANISHED: 1}
    with watch.open_state() as state:
        assert state.points.of_commit(gone), "what was measured stays"


def test_a_commit_whose_runner_crashes_fails_and_does_not_stop_later_commits(watch: Watch) -> None:
    watch.work.commit("Change 1", crashes=True)
    watch.work.commit("Change 2")
    done = watch.harness("--since", watch.work.commits[0], "--pairs", "6")
    assert done.code == 4, done.stderr
    assert watch.counts() == {CommitStatus.FAILED: 1, CommitStatus.DONE: 1}
    with watch.open_state() as state:
        (failed,) = state.commits.with_status(CommitStatus.FAILED)
    assert failed.commit.id == watch.work.commits[1]
    assert "SIGABRT" in failed.reason


def test_commits_wait_for_a_control_that_crashes(watch: Watch) -> None:
    watch.work.commit("Change 1", crashes=True)
    watch.work.commit("Change 2")
    done = watch.harness("--base_commit", watch.work.commits[1], "--pairs", "6")
    assert done.code == 3, done.stderr
    assert f"the control {watch.work.commits[1][:12]} cannot be measured" in done.stderr
    assert watch.counts() == {CommitStatus.WAITING: 1}
    assert watch.series() == []
    assert watch.harness("--base_commit", watch.work.commits[0], "--pairs", "6").code == 0
    assert watch.counts() == {CommitStatus.DONE: 1}


def test_a_control_that_does_not_build_is_replaced_by_the_next_commit_of_its_week(tmp_path: Path) -> None:
    need("git", "g++")
    watch = watch_of(Project(tmp_path, tmp_path / "cache"), every_s=WEEK_S // 3)
    for number in range(1, 7):
        watch.work.commit(f"Change {number}", breaks=number == 3)
    names = watch.work.commits
    done = watch.harness("--since", names[3], "--pairs", "6")
    assert done.code == 0, done.stderr
    assert f"the control {names[3][:12]} cannot be built" in done.stderr
    with watch.open_state() as state:
        controls_by_commit = {entry.commit.id: entry.control for entry in state.commits.with_status(CommitStatus.DONE)}
    assert controls_by_commit == {names[4]: names[0], names[5]: names[4], names[6]: names[4]}


def test_a_commit_that_failed_is_measured_again_when_it_is_asked_for(watch: Watch) -> None:
    watch.work.commit("Change 1", same=True)
    commit = watch.work.commit("Change 2", same=True)
    recipe = watch.project.folder / "recipes" / "generic" / "build.sh"
    working = recipe.read_text()
    recipe.write_text("#!/bin/sh\necho the compiler is being updated >&2\nexit 1\n")
    arguments = ("--base_commit", watch.work.commits[0], "--since", watch.work.commits[0])
    failed = watch.harness(*arguments)
    recipe.write_text(working)
    assert failed.code == 3, "its control does not build either"
    assert watch.harness(*arguments).code == 0
    assert watch.counts() == {CommitStatus.DONE: 2}
    again = watch.harness(*arguments, "--again", f"{commit}~1..{commit}")
    assert again.code == 0, again.stderr
    assert "1 commit will be measured again" in again.stderr
    with watch.open_state() as state:
        assert len(state.points.of_commit(commit)) == 2


def test_benchmarks_of_the_same_bytes_leave_one_record_and_a_point_each(watch: Watch) -> None:
    names = ("one", "two", "three")
    tests = (one_test(name, "{program} {iter}", iter=10, threads=1) for name in names)
    watch.project.write("spec.json", generic(*tests))
    commit = watch.work.commit("Change a comment", same=True)
    assert watch.harness("--since", watch.work.commits[0]).code == 0
    (record,) = (watch.project.folder / "results").glob("*/generic/**/result.json")
    result = load_result(record)
    assert result.comparison is not None
    assert result.comparison.identical
    (note,) = (note.message for note in result.notes if note.code == "same_bytes")
    assert note.startswith("the runners of 2 further benchmarks are the same bytes too: m/")
    with watch.open_state() as state:
        points = state.points.of_commit(commit)
    assert sorted(point.title for point in points) == sorted(f"m/{name}" for name in names)
    assert {point.result for point in points} == {result.uid}
