"""Fetches that a server aborts half-way: nothing of them stays, and the next one succeeds."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from harness.builders.sources.git import GitSource
from harness.builders.sources.git_mirror import Mirror
from harness.builders.sources.git_program import GitFailed
from harness.core.errors import BuildFailed, EnvironmentProblem
from tests.builders.recipe_parts import write_program
from tests.builders.sources.repositories import GitRepository

pytestmark = pytest.mark.slow  # packs of some hundred kilobytes

CUT = """#!/bin/sh
[ ! -e {marker} ] || exec "$@"
"$@" > {marker}.pack
head -c {length} {marker}.pack
test "$(wc -c < {marker}.pack)" -le {length}
"""
FILES = 150
"""More than a hundred objects come as a pack, fewer become single files (git-config(1), fetch.unpackLimit)."""


class Server:
    """Repository whose server sends only the beginning of a large pack, until it is mended."""

    def __init__(self, folder: Path, environment: pytest.MonkeyPatch, *, length: int, files: int = FILES) -> None:
        self._mended = folder / "mended"
        hook = write_program(folder / "cut.sh", CUT.format(marker=self._mended, length=length))
        (folder / "gitconfig").write_text(
            f'[uploadpack]\n\tpackObjectsHook = "{hook}"\n[protocol "file"]\n\tallow = always\n'
        )
        environment.setenv("GIT_CONFIG_GLOBAL", str(folder / "gitconfig"))
        content = random.Random(1)
        self.repository = GitRepository(folder / "server")
        names = (f"file{number}" for number in range(files))
        self.commit = self.repository.commit("large", {name: content.randbytes(9000).hex() for name in names})

    def mend(self) -> None:
        self._mended.touch()


def _files(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize(("length", "files"), [(500_000, FILES), (500_000, 90)])
def test_an_aborted_fetch_leaves_nothing_behind(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, length: int, files: int
) -> None:
    server = Server(tmp_path, monkeypatch, length=length, files=files)
    small = GitRepository(tmp_path / "small")
    small.commit("small")
    mirror = Mirror(cache, "place")
    mirror.fetch(str(small.path), ["+refs/heads/*:refs/heads/*"])
    before = _files(mirror.path)
    url = f"file://{server.repository.path}"
    for depth in (None, 1):
        with pytest.raises(GitFailed):
            mirror.fetch(url, [f"{server.commit}:refs/pins/{server.commit}"], depth=depth)
        assert _files(mirror.path) == before
    server.mend()
    mirror.fetch(url, [f"{server.commit}:refs/pins/{server.commit}"], depth=1)
    assert mirror.has_pin(server.commit)


def test_what_a_killed_git_left_is_removed_by_the_next_fetch(tmp_path: Path, cache: Path) -> None:
    small = GitRepository(tmp_path / "small")
    small.commit("small")
    mirror = Mirror(cache, "place")
    mirror.fetch(str(small.path), ["+refs/heads/*:refs/heads/*"])
    objects = mirror.path / "objects"
    for name in ("pack/tmp_pack_1", "pack/tmp_idx_2", "ab/tmp_obj_3", "pack/pack-1.keep"):
        (objects / name).parent.mkdir(exist_ok=True)
        (objects / name).touch()
    mirror.fetch(str(small.path), ["+refs/heads/*:refs/heads/*"])
    assert not [name for name in _files(objects) if "tmp_" in name or name.endswith(".keep")]


def test_an_aborted_submodule_is_an_error_with_a_remedy_and_leaves_nothing(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(tmp_path, monkeypatch, length=500_000)
    top = GitRepository(tmp_path / "top")
    url = f"file://{server.repository.path}"
    top.commit("one", {".gitmodules": f'[submodule "lib"]\n\tpath = lib\n\turl = {url}\n'})
    top.git("update-index", "--add", "--cacheinfo", f"160000,{server.commit},lib")
    top.git("commit", "--quiet", "-m", "pin")
    source = GitSource(top.path, cache_dir=cache)
    with pytest.raises(EnvironmentProblem, match=rf"submodule lib, pinned to {server.commit}, .* {url}") as caught:
        source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    assert not isinstance(caught.value, BuildFailed)
    assert f"git config --global url.OTHER.insteadOf {url}" in (caught.value.hint or "")
    assert not (tmp_path / "tree").exists()
    assert sum(file.stat().st_size for file in cache.rglob("*") if file.is_file()) < 100_000
    server.mend()
    source.materialise(source.resolve("HEAD"), tmp_path / "tree")
    assert len(list((tmp_path / "tree/lib").glob("file*"))) == FILES
