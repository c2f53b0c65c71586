"""Resolving names in git repositories, and listing the commits between two commits."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.builders.sources.git import GitSource
from harness.core.errors import UsageError
from tests.builders.sources.repositories import FIRST_SECOND, GitRepository, clone_with_remote, subjects

pytestmark = pytest.mark.slow


def test_head_is_the_commit_that_the_user_checked_out(repository: GitRepository, cache: Path, tmp_path: Path) -> None:
    one, two = repository.commit("one"), repository.commit("two")
    repository.git("checkout", "--quiet", "--detach", one)
    repository.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"), two)
    assert GitSource(repository.path, cache_dir=cache).resolve("HEAD").id == one
    assert GitSource(tmp_path / "linked", cache_dir=cache).resolve("HEAD").id == two


def test_an_unreachable_commit_is_resolved_by_its_hash(repository: GitRepository, source: GitSource) -> None:
    repository.commit("one")
    unreachable = repository.commit("two")
    repository.git("reset", "--quiet", "--hard", "HEAD~1")
    assert source.resolve(unreachable).subject == "two"


def test_an_unknown_name_is_refused_with_similar_names(repository: GitRepository, source: GitSource) -> None:
    repository.commit("one")
    repository.git("branch", "release/1.4")
    with pytest.raises(UsageError, match=r"has a commit relaese/1\.4") as caught:
        source.resolve("relaese/1.4")
    assert "release/1.4" in str(caught.value.hint)
    for unknown in ("0" * 40, "deadbee", "HEAD~9", "main~1^2"):
        with pytest.raises(UsageError):
            source.resolve(unknown)


def test_an_ambiguous_abbreviation_is_refused_with_its_candidates(repository: GitRepository, source: GitSource) -> None:
    hash_by_prefix: dict[str, str] = {}
    number = 0
    while True:  # 16**4 prefixes: a few hundred commits collide (birthday), made at once by fast-import
        number += 400
        stream = "".join(
            f"commit refs/heads/many\ncommitter A <a@b> {FIRST_SECOND + n} +0000\ndata 1\nx\n" for n in range(number)
        )
        subprocess.run(
            ["git", "fast-import", "--quiet", "--force"], cwd=repository.path, input=stream, text=True, check=True
        )
        hashes = repository.git("rev-list", "many").split()
        hash_by_prefix = {}
        pair = next(
            (
                (full_hash, hash_by_prefix[full_hash[:4]])
                for full_hash in hashes
                if hash_by_prefix.setdefault(full_hash[:4], full_hash) != full_hash
            ),
            None,
        )
        if pair:
            break
    with pytest.raises(UsageError, match="could be") as caught:
        source.resolve(pair[0][:4])
    assert pair[0][:12] in str(caught.value.hint)
    assert pair[1][:12] in str(caught.value.hint)


def test_a_name_of_both_a_tag_and_another_branch_is_ambiguous(repository: GitRepository, source: GitSource) -> None:
    one = repository.commit("one")
    repository.commit("two")
    repository.git("tag", "v1", one)
    repository.git("branch", "v1", "main")
    with pytest.raises(UsageError, match="could be 2 commits"):
        source.resolve("v1")
    assert source.resolve("refs/tags/v1").id == one


def test_a_parent_comes_before_its_child_regardless_of_commit_times(
    repository: GitRepository, source: GitSource
) -> None:
    repository.commit("start")

    def commit_at(seconds: int, *arguments: str) -> None:
        repository.git(*arguments, env={"GIT_COMMITTER_DATE": f"{FIRST_SECOND + seconds} +0000"})

    commit_at(900, "commit", "--quiet", "--allow-empty", "-m", "parent, a fast clock")
    repository.git("branch", "topic")
    commit_at(800, "commit", "--quiet", "--allow-empty", "-m", "child")
    repository.git("checkout", "--quiet", "topic")
    commit_at(100, "commit", "--quiet", "--allow-empty", "-m", "child, a slow clock")
    commit_at(1000, "merge", "--quiet", "-m", "merge", "main")
    between = subjects(source.between(source.resolve("HEAD~2^"), source.resolve("HEAD")))
    assert between[0] == "parent, a fast clock"
    assert between[-1] == "merge"
    assert len(between) == 3


def test_a_branch_that_forked_earlier_is_not_between(repository: GitRepository, source: GitSource) -> None:
    repository.commit("one")
    repository.git("checkout", "--quiet", "-b", "topic")
    repository.commit("on topic", {"topic": "x"})
    repository.git("checkout", "--quiet", "main")
    start = repository.commit("two")
    repository.git("merge", "--quiet", "-m", "merge", "topic")
    assert subjects(source.between(source.resolve(start), source.resolve("main"))) == ["merge"]


def test_commits_in_the_wrong_order_are_refused(repository: GitRepository, source: GitSource) -> None:
    repository.commit("one")
    repository.git("branch", "topic")
    repository.commit("two")
    repository.git("checkout", "--quiet", "topic")
    repository.commit("three")
    one, two, three = (source.resolve(name) for name in ("main~1", "main", "topic"))
    for older, newer in ((two, one), (two, three)):
        with pytest.raises(UsageError, match="is not before"):
            source.between(older, newer)
    assert source.merge_base(two, three) == one


def test_the_default_base_is_the_fork_point_from_the_main_branch(tmp_path: Path, cache: Path) -> None:
    remote, clone, source = clone_with_remote(tmp_path, cache)
    clone.git("checkout", "--quiet", "-b", "topic")
    clone.commit("on topic", {"topic": "x"})
    remote.commit("two")
    source.fetch()
    assert source.main().subject == "two"
    assert source.merge_base(source.main(), source.resolve("topic")).subject == "one"


def test_the_main_branch_is_that_of_the_remote(tmp_path: Path, cache: Path) -> None:
    remote = GitRepository(tmp_path / "remote")
    remote.commit("one")
    remote.git("checkout", "--quiet", "-b", "trunk")
    remote.commit("two")
    clone = remote.clone(tmp_path / "clone")
    assert GitSource(clone.path, cache_dir=cache).main().subject == "two"


def test_unrelated_histories_have_no_merge_base(repository: GitRepository, source: GitSource) -> None:
    repository.commit("one")
    repository.git("checkout", "--quiet", "--orphan", "other")
    repository.commit("two")
    with pytest.raises(UsageError, match="no common ancestor"):
        source.merge_base(source.resolve("main"), source.resolve("other"))


def test_vanished_commits_are_reported(repository: GitRepository, source: GitSource) -> None:
    repository.commit("one")
    newer = source.resolve("main")
    vanished = newer.model_copy(update={"id": "1" * 40})
    for ask in (source.between, source.merge_base):
        with pytest.raises(UsageError, match="has a commit 1111"):
            ask(vanished, newer)
