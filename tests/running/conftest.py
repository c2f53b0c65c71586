"""This machine as the device of tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.testing.progress import RecordedProgress
from platforms.host.platform import Host
from platforms.host.session import HostSession


@pytest.fixture
def session(tmp_path: Path) -> Iterator[HostSession]:
    """Return an open session with its own lock."""
    host = Host(tmp_path / "work", lock_path=tmp_path / "lock")
    with host.open(host.devices()[0], RecordedProgress()) as host_session:
        assert isinstance(host_session, HostSession)
        yield host_session
