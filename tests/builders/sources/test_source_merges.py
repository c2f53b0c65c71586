"""Histories with merges, in git and in Mercurial: the line of first parents, and what merges brought into it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.builders.sources.git import GitSource
from harness.builders.sources.hg import HgSource
from harness.builders.sources.mainline import trace_mainline
from harness.core.commit import DescribingSource, MergingSource
from harness.core.errors import UsageError
from tests.builders.sources.repositories import GitRepository, HgRepository, require, subjects


def test_a_merge_in_git(repository: GitRepository, source: GitSource) -> None:
    repository.commit("base")
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("side", {"other": "x"})
    repository.git("checkout", "-q", "main")
    plain = repository.commit("plain")
    repository.git("merge", "-q", "--no-ff", "-m", "joined", "side")
    assert not source.resolve(plain).merge
    assert source.resolve("main").merge


def branch(repository: GitRepository, name: str, *names: str, base: str = "main") -> list[str]:
    """Commit on a branch of its own, each commit to a file of its own, and go back to `main`."""
    repository.git("checkout", "-q", *([name] if _has_branch(repository, name) else ["-b", name, base]))
    hashes = [repository.commit(subject, {subject: "x"}) for subject in names]
    repository.git("checkout", "-q", "main")
    return hashes


def _has_branch(repository: GitRepository, name: str) -> bool:
    return name in repository.git("branch", "--format=%(refname:short)").split()


def merge(repository: GitRepository, subject: str, *names: str, into: str = "main") -> str:
    """Merge branches into another, with a commit, and go back to `main`."""
    repository.git("checkout", "-q", into)
    repository.git("merge", "-q", "--no-ff", "-m", subject, *names)
    merged = repository.git("rev-parse", "HEAD")
    repository.git("checkout", "-q", "main")
    return merged


def line(source: GitSource, older: str, newer: str = "main") -> list[str]:
    return subjects(source.between(source.resolve(older), source.resolve(newer)))


def test_commits_of_a_side_branch_are_in_its_merge(repository: GitRepository, source: GitSource) -> None:
    repository.commit("base")
    repository.git("tag", "start")
    branch(repository, "side", "side 1", "side 2")
    repository.commit("main 1", {"main": "x"})
    merge(repository, "merge", "side")
    repository.commit("main 2")
    assert line(source, "start") == ["main 1", "merge", "main 2"]
    assert isinstance(source, MergingSource)
    assert subjects(source.parents(source.resolve("main~1"))) == ["main 1", "side 2"]
    assert subjects(source.parents(source.resolve("start"))) == []


def test_a_side_that_is_older_than_the_beginning(repository: GitRepository, source: GitSource) -> None:
    repository.commit("base")
    branch(repository, "side", "side 1")
    start = repository.commit("start", {"main": "x"})
    merge(repository, "merge", "side")
    assert line(source, start) == ["merge"]


def test_a_merge_of_several_branches_at_once(repository: GitRepository, source: GitSource) -> None:
    base = repository.commit("base")
    for name in ("a", "b", "c"):
        branch(repository, name, f"{name} 1", base=base)
    repository.commit("main 1", {"main": "x"})
    merge(repository, "octopus", "a", "b", "c")
    assert line(source, base) == ["main 1", "octopus"]
    assert subjects(source.parents(source.resolve("main"))) == ["main 1", "a 1", "b 1", "c 1"]


def test_branches_that_were_merged_into_one_another(repository: GitRepository, source: GitSource) -> None:
    """A criss-cross: both merges have the same two parents, in the other order."""
    base = repository.commit("base")
    branch(repository, "side", "side 1")
    repository.commit("main 1", {"main": "x"})
    repository.git("branch", "main-before")
    merge(repository, "main takes side", "side")
    merge(repository, "side takes main", "main-before", into="side")
    branch(repository, "side", "side 2")
    repository.commit("main 2", {"main": "y"})
    merge(repository, "merge", "side")
    assert line(source, base) == ["main 1", "main takes side", "main 2", "merge"]
    assert line(source, base, "side") == ["side 1", "side takes main", "side 2"]


def test_a_branch_that_becomes_the_main_one_is_what_its_merge_brought(
    repository: GitRepository, source: GitSource
) -> None:
    """After the fast-forward the newest commit before it is no first parent of any: the line goes on all the same."""
    base = repository.commit("base")
    branch(repository, "side", "side 1", "side 2")
    before = repository.commit("main 1", {"main": "x"})
    merge(repository, "side takes main", "main", into="side")
    branch(repository, "side", "side 3")
    repository.git("merge", "-q", "--ff-only", "side")
    assert line(source, before) == ["side takes main", "side 3"]
    assert line(source, base) == ["side 1", "side 2", "side takes main", "side 3"], "its first parents"
    assert repository.git("log", "--first-parent", "--format=%s").splitlines()[-1] == "base"


def test_a_long_side_without_a_merge_is_the_line(repository: GitRepository, source: GitSource) -> None:
    base = repository.commit("base")
    branch(repository, "side", *(f"side {number}" for number in range(5)))
    repository.git("merge", "-q", "--ff-only", "side")
    assert line(source, base) == [f"side {number}" for number in range(5)]


def test_a_beginning_inside_a_side_that_was_merged_later(repository: GitRepository, source: GitSource) -> None:
    repository.commit("base")
    inside, _ = branch(repository, "side", "side 1", "side 2")
    repository.commit("main 1", {"main": "x"})
    merge(repository, "merge", "side")
    repository.commit("main 2", {"main": "y"})
    assert line(source, inside) == ["side 2", "merge", "main 2"]
    with pytest.raises(UsageError, match="is not before"):
        line(source, "main~2", "side")


@given(st.data())
def test_each_commit_of_the_line_is_a_child_of_the_one_before_by_its_first_parent_that_contains_the_beginning(
    data: st.DataObject,
) -> None:
    count = data.draw(st.integers(2, 25))
    history: dict[str, list[str]] = {"c0": []} | {
        f"c{number}": data.draw(
            st.lists(st.integers(0, number - 1).map(lambda parent: f"c{parent}"), min_size=1, max_size=3, unique=True)
        )
        for number in range(1, count)
    }

    def contained(commit: str) -> set[str]:
        return {commit}.union(*(contained(parent) for parent in history[commit]))

    newer = f"c{count - 1}"
    older = data.draw(st.sampled_from(sorted(contained(newer) - {newer})))
    between = {commit for commit in contained(newer) if older in contained(commit)} - {older}
    traced = trace_mainline(older, newer, {commit: history[commit] for commit in between})
    assert traced[-1] == newer
    for before, commit in zip((older, *traced), traced, strict=False):
        assert before == next(parent for parent in history[commit] if older in contained(parent))


@pytest.mark.exhaustive
@pytest.mark.slow  # Mercurial starts slowly
def test_a_merge_in_mercurial(tmp_path: Path, cache: Path) -> None:
    require("hg")
    user = HgRepository(tmp_path / "user")
    base = user.commit("base")
    plain = user.commit("plain", {"other": "x"})
    user.hg("update", "-q", base)
    user.commit("side", {"third": "y"})
    user.hg("merge", "-q")
    joined = user.commit("joined", {"fourth": "z"})
    source = HgSource(user.path, cache_dir=cache)
    assert not source.resolve(plain).merge
    assert source.resolve(joined).merge
    assert subjects(source.between(source.resolve(base), source.resolve(joined))) == ["side", "joined"]
    assert subjects(source.between(source.resolve(plain), source.resolve(joined))) == ["joined"]
    assert isinstance(source, MergingSource)
    assert subjects(source.parents(source.resolve(joined))) == ["side", "plain"]
    assert subjects(source.parents(source.resolve(base))) == []


def test_the_whole_message_of_a_commit_is_known(repository: GitRepository, source: GitSource, tmp_path: Path) -> None:
    message = "Faster loop\n\nThis reverts commit 1234567890.\nTold by Ädä."
    assert source.message(source.resolve(repository.commit(message))).strip() == message
    require("hg")
    changesets = HgRepository(tmp_path / "hg")
    changesets.commit(message)
    mercurial = HgSource(changesets.path, cache_dir=tmp_path / "cache")
    assert isinstance(mercurial, DescribingSource)
    assert mercurial.message(mercurial.resolve("tip")).strip() == message
