"""The contract of sources: git, Mercurial and releases."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import plugins
from harness.core.commit import Source
from harness.testing.sources import CHECKS, Check, SourceCase
from tests.builders.sources.repositories import PACKAGE, GitRepository, HgRepository, Shelf, require

each_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
VERSIONS = ("1.2.0", "1.9.1", "1.10.0")


def opened(kind: str, place: str, cache_dir: Path) -> Source:
    return plugins.source(kind, place, remote=None, cache_dir=cache_dir)


@each_check
def test_git(check: Check, repository: GitRepository, tmp_path: Path) -> None:
    commits = [repository.commit(subject) for subject in ("one", "two", "three")]
    place = str(repository.path)
    check(SourceCase(lambda cache: opened("git", place, cache), commits, repository.state, "main"), tmp_path / "case")


@pytest.mark.exhaustive
@pytest.mark.slow  # Mercurial starts slowly
@each_check
def test_mercurial(check: Check, tmp_path: Path) -> None:
    require("hg")
    user = HgRepository(tmp_path / "user")
    commits = [user.commit(subject) for subject in ("one", "two", "three")]
    place = str(user.path)
    check(SourceCase(lambda cache: opened("hg", place, cache), commits, user.state, "default"), tmp_path / "case")


@pytest.mark.slow  # pip starts slowly
@each_check
def test_releases(check: Check, release: Shelf, tmp_path: Path) -> None:
    for version in VERSIONS:
        release(version)
    check(SourceCase(lambda cache: opened("releases", PACKAGE, cache), VERSIONS), tmp_path / "case")
