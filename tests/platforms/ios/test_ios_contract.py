from __future__ import annotations

from pathlib import Path

import pytest

from harness.testing.platforms import CHECKS, Check, PlatformCase
from tests.platforms.ios.conftest import MakeIos


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_iphones_keep_the_contract(check: Check, make_ios: MakeIos, tmp_path: Path) -> None:
    check(PlatformCase(make_ios), tmp_path)
