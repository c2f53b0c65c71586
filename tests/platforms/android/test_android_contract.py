from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.core.command import Command
from harness.core.errors import EnvironmentProblem
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.platforms import CHECKS, Check, PlatformCase
from harness.testing.progress import RecordedProgress
from platforms.android.link.adb import AdbServer
from platforms.android.link.phone import Phone
from tests.platforms.android.conftest import MakePlatform


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_phones_keep_the_contract(check: Check, lab: PhoneLab, make_platform: MakePlatform, tmp_path: Path) -> None:
    check(PlatformCase(lambda: make_platform(lab), sh="/system/bin/sh"), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_older_phones_keep_the_contract(
    check: Check, old_lab: PhoneLab, make_platform: MakePlatform, tmp_path: Path
) -> None:
    check(PlatformCase(lambda: make_platform(old_lab), sh="/system/bin/sh"), tmp_path)


@pytest.mark.slow
def test_nothing_of_a_launch_is_left(lab: PhoneLab, make_platform: MakePlatform) -> None:
    check_that_nothing_is_left(lab, make_platform)


@pytest.mark.slow
def test_nothing_of_a_launch_is_left_on_older_phones(old_lab: PhoneLab, make_platform: MakePlatform) -> None:
    check_that_nothing_is_left(old_lab, make_platform)


@pytest.mark.slow
def test_a_script_that_takes_too_long_is_no_result_of_older_phones(old_lab: PhoneLab) -> None:
    phone = Phone(AdbServer(old_lab.server), old_lab.phones[0].serial)
    with pytest.raises(EnvironmentProblem, match="more than 1 s"):
        phone.sh("while :; do echo x; sleep 0.01; done", timeout_s=1.0)


def check_that_nothing_is_left(lab: PhoneLab, make_platform: MakePlatform) -> None:
    platform = make_platform(lab)
    phone = Phone(AdbServer(lab.server), lab.phones[0].serial)
    with platform.open(platform.devices()[0], RecordedProgress()) as session:
        ended = session.run(Command(("/system/bin/sh", "-c", "sleep 77.5 & exit 3"), timeout_s=88.5))
        assert (ended.exit_code, ended.signal) == (3, None)
        late = session.run(Command(("/system/bin/sh", "-c", "sleep 77.5; sleep 77.5"), timeout_s=0.5))
        assert late.timed_out
        assert not re.findall(r"sleep (?:77\.5|88\.5).*", phone.sh("ps -A -o ARGS").stdout)
