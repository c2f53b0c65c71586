"""Tests of Xcode on stand-in iPhones, started by the real go-ios."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import shell
from harness.core.command import Command
from harness.core.xctest import CaseMeasured, parse_log
from harness.testing.phones.ios.apps.xctests import BENCHMARK_BUNDLE, XCTestScript, xctest_app
from harness.testing.phones.ios.developer.archives import ArchivedObject, ArchiveValue
from harness.testing.phones.ios.developer.callbacks import Callback, ConsoleReader
from harness.testing.phones.ios.phone import StandInIPhone
from tests.iphones import GoIosCaller

_VALUES = (0.0019, 0.002003, 0.002101)


def words(folder: Path, tests: str = "Tests.xctest", bundle: str = BENCHMARK_BUNDLE) -> tuple[str, ...]:
    runner, config = f"--test-runner-bundle-id={bundle}", f"--xctest-config={tests}"
    return ("runtest", runner, config, "--xctest", f"--log-output={folder / 'log'}")


def run(ios: GoIosCaller, folder: Path, **changed: str) -> list[dict[str, object]]:
    suites = json.loads(ios.succeed(*words(folder, **changed)))
    return list(suites or ())


def cases(suite: dict[str, object]) -> list[tuple[object, object]]:
    listed = suite["TestCases"]
    assert isinstance(listed, list)
    return [(case["MethodName"], case["Status"]) for case in listed]


def test_tests_are_run_and_what_they_measure_is_in_the_log(
    ios: GoIosCaller, iphone: StandInIPhone, tmp_path: Path
) -> None:
    tests = (XCTestScript("test_forward_a", _VALUES), XCTestScript("test_load_a", (0.5,)))
    iphone.install(xctest_app(tmp_path, tests))
    suites = {suite["Name"]: suite for suite in run(ios, tmp_path)}
    assert cases(suites["GenericTests"]) == [("test_forward_a", "passed"), ("test_load_a", "passed")]
    events = parse_log((tmp_path / "log").read_text())
    measured = {event.case.name: event.values for event in events if isinstance(event, CaseMeasured)}
    assert measured == {"test_forward_a": _VALUES, "test_load_a": (0.5,)}
    assert iphone.processes() == ()


def test_a_test_that_fails_has_its_message(ios: GoIosCaller, iphone: StandInIPhone, tmp_path: Path) -> None:
    failure = 'XCTAssertEqual failed: ("1") is not equal to ("2") - it\'s wrong'
    iphone.install(xctest_app(tmp_path, (XCTestScript("test_a"), XCTestScript("test_b", failure=failure))))
    (suite,) = [suite for suite in run(ios, tmp_path) if suite["Name"] == "GenericTests"]
    assert cases(suite) == [("test_a", "passed"), ("test_b", "failed")]
    assert failure in json.dumps(suite, ensure_ascii=False).replace('\\"', '"')
    assert "Tests.mm" in json.dumps(suite)


def test_an_app_that_crashes_ends_the_run_and_leaves_a_report(
    ios: GoIosCaller, iphone: StandInIPhone, tmp_path: Path
) -> None:
    iphone.install(xctest_app(tmp_path, (XCTestScript("test_a", _VALUES, then="kill -SEGV $$"),)))
    suites = run(ios, tmp_path)
    assert all(("test_a", "passed") not in cases(suite) for suite in suites)
    assert "test_a]' started" in (tmp_path / "log").read_text()
    assert len(list(iphone.crash_reports.glob("Benchmark-*.ips"))) == 1


def test_an_app_that_is_missing_or_has_no_such_tests_is_told(
    ios: GoIosCaller, iphone: StandInIPhone, tmp_path: Path
) -> None:
    def describe(**changed: str) -> str:
        completed = ios(*words(tmp_path, **changed))
        return completed.stdout + completed.stderr

    assert "Did not find test app" in describe()
    iphone.install(xctest_app(tmp_path, (XCTestScript("test_a"),)))
    assert "Other.xctest is missing in" in describe(tests="Other.xctest")


def test_an_app_that_hangs_is_waited_for(ios: GoIosCaller, iphone: StandInIPhone, tmp_path: Path) -> None:
    iphone.install(xctest_app(tmp_path, (XCTestScript("test_a", _VALUES, then="sleep 600"),)))
    started = ios.command(*words(tmp_path))
    with shell.run_in_background(Command(started.argv, env=started.env)) as program:
        log = tmp_path / "log"
        assert shell.poll_until(lambda: log.exists() and "measured" in log.read_text(), 120)
        assert not program.has_ended()
        (process,) = iphone.processes()
        iphone.kill(BENCHMARK_BUNDLE)
        assert process.exit_code == -9
        assert shell.poll_until(program.has_ended, 120)


def read_all(text: str) -> list[Callback]:
    reader = ConsoleReader()
    return [callback for line in text.splitlines() for callback in reader.read_line(line)]


def test_suites_count_what_happens_in_them() -> None:
    callbacks = read_all(
        "Test Suite 'All tests' started at x\nTest Suite 'A' started at x\n"
        "Test Case '-[A test_a]' started.\nTest Case '-[A test_a]' passed (0.5 seconds).\n"
        "Test Case '-[A test_b]' started.\n/a/b.m:7: error: -[A test_b] : it failed\n"
        "Test Case '-[A test_b]' failed (0.25 seconds).\n"
        "Test Case '-[A test_c]' started.\nTest Case '-[A test_c]' skipped (0.0 seconds).\n"
        "Test Suite 'A' failed at x\nTest Suite 'All tests' failed at x\n"
    )
    ends = [callback for callback in callbacks if "didFinishAt" in callback.selector]
    assert [callback.arguments[2:] for callback in ends] == [(3, 1, 1, 0, 0, 0.75, 0.75)] * 2
    assert [each.arguments[1] for each in callbacks if "didFinishWithStatus" in each.selector] == [
        "passed",
        "failed",
        "skipped",
    ]
    (issue,) = (callback.arguments[1] for callback in callbacks if "didRecordIssue" in callback.selector)
    assert find(issue, "compact-description") == "it failed"
    assert find(issue, "source-code-context", "location", "line-number") == 7
    assert find(issue, "source-code-context", "location", "file-url", "NS.relative") == "file:///a/b.m"


def find(value: ArchiveValue, *path: str) -> ArchiveValue:
    for name in path:
        assert isinstance(value, ArchivedObject)
        value = value.members[name]
    return value


@pytest.mark.parametrize(
    "line",
    ["", "Test Suite 'A' passed at x", "Test Case 'A'", "Test Case '-[A b]' passed (1..2 seconds).", "Test Suite '\0"],
)
def test_lines_of_another_form_do_no_harm(line: str) -> None:
    assert len(read_all(line)) <= 1
