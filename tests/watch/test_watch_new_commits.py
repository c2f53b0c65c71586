"""Which commits come next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.builders.sources.git import GitSource
from harness.core.commit import Commit
from harness.core.errors import UsageError
from harness.watch.new_commits import CommitSelection, find_new_commits, resolve_newest, select_commits
from harness.watch.store.commits import CommitStatus
from tests.e2e.repositories import need, run
from tests.watch.watching import Line


def waiting(told: Sequence[tuple[Commit, CommitStatus, str]]) -> list[str]:
    return [commit.id for commit, progress, _ in told if progress is CommitStatus.WAITING]


def line_of(count: int) -> Line:
    return Line([f"c{number}" for number in range(count)])


def test_in_the_beginning_only_the_newest_is_of_interest(line: Line) -> None:
    assert find_new_commits(line, None, line.resolve("main"), ()).commits == (line.commit("c2"),)


def test_what_came_since_is_taken_in_order_with_the_newest(line: Line) -> None:
    found = find_new_commits(line, line.commit("c0"), line.resolve("main"), ())
    assert [commit.id for commit in found.commits] == ["c1", "c2"]
    assert not found.is_rewritten


def test_nothing_new_is_nothing(line: Line) -> None:
    assert find_new_commits(line, line.commit("c2"), line.resolve("main"), ()).commits == ()


def test_a_lost_commit_is_replaced_by_the_newest_known_one_that_is_still_there(line: Line) -> None:
    known = [line.commit(one) for one in ("gone2", "gone1", "c1", "c0")]
    found = find_new_commits(line, line.commit("gone2"), line.resolve("main"), known)
    assert found.is_rewritten
    assert found.common_ancestor == line.commit("c1")
    assert [commit.id for commit in found.commits] == ["c2"]


def test_a_history_that_shares_nothing_begins_anew_with_the_newest(line: Line) -> None:
    found = find_new_commits(line, line.commit("gone"), line.resolve("main"), [line.commit("gone")])
    assert found.is_rewritten
    assert found.common_ancestor is None
    assert [commit.id for commit in found.commits] == ["c2"]


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 7))
def test_a_step_is_a_step_however_often_somebody_looks(growth: list[int], step: int) -> None:
    line, cursor, taken = line_of(1), Line().commit("c0"), list[str]()
    for more in growth:
        line.ids += [f"c{len(line.ids) + number}" for number in range(more)]
        found = find_new_commits(line, cursor, line.resolve("main"), ())
        told = select_commits(found.commits, CommitSelection(step), is_quiet=False)
        taken += waiting(told)
        cursor = told[-1][0] if told else cursor
    assert taken == line.ids[step::step]


@given(st.integers(1, 30), st.integers(1, 7))
def test_when_nothing_comes_any_more_the_newest_is_taken(count: int, step: int) -> None:
    commits = [Line().commit(f"c{number}") for number in range(count)]
    told = select_commits(commits, CommitSelection(step), is_quiet=True)
    assert [commit for commit, _, _ in told] == commits
    assert waiting(told)[-1] == commits[-1].id


def test_merge_commits_are_passed_over_and_do_not_count_as_steps() -> None:
    commits = [Line().commit(one) for one in ("a", "merge1", "b", "c", "merge2", "d")]
    told = select_commits(commits, CommitSelection(2, lambda commit: commit.id.startswith("merge")), is_quiet=False)
    assert waiting(told) == ["b", "d"]
    assert {commit.id: why for commit, _, why in told}["merge1"] == "a merge commit"
    assert "--step 2" in {commit.id: why for commit, _, why in told}["a"]


def test_a_step_that_is_none_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="--step 0"):
        CommitSelection(0)


def test_the_first_name_that_means_something_wins(line: Line) -> None:
    assert resolve_newest(line, ("origin/main", "main")).id == "c2"
    with pytest.raises(UsageError, match="no neither"):
        resolve_newest(line, ("origin/neither", "neither"))


def test_a_source_without_a_main_branch_has_the_newest_that_is_named(line: Line) -> None:
    assert resolve_newest(line, ("main",), main=True).id == "c2"


class Repository:
    """A git repository that grows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        run(folder, "git", "init", "--quiet", "--initial-branch=main")

    def commit(self, subject: str) -> str:
        run(self.folder, "git", "commit", "--quiet", "--allow-empty", "-m", subject)
        return run(self.folder, "git", "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    need("git")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return Repository(tmp_path / "user")


@pytest.mark.slow
def test_a_force_push_is_seen_and_followed_from_where_histories_parted(repository: Repository, tmp_path: Path) -> None:
    base = repository.commit("base")
    old = repository.commit("old")
    source = GitSource(repository.folder, cache_dir=tmp_path / "cache")
    cursor = source.resolve("main")
    run(repository.folder, "git", "reset", "--quiet", "--hard", base)
    new = [repository.commit("new"), repository.commit("newer")]
    source.fetch()
    found = find_new_commits(source, cursor, source.resolve("main"), ())
    assert cursor.id == old
    assert found.is_rewritten
    assert found.common_ancestor is not None
    assert found.common_ancestor.id == base
    assert [commit.id for commit in found.commits] == new


@pytest.mark.slow
def test_a_branch_that_was_moved_back_brings_nothing(repository: Repository, tmp_path: Path) -> None:
    base = repository.commit("base")
    repository.commit("taken back")
    source = GitSource(repository.folder, cache_dir=tmp_path / "cache")
    cursor = source.resolve("main")
    run(repository.folder, "git", "reset", "--quiet", "--hard", base)
    source.fetch()
    found = find_new_commits(source, cursor, source.resolve("main"), ())
    assert (found.is_rewritten, found.commits) == (True, ())
    assert found.common_ancestor is not None
    assert found.common_ancestor.id == base


@pytest.mark.slow
def test_the_main_branch_is_that_of_the_remote_and_as_new_as_the_last_fetch(
    repository: Repository, tmp_path: Path
) -> None:
    repository.commit("cloned")
    clone = tmp_path / "clone"
    run(tmp_path, "git", "clone", "--quiet", str(repository.folder), str(clone))
    source = GitSource(clone, cache_dir=tmp_path / "cache")
    for subject in ("newer", "newest"):
        pushed = repository.commit(subject)
        source.fetch()
        assert resolve_newest(source, ("HEAD",), main=True).id == pushed
