"""Start of an app, waiting for what it leaves, and judging how it ended: iOS has no exit status.

A result with our mark is the end of a run. Without one, a process that is gone has crashed, and its crash report says
of what; a process that is still there when its time is over is ended.
"""

from __future__ import annotations

import contextlib
import json
import math
import tempfile
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from harness import shell
from harness.core.errors import BenchmarkFailed, EnvironmentProblem
from platforms.ios.apps.crashes import Crash, parse_crash
from platforms.ios.apps.protocol import LINKS, MARK, RESULT, SCHEMA, AppResult
from platforms.ios.link.client import CrashReport, Launch, PhoneClient

FIRST_PAUSE_S: Final = 0.3
LONGEST_PAUSE_S: Final = 5.0
"""Pauses between two looks for a result grow from the first to the latter: each look wakes the phone for a moment."""
_GROWTH: Final = 1.5
_LOOKS_PER_CHECK: Final = 3
"""After so many looks in vain the process itself is asked for."""
_CRASH_S: Final = 10.0
"""Time that iOS may take to write a crash report."""
_MOST_OUTPUT: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class AppStart:
    """An app that is to be started.

    Attributes:
        bundle: Its bundle identifier.
        process: Name of its process; empty where the client does not tell it (devicectl, of apps without package).
        arguments: Its arguments.
        env: Variables added to its environment.
        timeout_s: Wall-clock limit.
        result: Path in the container at which it leaves its result; the outputs are beside it.
        links: Path in the container of the list of links; None without files.
        mark: Word that no other result has.
    """

    bundle: str
    process: str
    arguments: tuple[str, ...]
    env: dict[str, str]
    timeout_s: float
    result: str
    links: str | None
    mark: str

    def launch(self) -> Launch:
        """Return what the client starts."""
        ours = {RESULT: self.result, MARK: self.mark} | ({} if self.links is None else {LINKS: self.links})
        return Launch(self.bundle, self.arguments, {**self.env, **ours})


@dataclass(frozen=True, slots=True)
class AppEnd:
    """How an app ended.

    Attributes:
        result: What it left; None if it left nothing.
        stdout: Its standard output.
        stderr: Its standard error.
        wall_s: Seconds from its start until its end was seen, which is later than its end.
        timed_out: Whether it was ended because its time was over.
        crash: What its crash report says; None without one.
    """

    result: AppResult | None
    stdout: str
    stderr: str
    wall_s: float
    timed_out: bool = False
    crash: Crash | None = None


class AppStarter:
    """Starts apps on one phone, and waits for their ends.

    Args:
        client: Reaches the phone.
        udid: Its UDID.
    """

    def __init__(self, client: PhoneClient, udid: str) -> None:
        self._client = client
        self._udid = udid
        self._known_crashes: frozenset[str] | None = None

    def run(self, start: AppStart) -> AppEnd:
        """Run an app to its end.

        Raises:
            BenchmarkFailed: Its result is not of the protocol's form.
            DeviceLost: The phone became unreachable.
            EnvironmentProblem: The phone refuses.
            BenchmarkUnsupported: It is not installed, or cannot be started in this way.
        """
        if self._known_crashes is None:
            self._known_crashes = frozenset(report.name for report in self._list_crashes())
        began = time.monotonic()
        self._client.launch(self._udid, start.launch())
        try:
            text = self._wait(start, began + start.timeout_s)
        except BaseException:
            with contextlib.suppress(EnvironmentProblem):
                self._client.kill(self._udid, start.bundle)
            raise
        wall_s = time.monotonic() - began
        if text is not None:
            result = parse_result(text, start)
            return AppEnd(result, *self._read_outputs(start, result), wall_s=result.wall_s)
        timed_out = wall_s >= start.timeout_s
        if timed_out:
            self._client.kill(self._udid, start.bundle)
        crash = None if timed_out else self._find_crash(start)
        return AppEnd(None, *self._read_outputs(start), wall_s=wall_s, timed_out=timed_out, crash=crash)

    def _wait(self, start: AppStart, deadline: float) -> str | None:
        """Return the text of a result, or None when the process is gone or its time is over."""
        for look, pause_s in enumerate(_pauses(), 1):
            shell.pause(max(0.0, min(pause_s, deadline - time.monotonic())))
            if (text := self._read(start, start.result)) is not None:
                return text
            if time.monotonic() >= deadline:
                return None
            if look % _LOOKS_PER_CHECK == 0 and self._is_gone(start):
                return self._read(start, start.result)  # it may have ended well between the two questions
        return None

    def _is_gone(self, start: AppStart) -> bool:
        return bool(start.process) and self._client.is_running(self._udid, start.process) is False

    def _read_outputs(self, start: AppStart, result: AppResult | None = None) -> tuple[str, str]:
        """Return what an app wrote, from its result where that has it: each file costs a call."""
        stdout, stderr = (None, None) if result is None else (result.stdout, result.stderr)
        if stdout is None:
            stdout = self._read(start, f"{start.result}.out") or ""
        if stderr is None:
            stderr = self._read(start, f"{start.result}.err") or ""
        return stdout, stderr

    def _read(self, start: AppStart, remote: str) -> str | None:
        """Return the text of a file in the container; None if there is none."""
        with tempfile.TemporaryDirectory(prefix="harness-") as folder:
            local = Path(folder, "file")
            try:
                self._client.pull(self._udid, start.bundle, remote, local)
            except FileNotFoundError:
                return None
            with local.open("rb") as file:
                return file.read(_MOST_OUTPUT).decode(errors="replace")

    def _list_crashes(self) -> Collection[CrashReport]:
        return self._client.list_crash_reports(self._udid)

    def _find_crash(self, start: AppStart) -> Crash | None:
        """Return what the report of a crash that just happened says; None if iOS writes none."""
        found: list[CrashReport] = []

        def is_there() -> bool:
            known = self._known_crashes or frozenset()
            reports = self._list_crashes()
            found.extend(report for report in reports if report.name not in known and report.process == start.process)
            return bool(found)

        shell.poll_until(is_there, _CRASH_S)
        if not found:
            return None
        self._known_crashes = (self._known_crashes or frozenset()) | {report.name for report in found}
        return parse_crash(self._client.read_crash_report(self._udid, found[-1]))


def parse_result(text: str, start: AppStart) -> AppResult:
    """Parse the result of a runner app.

    Raises:
        BenchmarkFailed: It has another form, or is that of another launch.
    """
    try:
        document = json.loads(text)
        version = document.get("schema_version") if isinstance(document, dict) else None
        if version != SCHEMA:
            raise BenchmarkFailed(
                f"{start.bundle} writes results of version {version!r}, and version {SCHEMA} is read here",
                hint="build the app of this version of the harness (docs/ios.md)",
            )
        result = AppResult.model_validate(document)
    except (ValueError, RecursionError, ValidationError) as error:
        reason = str(error).splitlines()[0][:200]
        raise BenchmarkFailed(
            f"{start.bundle} left a result that is not of the form in docs/ios.md: {reason}"
        ) from error
    if result.mark != start.mark:
        raise BenchmarkFailed(
            f"{start.bundle} left the result of another launch", hint="let the app repeat EDGE_HARNESS_MARK"
        )
    return result


def _pauses() -> Iterator[float]:
    pause_s = FIRST_PAUSE_S
    while math.isfinite(pause_s):
        yield pause_s
        pause_s = min(LONGEST_PAUSE_S, pause_s * _GROWTH)
