"""Tests of Xcode on an iPhone, through `xcodebuild test-without-building`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from harness import shell
from harness.core.command import Command
from harness.core.xctest import CaseBegan, CaseEnded, parse_log
from platforms.ios.link.client import XCTestEnd, XCTestStart
from platforms.ios.link.devicectl.causes import find_cause
from platforms.ios.link.devicectl.metrics import add_metrics, read_metrics
from platforms.ios.link.devicectl.program import DevicectlProgram, read_output
from platforms.ios.link.devicectl.xctestrun import write_xctestrun
from platforms.ios.link.words import check_udid

_CONNECT_S: Final = 60


def run_tests(program: DevicectlProgram, udid: str, start: XCTestStart) -> XCTestEnd:
    """Run tests of apps that are installed, to their end or until their time is over. See `PhoneClient.run_tests`.

    What they measured is taken from the result bundle where the log does not say it.

    Raises:
        HarnessError: They were not started at all.
    """
    doing = f"tests of {start.bundle} were run"
    with tempfile.TemporaryDirectory(prefix="xctest-") as folder:
        file, bundle = Path(folder) / "tests.xctestrun", Path(folder) / "results.xcresult"
        write_xctestrun(file, start)
        xcrun = program.locate()
        argv = (str(xcrun), *_words(udid, file, bundle))
        completed = shell.run(Command(argv, timeout_s=start.timeout_s))
        log = completed.stdout
        if bundle.exists() and not completed.timed_out:
            log = add_metrics(log, read_metrics(xcrun, bundle))
    passed, failed = _judge_cases(log)
    failure = None if completed.ok or completed.timed_out else read_output(completed)
    if failure is not None and not (passed or failed):
        raise find_cause(program, udid, doing, failure)
    problem = "" if failure is None or (failed and not completed.flooded) else failure.reason
    return XCTestEnd(log, timed_out=completed.timed_out, failed=failed, passed=passed, problem=problem)


def _words(udid: str, file: Path, bundle: Path) -> tuple[str, ...]:
    return (
        "xcodebuild",
        "test-without-building",
        "-xctestrun",
        str(file),
        "-destination",
        f"id={check_udid(udid)}",
        "-destination-timeout",
        str(_CONNECT_S),
        "-resultBundlePath",
        str(bundle),
        "-parallel-testing-enabled",
        "NO",
        "-collect-test-diagnostics",
        "never",  # it takes minutes after a failure
    )


def _judge_cases(log: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of tests that passed, and of those that failed or did not come to their end."""
    endings: dict[str, str] = {}
    for event in parse_log(log):
        if isinstance(event, CaseBegan | CaseEnded):
            endings[f"{event.case.class_name}/{event.case.name}"] = event.how if isinstance(event, CaseEnded) else ""
    passed = tuple(name for name, how in endings.items() if how == "passed")
    return passed, tuple(name for name, how in endings.items() if how in ("failed", ""))
