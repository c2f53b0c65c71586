from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from harness.builders.sources.git import GitSource
from harness.builders.sources.git_submodules import WorkingTree, absolute_url, check_out_submodules
from harness.core.errors import BuildFailed, EnvironmentProblem
from harness.core.submodules import SubmoduleSelection
from tests.builders.sources.repositories import GitRepository

pytestmark = pytest.mark.slow  # four repositories for each test


class Nested:
    """Clone of a repository with a nested submodule, `parts/outer/inner`, and a further one, `extra`."""

    def __init__(self, folder: Path) -> None:
        self.inner, self.outer, self.extra, self.top = (
            GitRepository(folder / name) for name in ("inner", "outer", "extra", "top")
        )
        self.inner.commit("inner", {"inner.c": "inner"})
        self._add(self.outer, "../inner", "inner")
        self.extra.commit("extra", {"extra.c": "extra"})
        self._add(self.top, "../outer", "parts/outer")
        self._add(self.top, str(self.extra.path), "extra")
        self.user = GitRepository(folder / "user", made=True)
        self.top.git("clone", "--quiet", "--recurse-submodules", str(self.top.path), str(self.user.path))

    def _add(self, repository: GitRepository, url: str, path: str) -> None:
        if url.startswith(".."):
            repository.git("config", "remote.origin.url", str(repository.path))
        repository.git("submodule", "--quiet", "add", "--", url, path)
        repository.commit(f"add {path}")


@pytest.fixture
def nested(tmp_path: Path) -> Nested:
    return Nested(tmp_path)


def test_submodules_are_checked_out_recursively(nested: Nested, cache: Path, tmp_path: Path) -> None:
    before = nested.user.state()
    source = GitSource(nested.user.path, cache_dir=cache)
    source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    assert (tmp_path / "tree" / "parts" / "outer" / "inner" / "inner.c").read_text() == "inner"
    assert (tmp_path / "tree" / "extra" / "extra.c").read_text() == "extra"
    tree = GitRepository(tmp_path / "tree", made=True)
    assert tree.git("status", "--porcelain") == ""
    assert "-" not in {line[0] for line in tree.git("submodule", "status").splitlines()}
    assert nested.user.state() == before


def test_the_second_checkout_needs_no_network(nested: Nested, cache: Path, tmp_path: Path) -> None:
    source = GitSource(nested.user.path, cache_dir=cache)
    source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    for part in (nested.inner, nested.outer, nested.extra):
        part.path.rename(tmp_path / f"away-{part.path.name}")
    (nested.user.path / ".git" / "modules").rename(tmp_path / "away-modules")
    source.materialise(source.resolve("HEAD"), tmp_path / "again")
    assert (tmp_path / "again" / "parts" / "outer" / "inner" / "inner.c").exists()


def test_submodules_in_the_clone_are_not_fetched(nested: Nested, cache: Path, tmp_path: Path) -> None:
    for part in (nested.inner, nested.outer, nested.extra):
        part.path.rename(tmp_path / f"away-{part.path.name}")
    source = GitSource(nested.user.path, cache_dir=cache)
    source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    assert (tmp_path / "tree" / "parts" / "outer" / "inner" / "inner.c").exists()


def test_submodules_missing_in_the_clone_are_fetched(nested: Nested, cache: Path, tmp_path: Path) -> None:
    nested.user.git("submodule", "--quiet", "deinit", "--all", "--force")
    source = GitSource(nested.user.path, cache_dir=cache)
    source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    newer = nested.extra.commit("newer", {"extra.c": "newer"})
    nested.top.git("-C", "extra", "pull", "--quiet")
    nested.top.commit("move extra", {"file": "x"})
    nested.top.git("add", "extra")
    nested.top.commit("moved extra", {"file": "y"})
    source.fetch()
    source.materialise(source.resolve("origin/main"), tmp_path / "newer")
    assert (tmp_path / "newer" / "extra" / "extra.c").read_text() == "newer"
    assert GitRepository(tmp_path / "newer" / "extra", made=True).git("rev-parse", "HEAD") == newer


def _unreachable(nested: Nested) -> str:
    """Pin a commit of `inner` that does not exist."""
    unavailable = "1" * 40
    nested.outer.git("update-index", "--cacheinfo", f"160000,{unavailable},inner")
    nested.outer.git("commit", "--quiet", "-m", "pin what nobody has")
    nested.top.git("-C", "parts/outer", "pull", "--quiet", "--no-recurse-submodules")
    nested.top.git("commit", "--quiet", "-am", "follow")
    nested.user.git("pull", "--quiet", "--no-recurse-submodules")
    return unavailable


def test_an_unavailable_submodule_commit_is_named(nested: Nested, cache: Path, tmp_path: Path) -> None:
    unavailable = _unreachable(nested)
    source = GitSource(nested.user.path, cache_dir=cache)
    with pytest.raises(BuildFailed, match=f"submodule parts/outer/inner, pinned to {unavailable}") as caught:
        source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    assert str(nested.inner.path) in str(caught.value)
    assert caught.value.hint
    assert not (tmp_path / "tree").exists()
    source.materialise(source.resolve("HEAD~1"), tmp_path / "tree")


def test_a_network_failure_is_not_blamed_on_the_commit(
    repository: GitRepository, source: GitSource, tmp_path: Path
) -> None:
    _submodule_of(repository, "lib", "\tpath = lib\n\turl = http://127.0.0.1:9/lib\n")
    with pytest.raises(EnvironmentProblem, match=r"submodule lib, pinned to 1+, cannot be had from http") as caught:
        source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    assert not isinstance(caught.value, BuildFailed)
    assert not (tmp_path / "tree").exists()


def test_only_the_needed_submodules_are_checked_out(nested: Nested, cache: Path, tmp_path: Path) -> None:
    source = GitSource(nested.user.path, cache_dir=cache)
    tree = tmp_path / "tree"
    source.materialise_with(source.resolve("HEAD"), tree, _paths("parts/outer", "not/at/this/commit"))
    assert (tree / "parts" / "outer" / "inner").is_dir()
    assert not any((tree / "parts" / "outer" / "inner").iterdir()), "nested submodules are named by themselves"
    assert not any((tree / "extra").iterdir())
    states = GitRepository(tree, made=True).git("submodule", "status", "extra", "parts/outer").splitlines()
    assert [line[0] == "-" for line in states] == [True, False]


def test_a_nested_submodule_brings_those_around_it(nested: Nested, cache: Path, tmp_path: Path) -> None:
    source = GitSource(nested.user.path, cache_dir=cache)
    source.materialise_with(source.resolve("HEAD"), tmp_path / "tree", _paths("parts/outer/inner"))
    assert (tmp_path / "tree" / "parts" / "outer" / "inner" / "inner.c").exists()
    assert not any((tmp_path / "tree" / "extra").iterdir())


def test_an_unavailable_submodule_that_nobody_needs_is_not_asked_for(
    repository: GitRepository, source: GitSource, tmp_path: Path
) -> None:
    _submodule_of(repository, "lib", "\tpath = lib\n\turl = http://127.0.0.1:9/lib\n")
    source.materialise_with(source.resolve("HEAD"), tmp_path / "tree", SubmoduleSelection(frozenset()))
    assert (tmp_path / "tree" / ".gitmodules").exists()


def test_history_of_submodules_is_not_fetched(nested: Nested, cache: Path, tmp_path: Path) -> None:
    nested.extra.commit("newer", {"extra.c": "newer"})
    nested.top.git("-C", "extra", "pull", "--quiet")
    nested.top.git("commit", "--quiet", "-am", "move extra")
    nested.user.git("pull", "--quiet", "--recurse-submodules")
    nested.user.git("submodule", "--quiet", "update")
    source = GitSource(nested.user.path, cache_dir=cache)
    for name, clone_has_it in (("first", True), ("second", False)):
        tree = tmp_path / name
        source.materialise_with(source.resolve("HEAD"), tree, _paths("extra"))
        assert GitRepository(tree / "extra", made=True).git("rev-list", "--count", "HEAD") == "1"
        assert (tree / "extra" / "extra.c").read_text() == "newer"
        if clone_has_it:
            nested.user.git("submodule", "--quiet", "deinit", "--all", "--force")
            source = GitSource(nested.user.path, cache_dir=tmp_path / "another cache")


def test_the_url_that_the_user_set_for_a_submodule_is_asked_too(
    repository: GitRepository, cache: Path, tmp_path: Path
) -> None:
    mirror = GitRepository(tmp_path / "mirror")
    pin = mirror.commit("mirrored", {"lib.c": "mirrored"})
    repository.commit("one", {".gitmodules": '[submodule "lib"]\n\tpath = lib\n\turl = http://127.0.0.1:9/lib\n'})
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{pin},lib")
    repository.git("commit", "--quiet", "-m", "pin")
    repository.git("config", "submodule.lib.url", str(mirror.path))
    source = GitSource(repository.path, cache_dir=cache)
    source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    assert (tmp_path / "tree" / "lib" / "lib.c").read_text() == "mirrored"


def test_all_submodules_that_fail_are_named(repository: GitRepository, source: GitSource, tmp_path: Path) -> None:
    names = ("a", "b", "c")
    repository.commit(
        "one", {".gitmodules": "".join(f'[submodule "{name}"]\n\tpath = {name}\n\turl = ../{name}\n' for name in names)}
    )
    for name in names:
        repository.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{name}")
        GitRepository(tmp_path / name).commit("another")
    repository.git("commit", "--quiet", "-m", "pin")
    with pytest.raises(BuildFailed, match=r"submodule a, pinned to 1+, .*likewise b, c") as caught:
        source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    assert "--submodules" in (caught.value.hint or "")


def _paths(*paths: str) -> SubmoduleSelection:
    return SubmoduleSelection.parse(paths, "test")


def _submodule_of(repository: GitRepository, path: str, settings: str) -> None:
    repository.commit("one", {".gitmodules": f'[submodule "{path}"]\n{settings}'})
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{path}")
    repository.git("commit", "--quiet", "-m", "pin")


def test_a_submodule_without_entry_in_gitmodules_is_reported(
    repository: GitRepository, source: GitSource, tmp_path: Path
) -> None:
    _submodule_of(repository, "lib", "\tpath = elsewhere\n\turl = ../lib\n")
    with pytest.raises(BuildFailed, match=r"submodule lib is pinned to 1+, but `.gitmodules`"):
        source.materialise(source.resolve("HEAD"), tmp_path / "tree")


@pytest.mark.parametrize("url", ["--upload-pack=touch MARKER", "ext::touch% MARKER"])
def test_a_submodule_url_that_would_run_a_program_is_refused(
    repository: GitRepository, source: GitSource, tmp_path: Path, url: str
) -> None:
    marker = tmp_path / "marker"
    _submodule_of(repository, "lib", f"\tpath = lib\n\turl = {url.replace('MARKER', str(marker))}\n")
    with pytest.raises(BuildFailed, match="submodule lib"):
        source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    assert not marker.exists()


def test_a_remote_repository_cannot_read_files_of_this_host(
    repository: GitRepository, source: GitSource, tmp_path: Path
) -> None:
    secret = GitRepository(tmp_path / "secret")
    pin = secret.commit("secret", {"key": "x"})
    repository.commit("one", {".gitmodules": f'[submodule "lib"]\n\tpath = lib\n\turl = {secret.path}\n'})
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{pin},lib")
    repository.git("commit", "--quiet", "-m", "pin")
    repository.git("remote", "add", "origin", "https://example.org/x.git")
    with pytest.raises(BuildFailed, match="transport 'file' not allowed"):
        source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    repository.git("remote", "set-url", "origin", str(tmp_path / "local"))
    source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    assert (tmp_path / "tree" / "lib" / "key").exists()


def test_a_submodule_name_cannot_leave_the_modules_folder(
    repository: GitRepository, source: GitSource, tmp_path: Path
) -> None:
    pin = GitRepository(tmp_path / "part").commit("part")
    repository.commit("one", {".gitmodules": '[submodule "../../part"]\n\tpath = lib\n\turl = ../part\n'})
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{pin},lib")
    repository.git("commit", "--quiet", "-m", "pin")
    with pytest.raises(BuildFailed, match="submodule lib leads out"):
        source.materialise(source.resolve("HEAD"), tmp_path / "tree")


def test_a_symbolic_link_in_place_of_a_submodule_folder_is_not_followed(
    repository: GitRepository, cache: Path, tmp_path: Path
) -> None:
    _submodule_of(repository, "lib", "\tpath = lib\n\turl = ../lib\n")
    (tmp_path / "elsewhere").mkdir()
    (repository.path / "lib").symlink_to(tmp_path / "elsewhere")
    tree = WorkingTree(repository.path, PurePosixPath(), str(repository.path), (tmp_path / "modules",))
    with pytest.raises(BuildFailed, match="submodule lib leads out"):
        check_out_submodules(tree, cache)


@pytest.mark.parametrize(
    ("url", "base", "absolute"),
    [
        ("https://example.org/a.git", "/src/top", "https://example.org/a.git"),
        ("../a.git", "https://example.org/group/top.git", "https://example.org/group/a.git"),
        ("../../other/a", "https://example.org/group/top/", "https://example.org/other/a"),
        ("./a", "https://example.org/top", "https://example.org/top/a"),
        ("../a", "git@example.org:top", "git@example.org:a"),
        ("../a", "git@example.org:group/top", "git@example.org:group/a"),
        ("../a/", "/src/top", "/src/a"),
    ],
)
def test_relative_submodule_urls_resolve_as_in_git(url: str, base: str, absolute: str) -> None:
    assert absolute_url(url, base) == absolute
