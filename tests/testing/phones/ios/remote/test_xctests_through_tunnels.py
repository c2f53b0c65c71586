from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.core.xctest import CaseMeasured, parse_log
from harness.testing.phones.ios.apps.xctests import BENCHMARK_BUNDLE, XCTestScript, xctest_app
from tests.iphones import GoIosCaller

_TESTS = f"--test-runner-bundle-id={BENCHMARK_BUNDLE}", "--xctest-config=Tests.xctest", "--xctest"


@pytest.mark.slow
def test_tests_are_run_through_a_tunnel(new_ios: GoIosCaller, tmp_path: Path) -> None:
    tests = (XCTestScript("test_a", (0.25, 0.5)), XCTestScript("test_b", failure="it failed"))
    new_ios.phone.install(xctest_app(tmp_path, tests))
    suites = json.loads(new_ios.succeed("runtest", *_TESTS, f"--log-output={tmp_path / 'log'}"))
    (suite,) = (suite for suite in suites if suite["Name"] == "GenericTests")
    assert [(case["MethodName"], case["Status"]) for case in suite["TestCases"]] == [
        ("test_a", "passed"),
        ("test_b", "failed"),
    ]
    events = parse_log((tmp_path / "log").read_text())
    assert [event.values for event in events if isinstance(event, CaseMeasured)] == [(0.25, 0.5)]


@pytest.mark.slow
def test_an_app_that_crashes_ends_tests_through_a_tunnel(new_ios: GoIosCaller, tmp_path: Path) -> None:
    new_ios.phone.install(xctest_app(tmp_path, (XCTestScript("test_a", then="kill -SEGV $$"),)))
    before = len(list(new_ios.phone.crash_reports.glob("Benchmark-*.ips")))
    completed = new_ios("runtest", *_TESTS, f"--log-output={tmp_path / 'log'}")
    assert "lost connection to testmanagerd" in completed.stdout + completed.stderr
    assert len(list(new_ios.phone.crash_reports.glob("Benchmark-*.ips"))) == before + 1
