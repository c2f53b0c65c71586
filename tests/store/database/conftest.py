from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.store.database.engine import Database, open_database


@pytest.fixture
def database(migrated_url: str, tmp_path: Path) -> Iterator[Database]:
    """A database without results, once on SQLite and once on PostgreSQL."""
    with open_database(migrated_url, artifacts=tmp_path / "artifacts") as opened:
        yield opened
