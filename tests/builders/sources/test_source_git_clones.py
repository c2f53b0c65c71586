"""Clones of every kind, and the remotes they came from."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.builders.sources.git import GitSource
from harness.builders.sources.git_program import error_text
from harness.core.command import Command, Completed
from harness.core.commit import PublishedSource
from harness.core.errors import EnvironmentProblem, UsageError
from tests.builders.sources.repositories import GitRepository, clone_with_remote, subjects

pytestmark = pytest.mark.slow


def test_git_errors_are_quoted_without_passwords() -> None:
    stderr = "warning: x\nfatal: unable to access 'https://ada:s3cret@example.org/x.git/': it is not there\nhint: no\n"
    completed = Completed(Command(("git",)), exit_code=128, stderr=stderr)
    assert error_text(completed) == "fatal: unable to access 'https://example.org/x.git/': it is not there"


def test_new_commits_are_fetched_from_a_growing_remote(tmp_path: Path, cache: Path) -> None:
    remote, clone, source = clone_with_remote(tmp_path, cache)
    assert source.resolve("origin/main").subject == "one"
    clone.commit("local", {"local": "x"})
    remote.commit("two")
    remote.git("tag", "v2")
    remote.git("branch", "only-there")
    source.fetch()
    assert source.resolve("main").subject == "local"
    for name in ("origin/main", "v2", "only-there", "origin/main~0"):
        assert source.resolve(name).subject == "two", name
    assert subjects(source.between(source.resolve("origin/main~1"), source.resolve("origin/main"))) == ["two"]
    remote.git("branch", "-D", "only-there")
    source.fetch()
    with pytest.raises(UsageError):
        source.resolve("only-there")


def test_fetched_commits_are_known_to_later_sources(tmp_path: Path, cache: Path) -> None:
    remote, clone, source = clone_with_remote(tmp_path, cache)
    remote.commit("two")
    source.fetch()
    assert GitSource(clone.path, cache_dir=cache).resolve("origin/main").subject == "two"
    remote.commit("three")
    clone.git("fetch", "--quiet")
    assert GitSource(clone.path, cache_dir=cache).resolve("origin/main").subject == "three"


def test_an_unreachable_remote_does_not_lose_known_commits(tmp_path: Path, cache: Path) -> None:
    remote, _, source = clone_with_remote(tmp_path, cache)
    remote.commit("two")
    source.fetch()
    remote.path.rename(tmp_path / "away")
    with pytest.raises(EnvironmentProblem, match="cannot fetch from origin") as caught:
        source.fetch()
    assert "git ls-remote origin" in str(caught.value.hint)
    assert source.resolve("origin/main").subject == "two"


def test_a_password_in_a_remotes_address_is_not_shown(repository: GitRepository, source: GitSource) -> None:
    repository.commit("one")
    repository.git("remote", "add", "origin", "https://ada:s3cret@127.0.0.1:9/x.git")
    with pytest.raises(EnvironmentProblem) as caught:
        source.fetch()
    assert "127.0.0.1:9" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_shallow_clone_reports_that_commits_are_missing(tmp_path: Path, cache: Path) -> None:
    remote = GitRepository(tmp_path / "remote")
    one, _, three = remote.commit("one"), remote.commit("two"), remote.commit("three")
    clone = remote.clone(tmp_path / "clone", "--depth=1")
    source = GitSource(clone.path, cache_dir=cache)
    commit = source.resolve("main")
    assert commit.id == three
    source.materialise(commit, tmp_path / "tree")
    assert (tmp_path / "tree" / "file").read_text() == "three"
    with pytest.raises(UsageError, match="has a commit") as unknown:
        source.resolve(one)
    _add_orphan(clone)
    source.fetch()
    orphan = source.resolve("orphan")
    with pytest.raises(UsageError, match="cut off") as disordered:
        source.between(orphan, commit)
    assert "--unshallow" in str(unknown.value.hint)
    assert "--unshallow" in str(disordered.value.hint)
    clone.git("fetch", "--quiet", "--unshallow")
    source.fetch()
    assert subjects(source.between(source.resolve(one), source.resolve("main"))) == ["two", "three"]


def _add_orphan(clone: GitRepository) -> None:
    clone.git("checkout", "--quiet", "--orphan", "orphan")
    clone.commit("orphan")
    clone.git("checkout", "--quiet", "main")


def test_what_the_clone_configures_about_servers_counts(tmp_path: Path, cache: Path) -> None:
    remote, clone, _ = clone_with_remote(tmp_path, cache)
    part = GitRepository(tmp_path / "part")
    pin = part.commit("part", {"part.c": "part"})
    remote.commit("two", {".gitmodules": '[submodule "lib"]\n\tpath = lib\n\turl = http://127.0.0.1:9/part\n'})
    remote.git("update-index", "--add", "--cacheinfo", f"160000,{pin},lib")
    remote.git("commit", "--quiet", "-m", "three")
    clone.git("remote", "set-url", "origin", "http://127.0.0.1:9/remote")
    (tmp_path / "included").write_text(f'[url "file://{tmp_path}/"]\n\tinsteadOf = http://127.0.0.1:9/\n')
    clone.git("config", "include.path", str(tmp_path / "included"))
    clone.git("config", "protocol.file.allow", "always")
    clone.git("config", "core.hooksPath", str(tmp_path / "hooks"))
    source = GitSource(clone.path, cache_dir=cache)
    source.fetch()
    source.materialise(source.resolve("origin/main"), tmp_path / "tree")
    assert (tmp_path / "tree" / "lib" / "part.c").read_text() == "part"


def test_variables_that_configure_git_are_kept(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote, clone, _ = clone_with_remote(tmp_path, cache)
    remote.commit("two")
    clone.git("remote", "set-url", "origin", "http://127.0.0.1:9/remote")
    clone.git("config", "http.proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.file://{tmp_path}/.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "http://127.0.0.1:9/")
    source = GitSource(clone.path, cache_dir=cache)
    source.fetch()
    assert source.resolve("origin/main").subject == "two"


@pytest.mark.parametrize("left_out", ["blob:none", "blob:limit=1"])
def test_a_partial_clone_is_only_read(tmp_path: Path, cache: Path, left_out: str) -> None:
    remote = GitRepository(tmp_path / "remote")
    remote.git("config", "uploadpack.allowFilter", "true")
    for number in range(3):
        remote.commit(f"commit {number}", {"file": f"content {number}", f"folder/{number}": f"{number}"})
    clone = remote.clone(tmp_path / "clone", f"--filter={left_out}")
    remote.commit("newer", {"file": "newer"})
    before = clone.state()
    source = GitSource(clone.path, cache_dir=cache)
    source.fetch()
    oldest, newest = source.resolve("main~2"), source.resolve("origin/main")
    assert subjects(source.between(oldest, newest)) == ["commit 1", "commit 2", "newer"]
    for number, commit in enumerate((oldest, newest)):
        source.materialise(commit, tmp_path / f"tree{number}")
    assert (tmp_path / "tree0" / "file").read_text() == "content 0"
    assert (tmp_path / "tree1" / "file").read_text() == "newer"
    assert (tmp_path / "tree1" / "folder" / "2").exists()
    assert clone.state() == before


def test_a_clone_without_folders_is_refused_with_a_remedy(tmp_path: Path, cache: Path) -> None:
    remote = GitRepository(tmp_path / "remote")
    remote.git("config", "uploadpack.allowFilter", "true")
    remote.commit("one")
    clone = remote.clone(tmp_path / "clone", "--filter=tree:0")
    with pytest.raises(UsageError, match="without folders") as caught:
        GitSource(clone.path, cache_dir=cache)
    assert "--filter=blob:none" in (caught.value.hint or "")


def test_a_local_commit_of_a_partial_clone_has_its_files_there(tmp_path: Path, cache: Path) -> None:
    remote = GitRepository(tmp_path / "remote")
    remote.git("config", "uploadpack.allowFilter", "true")
    remote.commit("one")
    remote.commit("two")
    clone = remote.clone(tmp_path / "clone", "--filter=blob:none")
    clone.commit("mine", {"mine": "mine"})
    source = GitSource(clone.path, cache_dir=cache)
    remote.path.rename(tmp_path / "away")
    source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    assert (tmp_path / "tree" / "mine").read_text() == "mine"
    assert (tmp_path / "tree" / "file").read_text() == "two"
    with pytest.raises(EnvironmentProblem, match="does not appear to be a git repository"):
        source.materialise(source.resolve("HEAD~2"), tmp_path / "older")


def test_a_folder_of_a_clone_stands_for_the_clone(repository: GitRepository, cache: Path) -> None:
    repository.commit("one", {"inside/deep/file": "one"})
    source = GitSource(repository.path / "inside" / "deep", cache_dir=cache)
    assert source.name == f"git:{repository.path}"
    assert source.resolve("HEAD").subject == "one"


def test_a_folder_that_lies_in_a_clone_by_chance_does_not_stand_for_it(repository: GitRepository, cache: Path) -> None:
    repository.commit("one")
    (repository.path / "download").mkdir()
    with pytest.raises(UsageError, match="not a git repository") as caught:
        GitSource(repository.path / "download", cache_dir=cache)
    assert f"--repo-dir {repository.path}" in (caught.value.hint or "")


def test_a_worktree_of_the_user_has_a_head_of_its_own(repository: GitRepository, cache: Path, tmp_path: Path) -> None:
    one = repository.commit("one", {"inside/file": "one"})
    repository.commit("two")
    repository.git("worktree", "add", "--quiet", str(tmp_path / "other"), one)
    for place in (tmp_path / "other", tmp_path / "other" / "inside"):
        source = GitSource(place, cache_dir=cache)
        assert source.resolve("HEAD").id == one
        assert source.resolve("main").subject == "two"
        source.materialise(source.resolve("HEAD"), tmp_path / f"tree of {place.name}")
        assert (tmp_path / f"tree of {place.name}" / "inside" / "file").exists()


@pytest.mark.parametrize("kind", ["nothing", "folder", "inside"])
def test_a_folder_that_is_not_a_repository_is_reported(tmp_path: Path, cache: Path, kind: str) -> None:
    outer = GitRepository(tmp_path / "outer")
    (outer.path / "inside").mkdir()
    (tmp_path / "folder").mkdir()
    place = {"nothing": tmp_path / "$nothing", "folder": tmp_path / "folder", "inside": outer.path / "inside"}[kind]
    with pytest.raises(UsageError, match="not a git repository"):
        GitSource(place, cache_dir=cache)


def test_a_mercurial_repository_is_not_taken_for_no_repository(tmp_path: Path, cache: Path) -> None:
    (tmp_path / ".hg").mkdir()
    with pytest.raises(UsageError, match="is not a git repository") as caught:
        GitSource(tmp_path, cache_dir=cache)
    assert caught.value.hint == "it is a Mercurial repository: --repo hg, or --source hg:FOLDER"


def test_a_repository_without_commits_has_no_head(source: GitSource) -> None:
    with pytest.raises(UsageError, match="has a commit HEAD"):
        source.resolve("HEAD")
    with pytest.raises(UsageError, match="no main branch"):
        source.main()


def test_a_bare_repository_is_accepted(repository: GitRepository, cache: Path, tmp_path: Path) -> None:
    one = repository.commit("one")
    bare = repository.clone(tmp_path / "bare.git", "--bare")
    assert GitSource(bare.path, cache_dir=cache).resolve("main").id == one


def test_bare_repositories_are_read_where_git_takes_only_those_that_are_named(
    repository: GitRepository, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = repository.commit("one")
    repository.git("clone", "--quiet", "--bare", str(repository.path), str(tmp_path / "bare"))
    configuration = tmp_path / "gitconfig"
    configuration.write_text("[safe]\n\tbareRepository = explicit\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    for place in (repository.path, tmp_path / "bare"):
        source = GitSource(place, cache_dir=cache)
        assert source.resolve("main").id == one
        source.materialise(source.resolve("main"), tmp_path / f"tree-of-{place.name}")


def test_stale_locks_of_a_killed_git_do_not_block_the_next_run(
    repository: GitRepository, source: GitSource, cache: Path
) -> None:
    repository.commit("one")
    source.resolve("main")
    (mirror,) = cache.glob("sources/*/mirror.git")
    for lock in ("HEAD.lock", "packed-refs.lock", "refs/heads/main.lock"):
        (mirror / lock).touch()
    two = repository.commit("two")
    source.fetch()
    assert source.resolve("main").id == two


def test_the_url_of_the_remote_is_given_without_credentials(repository: GitRepository, source: GitSource) -> None:
    assert isinstance(source, PublishedSource)
    assert source.remote_url() is None
    repository.git("remote", "add", "origin", "https://ada:s3cret@github.com/ada/x.git")
    assert source.remote_url() == "https://github.com/ada/x.git"
