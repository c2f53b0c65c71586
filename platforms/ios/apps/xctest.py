"""Tests of Xcode in an app: models put into its bundle, installed, run, and judged by what the tests wrote.

A client's exit status says nothing of tests. They passed when something was measured, each test that began has ended
well, no assertion failed, and there is no report of a crash.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final, Self

from msgspec.structs import replace

from harness.core.app import App
from harness.core.command import SIGKILL, Command, Completed
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, EnvironmentProblem
from harness.core.note import Note
from harness.core.xctest import CaseAsserted, CaseBegan, CaseEnded, CaseMeasured, XCTestCase, parse_log
from platforms.ios.apps.crash_watch import CrashWatch
from platforms.ios.apps.crashes import Crash
from platforms.ios.apps.packages import PackageInfo
from platforms.ios.apps.repacking import BundledFiles, put_files
from platforms.ios.link.client import PhoneClient, XCTestEnd, XCTestStart

_MOST_REASONS: Final = 5
_UNKNOWN_MODEL: Final = Note(
    code="unknown_model",
    message="the model was in the bundle of an app that somebody installed: nothing tells whether it is this one",
    hint="give the .ipa of the app (--program), and the model is put into it",
    trust=False,
)


@dataclass(slots=True)
class XCTestPhone:
    """A phone on which tests are run in one session.

    Attributes:
        client: Reaches it.
        udid: Its UDID.
        name: Its name in messages.
        sign: Command that signs an app again (`--ios-sign`); None without one.
        installed: Digest of what was installed, by bundle identifier.
    """

    client: PhoneClient
    udid: str
    name: str
    sign: str | None
    installed: dict[str, str] = field(default_factory=dict)


def run_tests_of(
    phone: XCTestPhone, command: Command, app: App, package: PackageInfo | None, files: Mapping[str, Path]
) -> Completed:
    """Run the tests of an app with files in its bundle.

    Args:
        phone: The phone.
        command: Its words are staged paths of the files that the tests need; its variables are those of the tests.
        app: The app, which names its tests.
        package: Its package; None runs what is installed, which then must have the files in it.
        files: Files of this machine by their staged paths.

    Returns:
        What the tests wrote, as of a program: exit status 0 if they passed, else words on standard error.

    Raises:
        BenchmarkFailed: The package is that of another app, has no such tests, or is damaged; a word is no file.
        BenchmarkUnsupported: The app is not installed.
        DeviceLost: The phone became unreachable, or does not answer.
        EnvironmentProblem: The app cannot be signed or installed, or the tests were not started at all.
    """
    if package is None:
        if app.package not in {listed.bundle for listed in phone.client.list_apps(phone.udid)}:
            raise BenchmarkUnsupported(
                f"{app.package} is not installed on {phone.name}", hint="install it, or give its .ipa as a program"
            )
    else:
        _check_package(app, package)
        _install(phone, package, BundledFiles(app.tests, _bundled_files(command, app, files)))
    start = XCTestStart(app.package, app.package, app.tests, env=command.env, timeout_s=command.timeout_s)
    crashes = CrashWatch(phone.client, phone.udid)
    crashes.begin()
    began = time.monotonic()
    end = phone.client.run_tests(phone.udid, start)
    wall_s = time.monotonic() - began
    if end.timed_out:
        with contextlib.suppress(EnvironmentProblem):
            phone.client.kill(phone.udid, app.package)
    crash = None
    if not end.timed_out and (end.problem or _TestLog.read(end.log).is_cut_off):
        crash = crashes.find(package.executable if package is not None else "")
    completed = judge(end, command, crash, wall_s=wall_s)
    return completed if package is not None else replace(completed, notes=(_UNKNOWN_MODEL,))


def judge(end: XCTestEnd, command: Command, crash: Crash | None = None, *, wall_s: float = 0.0) -> Completed:
    """Return how tests ended, as of a program.

    Args:
        end: What the client says of them, and what they wrote.
        command: The command that asked for them.
        crash: What the report of a crash says that was written meanwhile.
        wall_s: How long they took.
    """
    reasons = [] if end.timed_out else list(_reasons(end, crash))
    number = crash.signal if crash is not None else None
    if end.timed_out:
        number = SIGKILL
    has_failed = bool(reasons) or number is not None
    return Completed(
        command=command,
        exit_code=None if number is not None else int(has_failed),
        signal=number,
        timed_out=end.timed_out,
        stdout=end.log,
        stderr="".join(f"{reason}\n" for reason in reasons),
        wall_s=wall_s,
    )


@dataclass(slots=True)
class _TestLog:
    """What a log says of tests.

    Attributes:
        running: Tests that began and did not end.
        failed: Why tests failed, by test.
        has_ended: Whether any test came to its end.
        has_measured: Whether any test measured something.
    """

    running: dict[XCTestCase, None] = field(default_factory=dict)
    failed: dict[XCTestCase, str] = field(default_factory=dict)
    has_ended: bool = False
    has_measured: bool = False

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a log."""
        log = cls()
        for event in parse_log(text):
            if isinstance(event, CaseBegan):
                log.running[event.case] = None
            elif isinstance(event, CaseAsserted):
                log.failed.setdefault(event.case, event.message)
            elif isinstance(event, CaseMeasured):
                log.has_measured = True
            elif isinstance(event, CaseEnded):
                log.has_ended = True
                log.running.pop(event.case, None)
                if event.how == "failed":
                    log.failed.setdefault(event.case, f"after {event.seconds} s")
        return log

    @property
    def is_cut_off(self) -> bool:
        """True if it ends in the midst of a test, or before the first."""
        return bool(self.running) or not self.has_ended


def _reasons(end: XCTestEnd, crash: Crash | None) -> Iterator[str]:
    """Yield why tests did not pass; the last reason is the one that people read first."""
    log = _TestLog.read(end.log)
    if crash is not None:
        yield from crash.text.splitlines()
    if not log.has_measured:
        yield "no test measured anything" if end.log.strip() else "the tests wrote nothing"
    if end.problem:
        yield f"the tests did not come to their end: {end.problem}"
    named = {case.name for case in log.failed}
    silent = [test for test in end.failed if not any(name in test for name in named)]
    yield from [f"{test} failed" for test in silent[:_MOST_REASONS]]
    yield from [f"{case.name} failed: {why}" for case, why in list(log.failed.items())[:_MOST_REASONS]]
    for case in log.running:
        yield f"{'the app crashed' if crash is not None else 'the app ended'} while {case.name} ran"


def _check_package(app: App, package: PackageInfo) -> None:
    if package.bundle != app.package:
        raise BenchmarkFailed(
            f"{package.path} is the app {package.bundle}, and the benchmark names {app.package}",
            hint="give the .ipa of that app, or name this one as `package`",
        )
    if app.tests not in package.tests:
        there = f"it has {', '.join(package.tests)}" if package.tests else "it has none"
        raise BenchmarkFailed(
            f"{package.path} has no tests {app.tests}: {there}",
            hint="build the app for testing (`xcodebuild build-for-testing`): its tests are in its PlugIns then",
        )


def _bundled_files(command: Command, app: App, files: Mapping[str, Path]) -> Mapping[str, Path]:
    """Return the files that a command names, by their names in the bundle."""
    bundled: dict[str, Path] = {}
    for word in command.argv:
        name, path = PurePosixPath(word).name, files.get(word)
        if path is None:
            raise BenchmarkFailed(
                f"tests of Xcode take no arguments, and {word!r} is no file of the benchmark",
                hint=f"leave it out: {app.tests} finds its files in the bundle of the app",
            )
        if bundled.setdefault(name, path) != path:
            raise BenchmarkFailed(f"two files are named {name}, and a bundle has room for one", hint="rename one")
    return bundled


def _install(phone: XCTestPhone, package: PackageInfo, bundled: BundledFiles) -> None:
    """Install a package with files in it, unless this session did so already."""
    try:
        digest = bundled.digest(package)
    except OSError as error:
        raise EnvironmentProblem(f"cannot read {error.filename}: {error.strerror}") from error
    if phone.installed.get(package.bundle) == digest:
        return
    phone.installed.pop(package.bundle, None)
    with tempfile.TemporaryDirectory(prefix="harness-") as folder:
        phone.client.install(phone.udid, put_files(package, bundled, phone.sign, Path(folder)))
    phone.installed[package.bundle] = digest
