from __future__ import annotations

from pathlib import Path

import pytest

from harness.builders.sources.git import GitSource
from tests.builders.sources.repositories import GitRepository, require


@pytest.fixture(autouse=True)
def _nobodys_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    require("git")
    return GitRepository(tmp_path / "user")


@pytest.fixture
def source(repository: GitRepository, cache: Path) -> GitSource:
    return GitSource(repository.path, cache_dir=cache)
