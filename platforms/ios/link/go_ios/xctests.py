"""Tests of Xcode on an iPhone, through go-ios, whose exit status says nothing of them."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from harness.core.errors import EnvironmentProblem
from platforms.ios.link.client import XCTestEnd, XCTestStart
from platforms.ios.link.go_ios.causes import find_cause
from platforms.ios.link.go_ios.documents import SUITES, parse_answer
from platforms.ios.link.go_ios.launch_words import launch_words
from platforms.ios.link.go_ios.program import GoIosProgram, ProgramOutput
from platforms.ios.link.go_ios.refusals import recognise_failure
from platforms.ios.link.words import check_bundle, shorten

_MOST_BYTES: Final = 64 << 20
_TEST_BUNDLE: Final = re.compile(r"[\w. +-]{1,200}\.xctest")
_UNFINISHED: Final = "Failed running Xcuitest"
"""What go-ios logs, as information, where tests did not come to their end."""
_PASSED: Final = frozenset({"passed", "expected failure"})
_FAILED: Final = frozenset({"failed", "stalled", ""})
"""States of tests that did not pass; one that never ended has none."""


def run_tests(program: GoIosProgram, udid: str, start: XCTestStart) -> XCTestEnd:
    """Run tests to their end, or until their time is over. See `PhoneClient.run_tests`.

    Attachments of tests are dropped.

    Raises:
        HarnessError: They were not started at all.
    """
    doing = f"tests of {start.bundle} were run"
    with tempfile.TemporaryDirectory(prefix="xctest-") as folder:
        log_file = Path(folder) / "log"
        attachments = Path(folder) / "attachments"
        attachments.mkdir()
        words = (*_words(start), f"--log-output={log_file}")
        command = program.command(udid, *words, timeout_s=start.timeout_s, env={"TMPDIR": str(attachments)})
        output = program.run(command, doing)
        log = _read_end(log_file)
    if output.timed_out:
        return XCTestEnd(log, timed_out=True)
    problem = output.failure or _read_problem(output)
    if problem and not log and (output.failure or recognise_failure(udid, doing, problem)):
        raise find_cause(program, udid, doing, replace(output, failure=problem))
    suites = None if output.failure else parse_answer(SUITES, output.stdout, doing)
    tests = [test for suite in suites or () for test in suite.TestCases or ()]
    return XCTestEnd(
        log,
        failed=tuple(test.name for test in tests if test.Status in _FAILED),
        passed=tuple(test.name for test in tests if test.Status in _PASSED),
        problem=shorten(problem),
    )


def _words(start: XCTestStart) -> tuple[str, ...]:
    """Return the words of the command but for its log.

    Raises:
        EnvironmentProblem: A name that cannot be one.
        BenchmarkUnsupported: go-ios cannot pass one of the variables.
    """
    if not _TEST_BUNDLE.fullmatch(start.tests):
        raise EnvironmentProblem(f"{shorten(repr(start.tests))} is no name of a test bundle", hint="as in Tests.xctest")
    hosted = start.runner == start.bundle
    return (
        "runtest",
        *(("--xctest",) if hosted else (f"--bundle-id={check_bundle(start.bundle)}",)),
        f"--test-runner-bundle-id={check_bundle(start.runner)}",
        f"--xctest-config={start.tests}",
        *launch_words((), start.env),
    )


def _read_problem(output: ProgramOutput) -> str:
    """Return why tests did not come to their end, in go-ios's words; empty if they did."""
    return next((record.text.partition(": ")[2] for record in output.log if record.msg == _UNFINISHED), "")


def _read_end(file: Path) -> str:
    """Return the end of a log; empty where none was written."""
    try:
        with file.open("rb") as log:
            log.seek(max(0, file.stat().st_size - _MOST_BYTES))
            return log.read(_MOST_BYTES).decode(errors="replace")
    except FileNotFoundError:
        return ""
