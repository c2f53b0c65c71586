"""Commits that join two lines of development are known as such, in git and in Mercurial."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.builders.sources.git import GitSource
from harness.builders.sources.hg import HgSource
from tests.builders.sources.repositories import GitRepository, HgRepository, require


def test_a_merge_in_git(repository: GitRepository, source: GitSource) -> None:
    repository.commit("base")
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("side", {"other": "x"})
    repository.git("checkout", "-q", "main")
    plain = repository.commit("plain")
    repository.git("merge", "-q", "--no-ff", "-m", "joined", "side")
    assert not source.resolve(plain).merge
    assert source.resolve("main").merge


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
