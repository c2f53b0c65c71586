from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.project import Project


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests: the runner is compiled once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def project(tmp_path: Path, cache: Path) -> Project:
    return Project(tmp_path, cache)
