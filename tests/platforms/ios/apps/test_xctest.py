"""Tests of Xcode in an app: what is installed, what is run, and how it is judged."""

from __future__ import annotations

import signal
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from harness.core.app import App
from harness.core.command import Command
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, EnvironmentProblem
from platforms.ios.apps.crashes import Crash
from platforms.ios.apps.packages import read_package
from platforms.ios.apps.xctest import XCTestPhone, judge, run_tests_of
from platforms.ios.link.client import CrashReport, InstalledApp, PhoneClient, XCTestEnd, XCTestStart
from tests.platforms.ios.apps.benchmark_apps import BUNDLE, benchmark_app

APP = App(package=BUNDLE, tests="Tests.xctest")
CASE = "-[GenericTests test_forward_mv2_pte_iOS_17_2_1_iPhone15_4]"
STARTED = f"Test Case '{CASE}' started.\n"
MEASURED = f"Test Case '{CASE}' measured [Clock Monotonic Time, s] average: 0.002, values: [0.001912, 0.002088]\n"
PASSED = f"Test Case '{CASE}' passed (0.321 seconds).\n"
ASSERTED = f"/x/GenericTests.mm:60: error: {CASE} : XCTAssertEqual failed: (32) is not equal to (0)\n"
FAILED = f"Test Case '{CASE}' failed (0.321 seconds).\n"
GOOD = STARTED + MEASURED + PASSED
WORD = "Documents/edge-harness/s/0/mv2.pte"
CRASH = '{"app_name": "Benchmark"}\n{"exception": {"type": "EXC_BAD_ACCESS", "signal": "SIGSEGV"}}'


@dataclass
class RecordingClient:
    """A client of one phone that records what it is asked, and says what a test lets it."""

    end: XCTestEnd
    crashes: dict[str, str] = field(default_factory=dict)
    crashes_meanwhile: dict[str, str] = field(default_factory=dict)
    installed: list[set[str]] = field(default_factory=list)
    starts: list[XCTestStart] = field(default_factory=list)
    killed: list[str] = field(default_factory=list)

    def list_apps(self, udid: str) -> Sequence[InstalledApp]:
        return (InstalledApp("org.example.other"),)

    def install(self, udid: str, package: Path) -> None:
        with zipfile.ZipFile(package) as archive:
            self.installed.append({name.rpartition("/")[2] for name in archive.namelist()})

    def run_tests(self, udid: str, start: XCTestStart) -> XCTestEnd:
        self.starts.append(start)
        self.crashes.update(self.crashes_meanwhile)
        return self.end

    def kill(self, udid: str, bundle: str) -> None:
        self.killed.append(bundle)

    def list_crash_reports(self, udid: str) -> Sequence[CrashReport]:
        return tuple(CrashReport(name, name.partition("-")[0]) for name in self.crashes)

    def read_crash_report(self, udid: str, report: CrashReport) -> str:
        return self.crashes[report.name]


def phone_with(client: RecordingClient, sign: str | None = "true {app}") -> XCTestPhone:
    return XCTestPhone(cast(PhoneClient, client), "UDID", "iPhone 15", sign)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    path.write_bytes(b"model")
    return path


def test_tests_that_measured_and_passed_are_well(tmp_path: Path, model: Path) -> None:
    client = RecordingClient(XCTestEnd(GOOD))
    command = Command((WORD,), env={"A": "1"}, timeout_s=77)
    package = read_package(benchmark_app(tmp_path, {}))
    completed = run_tests_of(phone_with(client), command, APP, package, {WORD: model})
    assert completed.ok
    assert (completed.stdout, completed.stderr) == (GOOD, "")
    assert client.starts == [XCTestStart(BUNDLE, BUNDLE, "Tests.xctest", env={"A": "1"}, timeout_s=77)]
    assert "mv2.pte" in client.installed[0]


def test_a_model_in_an_app_that_somebody_installed_is_not_trusted(model: Path) -> None:
    client = RecordingClient(XCTestEnd(GOOD))
    app = App(package="org.example.other", tests="Tests.xctest")
    completed = run_tests_of(phone_with(client), Command((WORD,)), app, None, {WORD: model})
    assert completed.ok
    assert [(note.code, note.trust) for note in completed.notes] == [("unknown_model", False)]
    assert not client.installed


def test_an_app_is_installed_once_for_the_same_files(tmp_path: Path, model: Path) -> None:
    client = RecordingClient(XCTestEnd(GOOD))
    phone, package = phone_with(client), read_package(benchmark_app(tmp_path, {}))
    for words in ((WORD,), (WORD,), (f"{WORD}.other.pte",), (WORD,)):
        run_tests_of(phone, Command(words), APP, package, dict.fromkeys(words, model))
    assert [names & {"mv2.pte", "mv2.pte.other.pte"} for names in client.installed] == [
        {"mv2.pte"},
        {"mv2.pte.other.pte"},
        {"mv2.pte"},
    ]


def test_an_app_that_is_not_signed_is_not_installed(tmp_path: Path, model: Path) -> None:
    client = RecordingClient(XCTestEnd(GOOD))
    package = read_package(benchmark_app(tmp_path, {}))
    with pytest.raises(EnvironmentProblem, match="was not signed"):
        run_tests_of(phone_with(client, "false {app}"), Command((WORD,)), APP, package, {WORD: model})
    with pytest.raises(EnvironmentProblem, match="iOS refuses"):
        run_tests_of(phone_with(client, None), Command((WORD,)), APP, package, {WORD: model})
    assert (client.installed, client.starts) == ([], [])


def test_what_cannot_be_run_is_refused_in_words(tmp_path: Path, model: Path) -> None:
    client = RecordingClient(XCTestEnd(GOOD))
    phone, package = phone_with(client), read_package(benchmark_app(tmp_path, {}))
    with pytest.raises(BenchmarkUnsupported, match="is not installed on iPhone 15"):
        run_tests_of(phone, Command((WORD,)), APP, None, {WORD: model})
    with pytest.raises(BenchmarkFailed, match=r"the benchmark names org\.example\.other"):
        run_tests_of(phone, Command(()), App(package="org.example.other", tests="Tests.xctest"), package, {})
    with pytest.raises(BenchmarkFailed, match=r"no tests UITests\.xctest: it has Tests\.xctest"):
        run_tests_of(phone, Command(()), App(package=BUNDLE, tests="UITests.xctest"), package, {})
    with pytest.raises(BenchmarkFailed, match="'--iter' is no file"):
        run_tests_of(phone, Command((WORD, "--iter")), APP, package, {WORD: model})
    with pytest.raises(BenchmarkFailed, match=r"two files are named mv2\.pte"):
        run_tests_of(phone, Command((WORD, "x/mv2.pte")), APP, package, {WORD: model, "x/mv2.pte": tmp_path})
    with pytest.raises(EnvironmentProblem, match="cannot read"):
        run_tests_of(phone, Command((WORD,)), APP, package, {WORD: tmp_path / "gone"})
    assert client.starts == []


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (XCTestEnd(""), "the tests wrote nothing"),
        (XCTestEnd(STARTED + PASSED), "no test measured anything"),
        (XCTestEnd(STARTED + ASSERTED + MEASURED + FAILED), "XCTAssertEqual failed: (32) is not equal to (0)"),
        (XCTestEnd(STARTED + MEASURED + FAILED), "test_forward_mv2_pte_iOS_17_2_1_iPhone15_4 failed: after 0.321 s"),
        (XCTestEnd(GOOD, failed=("GenericTests/test_load",)), "GenericTests/test_load failed"),
        (XCTestEnd(STARTED + MEASURED), "the app ended while test_forward_mv2_pte"),
        (XCTestEnd(GOOD, problem="lost connection to testmanagerd"), "lost connection to testmanagerd"),
        (XCTestEnd("", problem="the app is not there"), "did not come to their end: the app is not there"),
    ],
)
def test_anything_less_is_a_failure_in_words(end: XCTestEnd, words: str) -> None:
    completed = judge(end, Command(()))
    assert completed.exit_code == 1
    assert words in completed.describe()


def test_a_failure_that_the_log_explains_is_told_once() -> None:
    name = "GenericTests.test_forward_mv2_pte_iOS_17_2_1_iPhone15_4"
    completed = judge(XCTestEnd(STARTED + ASSERTED + MEASURED + FAILED, failed=(name,)), Command(()))
    assert completed.stderr.count("failed") == 2


def test_a_crash_has_the_signal_of_its_report(tmp_path: Path) -> None:
    old = {"Benchmark-old.ips": "an old one"}
    meanwhile = {"Other-new.ips": CRASH, "Benchmark-new.ips": CRASH}
    client = RecordingClient(XCTestEnd(STARTED), crashes=old, crashes_meanwhile=meanwhile)
    package = read_package(benchmark_app(tmp_path, {}))
    completed = run_tests_of(phone_with(client), Command(()), APP, package, {})
    assert (completed.exit_code, completed.signal) == (None, signal.SIGSEGV)
    assert "EXC_BAD_ACCESS" in completed.stderr
    assert "ended by SIGSEGV: the app crashed while test_forward_mv2" in completed.describe()


def test_a_crash_without_a_signal_is_a_failure_too() -> None:
    completed = judge(XCTestEnd(GOOD), Command(()), Crash(None, "ended for memory"))
    assert (completed.exit_code, completed.stderr) == (1, "ended for memory\n")


def test_time_that_is_over_ends_the_app_and_keeps_what_was_written(tmp_path: Path) -> None:
    client = RecordingClient(XCTestEnd(STARTED + MEASURED, timed_out=True))
    package = read_package(benchmark_app(tmp_path, {}))
    completed = run_tests_of(phone_with(client), Command((), timeout_s=5), APP, package, {})
    assert completed.timed_out
    assert not completed.ok
    assert "did not end within 5 s" in completed.describe()
    assert (completed.stdout, client.killed) == (STARTED + MEASURED, [BUNDLE])
