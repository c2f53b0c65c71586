from __future__ import annotations

from pathlib import Path

import pytest

from harness.testing.phones.android.lab import PhoneLab
from harness.testing.platforms import CHECKS, Check, PlatformCase
from tests.platforms.android.conftest import MakePlatform


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_phones_keep_the_contract(check: Check, lab: PhoneLab, make_platform: MakePlatform, tmp_path: Path) -> None:
    check(PlatformCase(lambda: make_platform(lab), sh="/system/bin/sh"), tmp_path)
