"""Branches that are renamed, deleted or rewritten at the remote: never a stale one instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.builders.sources.git import GitSource
from harness.core.commit import Commit
from harness.core.errors import EnvironmentProblem, UsageError
from harness.watch.new_commits import resolve_newest
from tests.builders.sources.repositories import GitRepository, clone_with_remote, require


@pytest.fixture
def places(tmp_path: Path, cache: Path) -> tuple[GitRepository, GitRepository, GitSource]:
    require("git")
    return clone_with_remote(tmp_path, cache)


def newest(source: GitSource, branch: str | None = None) -> Commit:
    """Return the newest commit as a watcher looks for it."""
    source.fetch()
    if branch is None:
        return resolve_newest(source, (source.newest,), main=True)
    return resolve_newest(source, source.tips(branch))


@pytest.mark.parametrize("branch", ["main", None], ids=["named", "the main one"])
@pytest.mark.parametrize("pruned", [False, True], ids=["the clone remembers it", "the clone was pruned"])
def test_a_renamed_branch_is_an_error_that_suggests_its_new_name(
    places: tuple[GitRepository, GitRepository, GitSource], branch: str | None, pruned: bool
) -> None:
    remote, clone, source = places
    remote.git("branch", "maintenance", "main")
    remote.commit("two")
    clone.git("fetch", "--quiet")
    assert newest(source, branch).subject == "two"
    remote.git("branch", "-m", "main", "trunk")
    remote.commit("three")
    if pruned:
        clone.git("fetch", "--quiet", "--prune")
    with pytest.raises(EnvironmentProblem, match="the branch main no longer exists on origin") as caught:
        newest(source, branch)
    assert "there are trunk, maintenance" in caught.value.message
    assert caught.value.hint == "if it was renamed to trunk: --branch trunk"
    assert newest(source, "trunk").subject == "three"


def test_a_branch_that_returns_is_followed_again(places: tuple[GitRepository, GitRepository, GitSource]) -> None:
    remote, _, source = places
    remote.git("branch", "-m", "main", "trunk")
    with pytest.raises(EnvironmentProblem):
        newest(source, "main")
    remote.git("branch", "-m", "trunk", "main")
    assert newest(source, "main").subject == "one"


@pytest.mark.parametrize("branch", ["main", None], ids=["named", "the main one"])
def test_a_branch_that_goes_back_is_followed_although_the_clone_remembers_its_later_commits(
    places: tuple[GitRepository, GitRepository, GitSource], branch: str | None
) -> None:
    remote, clone, source = places
    remote.commit("two")
    clone.git("fetch", "--quiet")
    assert newest(source, branch).subject == "two"
    remote.git("reset", "--quiet", "--hard", "HEAD~1")
    assert newest(source, branch).subject == "one"
    assert source.resolve("origin/main").subject == "one"


def test_a_deleted_branch_is_an_error_although_the_clone_has_a_local_one(
    places: tuple[GitRepository, GitRepository, GitSource],
) -> None:
    remote, clone, source = places
    remote.git("branch", "release", "main")
    clone.git("fetch", "--quiet")
    clone.git("branch", "--quiet", "--track", "release", "origin/release")
    assert newest(source, "release").subject == "one"
    remote.git("branch", "-D", "release")
    with pytest.raises(EnvironmentProblem, match="the branch release no longer exists on origin; there are main"):
        newest(source, "release")
    with pytest.raises(EnvironmentProblem, match="the branch release no longer exists on origin"):
        source.resolve("origin/release")
    assert source.resolve("release").subject == "one", "the user's own branch, by its own name"


def test_a_branch_that_only_the_clone_has_is_followed(places: tuple[GitRepository, GitRepository, GitSource]) -> None:
    _, clone, source = places
    clone.git("checkout", "--quiet", "-b", "work", "--no-track")
    clone.commit("mine")
    assert newest(source, "work").subject == "mine"


def test_a_name_that_never_was_a_branch_is_the_users_mistake(
    places: tuple[GitRepository, GitRepository, GitSource],
) -> None:
    _, _, source = places
    with pytest.raises(UsageError, match="has a commit"):
        newest(source, "mian")


def test_references_that_are_no_branches_of_the_remote_are_not_taken_for_deleted_ones(
    places: tuple[GitRepository, GitRepository, GitSource],
) -> None:
    remote, clone, source = places
    remote.git("update-ref", "refs/pull/7/head", "main")
    clone.git("config", "--add", "remote.origin.fetch", "+refs/pull/*/head:refs/remotes/origin/pr/*")
    clone.git("fetch", "--quiet")
    source.fetch()
    assert source.resolve("origin/pr/7").subject == "one"
    assert source.resolve("origin/HEAD").subject == "one"


def test_the_main_branch_is_the_default_of_the_remote_where_the_clone_does_not_know_it(
    tmp_path: Path, cache: Path
) -> None:
    require("git")
    remote = GitRepository(tmp_path / "remote")
    remote.commit("one")
    remote.git("branch", "-m", "main", "develop")
    clone = GitRepository(tmp_path / "clone")
    clone.commit("of nobody else")
    clone.git("remote", "add", "origin", str(remote.path))
    source = GitSource(clone.path, cache_dir=cache)
    assert newest(source).subject == "one"


def test_without_a_remote_nothing_is_stale(repository: GitRepository, source: GitSource) -> None:
    repository.commit("one")
    assert newest(source, "main").subject == "one"
    repository.git("branch", "-m", "main", "trunk")
    with pytest.raises(UsageError, match="has a commit"):
        newest(source, "main")
