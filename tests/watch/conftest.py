from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.watch.store.state import State, open_state
from tests.watch.watching import Clock, Laboratory, Line


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def line() -> Line:
    return Line(["c0", "c1", "c2"])


@pytest.fixture
def laboratory() -> Laboratory:
    return Laboratory()


@pytest.fixture
def state_file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "watch.sqlite"


@pytest.fixture
def state(state_file: Path) -> Iterator[State]:
    with open_state(state_file) as opened:
        opened._database.rows("PRAGMA synchronous = OFF")  # tests see no power failures, and disks are slow
        yield opened
