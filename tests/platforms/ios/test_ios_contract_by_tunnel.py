"""The contract of platforms with iPhones whose developer services are behind a tunnel: what starts and ends apps.

What is left goes the same ways as with older phones, which test_ios_contract.py tries in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.testing.phones import start_iphones
from harness.testing.phones.ios.lab import IPhoneLab
from harness.testing.platforms import CHECKS, Check, PlatformCase
from tests.platforms.ios.conftest import MakeIos


@pytest.fixture(scope="module")
def iphone_lab(go_ios: Path) -> Iterator[IPhoneLab]:
    with start_iphones(2, version="18.5") as lab:
        yield lab


_THROUGH_TUNNEL = (
    "arguments_arrive_unchanged",
    "a_timed_out_program_is_killed_with_its_children",
)
_CHECKS = [check for check in CHECKS if check.__name__ in _THROUGH_TUNNEL]


@pytest.mark.slow
@pytest.mark.parametrize("check", _CHECKS, ids=lambda check: check.__name__)
def test_iphones_with_a_tunnel_keep_the_contract(check: Check, make_ios: MakeIos, tmp_path: Path) -> None:
    check(PlatformCase(make_ios), tmp_path)


def test_the_names_are_those_of_checks() -> None:
    assert len(_CHECKS) == len(_THROUGH_TUNNEL)
