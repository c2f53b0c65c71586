"""Tests of Xcode that our client runs on stand-in iPhones."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import shell
from harness.core.xctest import CaseMeasured, parse_log
from harness.testing.phones.ios.apps.xctests import BENCHMARK_BUNDLE, XCTestScript, xctest_app
from harness.testing.phones.ios.lab import IPhoneLab
from harness.testing.phones.ios.phone import StandInIPhone
from platforms.ios.link.client import XCTestEnd, XCTestStart
from platforms.ios.link.errors import AppNotInstalled
from platforms.ios.link.go_ios.client import GoIos

pytestmark = pytest.mark.slow

_VALUES = (0.0019, 0.002003, 0.002101)


def run(go_ios: Path, lab: IPhoneLab, timeout_s: float = 200.0) -> XCTestEnd:
    client = GoIos(go_ios, usbmuxd=lab.usbmuxd, environment=lab.environment)
    start = XCTestStart(BENCHMARK_BUNDLE, BENCHMARK_BUNDLE, "Tests.xctest", timeout_s=timeout_s)
    return client.run_tests(lab.phones[0].model.udid, start)


def test_tests_pass_and_fail_and_their_log_has_what_they_measured(
    go_ios: Path, iphones: IPhoneLab, iphone: StandInIPhone, tmp_path: Path
) -> None:
    tests = (XCTestScript("test_forward_a", _VALUES), XCTestScript("test_b", failure="XCTAssertTrue failed"))
    iphone.install(xctest_app(tmp_path, tests))
    end = run(go_ios, iphones)
    assert (end.passed, end.failed) == (("GenericTests/test_forward_a",), ("GenericTests/test_b",))
    assert (end.timed_out, end.problem) == (False, "")
    measured = [event.values for event in parse_log(end.log) if isinstance(event, CaseMeasured)]
    assert measured == [_VALUES]


def test_an_app_that_crashes_under_its_tests_is_a_problem(
    go_ios: Path, iphones: IPhoneLab, iphone: StandInIPhone, tmp_path: Path
) -> None:
    iphone.install(xctest_app(tmp_path, (XCTestScript("test_a", _VALUES, then="kill -SEGV $$"),)))
    end = run(go_ios, iphones)
    assert "test_a]' started" in end.log
    assert end.passed == ()
    assert end.problem or end.failed


def test_an_app_that_hangs_under_its_tests_is_ended(
    go_ios: Path, iphones: IPhoneLab, iphone: StandInIPhone, tmp_path: Path
) -> None:
    iphone.install(xctest_app(tmp_path, (XCTestScript("test_a", _VALUES, then="sleep 600"),)))
    end = run(go_ios, iphones, timeout_s=25.0)
    assert end.timed_out
    assert "test_a]' started" in end.log
    assert shell.poll_until(lambda: not iphone.processes(), 60)


def test_an_app_that_is_missing_has_no_tests(go_ios: Path, iphones: IPhoneLab, iphone: StandInIPhone) -> None:
    assert iphone.installed_apps() == ()
    with pytest.raises(AppNotInstalled, match="does not have this app"):
        run(go_ios, iphones)
