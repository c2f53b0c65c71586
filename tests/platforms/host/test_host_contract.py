from __future__ import annotations

from pathlib import Path

import pytest

from harness.testing.platforms import CHECKS, Check, PlatformCase
from platforms.host.platform import Host


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_host_keeps_the_contract(check: Check, tmp_path: Path) -> None:
    check(PlatformCase(lambda: Host(tmp_path / "work", lock_path=tmp_path / "lock")), tmp_path)
