from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.project import Project
from tests.shared_folders import share_cache_of_runners


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests: the runner is compiled, and each model exported, once."""
    return share_cache_of_runners(tmp_path_factory)


@pytest.fixture
def project(tmp_path: Path, cache: Path) -> Project:
    return Project(tmp_path, cache)
