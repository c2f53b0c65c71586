"""Tests of Xcode by xcodebuild.

The .xctestrun has the members of `man xcodebuild.xctestrun`; that of a hosted bundle is what Xcode writes (go-ios,
ios/testmanagerd/testdata, MIT). The log is that of ExecuTorch's Benchmark app, and the metrics have the members of
`xcresulttool get test-results metrics` (a7ex/xcresultparser, XCMetric.swift, MIT).
"""

from __future__ import annotations

import json
import plistlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.core.errors import BenchmarkUnsupported, EnvironmentProblem
from harness.core.xctest import CaseMeasured, parse_log
from platforms.ios.link.client import XCTestStart
from platforms.ios.link.devicectl.metrics import add_metrics
from platforms.ios.link.errors import PhoneNotPaired
from tests.platforms.ios.link.devicectl_recordings import UDID, XcrunAnswer, device, succeeded
from tests.platforms.ios.link.test_devicectl_phones import APPS, DETAILS, LOCK, devicectl

RUN = "xcodebuild test-without-building"
METRICS = "xcresulttool get test-results metrics"
HOSTED = XCTestStart("org.example.Bench", "org.example.Bench", "Tests.xctest", {"MODEL": "mv2"}, 120.0)
DRIVEN = replace(HOSTED, runner="org.example.Tests.xctrunner")
CASE = "Test Case '-[Tests test_forward_mv2]'"
LOG = (
    f"{CASE} started.\n/x/T.mm:9: {CASE} measured [Clock Monotonic Time, s] average: 0.010, relative standard "
    f"deviation: 2.1%, values: [0.010112, 0.010201], polarity: prefers smaller\n{CASE} passed (0.3 seconds).\n"
    "Test Case '-[Tests test_load_mv2]' started.\nTest Case '-[Tests test_load_mv2]' failed (0.1 seconds).\n"
    "Test Case '-[Tests test_last]' started.\n"
)


def metrics(name: str = "Tests/test_forward_mv2()", **changes: object) -> str:
    metric = {
        "displayName": "Memory Peak Physical",
        "unitOfMeasurement": "kB",
        "identifier": "com.apple.dt.XCTMetric_Memory.physical_peak",
        "polarity": "prefers smaller",
        "measurements": [1024.5, 2048],
        **changes,
    }
    run = {"device": {"deviceId": UDID}, "testPlanConfiguration": {"configurationId": "1"}, "metrics": [metric]}
    return json.dumps([{"testIdentifier": name, "testName": "x", "testRuns": [run]}])


def measured(log: str) -> list[tuple[str, str, tuple[float, ...]]]:
    return [(event.metric, event.unit, event.values) for event in parse_log(log) if isinstance(event, CaseMeasured)]


def write_plist(folder: Path, start: XCTestStart) -> Mapping[str, object]:
    client, written = devicectl(folder, {RUN: XcrunAnswer(stdout=LOG), METRICS: XcrunAnswer(stdout="[]")})
    client.run_tests(UDID, start)
    document = plistlib.loads((written.path.parent / "tests.xctestrun").read_bytes())
    assert document["__xctestrun_metadata__"] == {"FormatVersion": 1}
    target: Mapping[str, object] = document["Tests"]
    return target


def test_tests_in_an_app_are_named_by_an_xctestrun(tmp_path: Path) -> None:
    target = write_plist(tmp_path, HOSTED)
    assert target["UseDestinationArtifacts"] is True
    assert target["IsAppHostedTestBundle"] is True
    assert target["TestHostBundleIdentifier"] == "org.example.Bench"
    assert target["TestBundleDestinationRelativePath"] == "__TESTHOST__/PlugIns/Tests.xctest"
    assert target["EnvironmentVariables"] == {"MODEL": "mv2"}
    assert "UITargetAppBundleIdentifier" not in target


def test_tests_that_drive_another_app_run_in_their_runner(tmp_path: Path) -> None:
    target = write_plist(tmp_path, DRIVEN)
    assert target["TestHostBundleIdentifier"] == "org.example.Tests.xctrunner"
    assert target["UITargetAppBundleIdentifier"] == "org.example.Bench"
    assert target["IsUITestBundle"] is True
    assert target["TestingEnvironmentVariables"] == {}


def test_tests_are_judged_by_the_log_and_not_by_the_exit_status(tmp_path: Path) -> None:
    answers = {RUN: XcrunAnswer(stdout=LOG, exit_code=65), METRICS: XcrunAnswer(stdout=metrics())}
    client, written = devicectl(tmp_path, answers)
    end = client.run_tests(UDID, HOSTED)
    assert end.passed == ("Tests/test_forward_mv2",)
    assert end.failed == ("Tests/test_load_mv2", "Tests/test_last")
    assert end.problem == ""
    assert [name for name, _, _ in measured(end.log)] == ["Clock Monotonic Time", "Memory Peak Physical"]
    words = written.calls[0]
    assert words[:3] == ["xcodebuild", "test-without-building", "-xctestrun"]
    assert words[4:6] == ["-destination", f"id={UDID}"]
    assert words[words.index("-resultBundlePath") + 1].endswith(".xcresult")


def test_tests_that_did_not_start_are_an_error_in_words(tmp_path: Path) -> None:
    text = (
        "Testing failed:\n\terror: Unable to launch org.example.Bench because the device was not, or could not be, "
        "unlocked. (com.apple.dt.CoreDeviceError error 10002 (0x2712))\n"
    )
    none = XcrunAnswer(stdout="[]")
    client, _ = devicectl(tmp_path / "locked", {RUN: XcrunAnswer(stderr=text, exit_code=70), METRICS: none})
    with pytest.raises(PhoneNotPaired, match="is locked"):
        client.run_tests(UDID, HOSTED)
    answers = {DETAILS: succeeded(device()), LOCK: succeeded({"passcodeRequired": False}), METRICS: none}
    client, _ = devicectl(
        tmp_path / "other", {RUN: XcrunAnswer(stderr="xcodebuild: error: odd\n", exit_code=64), **answers}
    )
    with pytest.raises(EnvironmentProblem, match="odd"):
        client.run_tests(UDID, HOSTED)


def test_tests_that_passed_before_xcodebuild_failed_have_a_problem(tmp_path: Path) -> None:
    log = f"{CASE} started.\n{CASE} passed (0.3 seconds).\n"
    answer = XcrunAnswer(stdout=log, stderr="xcodebuild: error: lost it\n", exit_code=74)
    client, _ = devicectl(tmp_path, {RUN: answer, METRICS: XcrunAnswer(exit_code=64)})
    end = client.run_tests(UDID, HOSTED)
    assert end.passed == ("Tests/test_forward_mv2",)
    assert "lost it" in end.problem


@pytest.mark.slow
def test_tests_whose_time_is_over_are_ended_on_the_phone_too(tmp_path: Path) -> None:
    answers = {RUN: XcrunAnswer(stdout=LOG, sleeps=True), APPS: succeeded({"apps": []})}
    client, written = devicectl(tmp_path, answers)
    end = client.run_tests(UDID, replace(HOSTED, timeout_s=3.0))
    assert end.timed_out
    assert end.problem == ""
    assert written.calls[-1][1:4] == ["device", "info", "apps"]


@pytest.mark.parametrize("tests", ["", "Tests", "../T.xctest", "a/T.xctest", "T.xctest\n", "-" + "T" * 300 + ".xctest"])
def test_what_is_no_bundle_of_tests_is_refused(tmp_path: Path, tests: str) -> None:
    client, written = devicectl(tmp_path, {})
    with pytest.raises(EnvironmentProblem, match="is no name of a test bundle"):
        client.run_tests(UDID, replace(HOSTED, tests=tests))
    assert written.calls == []


@pytest.mark.parametrize("value", ["\0", "\udcff"])
def test_variables_that_no_property_list_holds_are_refused(tmp_path: Path, value: str) -> None:
    client, _ = devicectl(tmp_path, {})
    with pytest.raises(BenchmarkUnsupported, match="variable"):
        client.run_tests(UDID, replace(HOSTED, env={"A": value}))


def test_metrics_of_the_result_bundle_complete_a_log(tmp_path: Path) -> None:
    log = add_metrics("no line end", metrics())
    assert measured(log) == [("Memory Peak Physical", "kB", (1024.5, 2048.0))]
    assert log.startswith("no line end\n")


def test_metrics_that_the_log_has_are_not_added_twice() -> None:
    known = metrics(displayName="Clock Monotonic Time", unitOfMeasurement="s", measurements=[0.010112, 0.010201])
    assert add_metrics(LOG, known) == LOG


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "{}",
        '{"a": 1}',
        metrics("Tests/te st"),
        metrics("Tests"),
        metrics(displayName="a]b"),
        metrics(displayName="a\nTest Case '-[T t]' passed (1 seconds)."),
        metrics(unitOfMeasurement=""),
        metrics(measurements=[]),
        metrics(measurements=[1e300]),
        metrics(measurements=["x"]),
        metrics(measurements=[1.0]).replace("1.0", "NaN"),
    ],
)
def test_metrics_that_cannot_be_are_left_out(text: str) -> None:
    assert add_metrics(LOG, text) == LOG
