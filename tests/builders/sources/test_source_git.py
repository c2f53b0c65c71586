from __future__ import annotations

from pathlib import Path

import pytest

from harness import plugins
from harness.builders.sources.git import GitSource
from harness.core.commit import BranchingSource, Commit, Source
from harness.core.errors import UsageError
from tests.builders.sources.repositories import FIRST_SECOND, GitRepository, clone_with_remote, subjects


def test_resolved_commit_has_subject_author_and_time(repository: GitRepository, source: GitSource) -> None:
    full_hash = repository.commit("Größer, schöner\n\nand why", {"file": "1"})
    assert source.resolve("HEAD") == Commit(
        source=f"git:{repository.path}",
        id=full_hash,
        time=FIRST_SECOND + 60,
        author="Ada",
        subject="Größer, schöner",
    )


def test_commits_resolve_by_every_kind_of_name(repository: GitRepository, source: GitSource) -> None:
    first_hash, second_hash = repository.commit("one"), repository.commit("two")
    repository.git("tag", "light", first_hash)
    repository.git("tag", "-a", "-m", "text", "heavy", first_hash)
    repository.git("branch", "topic/x", first_hash)
    for name in (
        first_hash,
        first_hash[:9],
        first_hash.upper(),
        "light",
        "heavy",
        "heavy~0",
        "topic/x",
        "refs/heads/topic/x",
        "HEAD~1",
        "main^",
    ):
        assert source.resolve(name).id == first_hash, name
    for name in (second_hash, "HEAD", "@", "main"):
        assert source.resolve(name).id == second_hash, name


@pytest.mark.parametrize(
    "name", ["--upload-pack=touch {marker}", "-rf", "--output={marker}", "--all", "main..HEAD", "^main"]
)
def test_options_and_ranges_are_refused(
    repository: GitRepository, source: GitSource, tmp_path: Path, name: str
) -> None:
    repository.commit("one")
    marker = tmp_path / "marker"
    with pytest.raises(UsageError, match="names no commit"):
        source.resolve(name.format(marker=marker))
    assert not marker.exists()


def test_commits_between_include_the_newest_and_come_oldest_first(repository: GitRepository, source: GitSource) -> None:
    repository.commit("one")
    repository.git("tag", "start")
    repository.commit("two")
    repository.git("checkout", "--quiet", "-b", "topic")
    repository.commit("on topic")
    repository.git("checkout", "--quiet", "main")
    repository.commit("three", {"other": "3"})
    repository.git("merge", "--quiet", "--no-edit", "-m", "merge", "topic")
    repository.commit("four")
    start, newest = source.resolve("start"), source.resolve("main")
    between = source.between(start, newest)
    assert subjects(between) == ["two", "three", "merge", "four"]
    assert between[-1] == newest
    assert source.between(newest, newest) == ()
    assert subjects(source.between(source.resolve("main~1"), newest)) == ["four"]


def test_user_repository_is_not_modified(tmp_path: Path, cache: Path) -> None:
    remote, clone, source = clone_with_remote(tmp_path, cache)
    clone.commit("local", {"kept": "1", "gone": "1", "staged": "1"})
    clone.git("fetch", "--quiet")
    (clone.path / "kept").write_text("2")
    (clone.path / "gone").unlink()
    (clone.path / "staged").write_text("2")
    clone.git("add", "staged")
    (clone.path / "untracked").write_text("x")
    remote.commit("two")
    before = clone.state()
    assert ".git/FETCH_HEAD" in before
    source.fetch()
    first, last = source.resolve("HEAD~1"), source.resolve("HEAD")
    source.between(first, last)
    source.main()
    source.materialise(last, tmp_path / "tree")
    source.materialise(source.resolve("origin/main"), tmp_path / "other")
    assert clone.state() == before
    assert (tmp_path / "tree" / "kept").read_text() == "1"
    assert (tmp_path / "other" / "file").read_text() == "two"


def test_source_name_does_not_depend_on_the_working_folder(
    repository: GitRepository, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(repository.path.parent))
    opened = plugins.source("git", f"~/{repository.path.name}", remote=None, cache_dir=cache)
    assert opened.name == f"git:{repository.path}"


def test_source_satisfies_the_protocol(repository: GitRepository, cache: Path) -> None:
    source: Source = plugins.source("git", str(repository.path), remote=None, cache_dir=cache)
    assert isinstance(source, BranchingSource)
    with pytest.raises(UsageError, match="no source `svn`"):
        plugins.source("svn", str(repository.path), remote=None, cache_dir=cache)
