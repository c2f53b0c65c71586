"""Start of an app, waiting for what it leaves, and judging how it ended: iOS has no exit status.

A result with our mark is the end of a run. Without one, a process that is gone has crashed, and its crash report says
of what; a process that is still there when its time is over is ended.
"""

from __future__ import annotations

import contextlib
import json
import time
from typing import Final

from msgspec import Struct
from pydantic import ValidationError

from harness import shell
from harness.core.errors import BenchmarkFailed, EnvironmentProblem
from platforms.ios.apps.crash_watch import CrashWatch
from platforms.ios.apps.crashes import Crash
from platforms.ios.apps.pauses import growing_pauses
from platforms.ios.apps.protocol import LINKS, MARK, RESULT, SCHEMA, AppResult
from platforms.ios.files.reading import read_text
from platforms.ios.link.client import AppLaunch, PhoneClient

LOOKS_PER_CHECK: Final = 3
"""After so many looks in vain the process itself is asked for."""


class AppStart(Struct, frozen=True):
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

    def launch(self) -> AppLaunch:
        """Return what the client starts."""
        ours = {RESULT: self.result, MARK: self.mark} | ({} if self.links is None else {LINKS: self.links})
        return AppLaunch(self.bundle, self.arguments, {**self.env, **ours})


class AppEnd(Struct, frozen=True):
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
        crashes: Its crash reports.
    """

    def __init__(self, client: PhoneClient, udid: str, crashes: CrashWatch) -> None:
        self._client = client
        self._udid = udid
        self._crashes = crashes

    def run(self, start: AppStart) -> AppEnd:
        """Run an app to its end.

        Raises:
            BenchmarkFailed: Its result is not of the protocol's form.
            DeviceLost: The phone became unreachable.
            EnvironmentProblem: The phone refuses.
            BenchmarkUnsupported: It is not installed, or cannot be started in this way.
        """
        self._crashes.begin()
        began = time.monotonic()
        self._client.launch(self._udid, start.launch())
        try:
            text, is_gone = self._wait(start, began + start.timeout_s)
        except BaseException:
            with contextlib.suppress(EnvironmentProblem):
                self._client.kill(self._udid, start.bundle)
            raise
        wall_s = time.monotonic() - began
        if text is not None:
            result = parse_result(text, start)
            return AppEnd(result, *self._read_outputs(start, result), wall_s=result.wall_s)
        if not is_gone:
            self._client.kill(self._udid, start.bundle)
        crash = self._crashes.find(start.process) if is_gone else None
        return AppEnd(None, *self._read_outputs(start), wall_s=wall_s, timed_out=not is_gone, crash=crash)

    def _wait(self, start: AppStart, deadline: float) -> tuple[str | None, bool]:
        """Return the text of a result, or None when its time is over; and whether the process is gone without one."""
        for look, pause_s in enumerate(growing_pauses(), 1):
            shell.pause(max(0.0, min(pause_s, deadline - time.monotonic())))
            if (text := self._read(start, "")) is not None:
                return text, False
            if time.monotonic() >= deadline:
                return None, False
            if look % LOOKS_PER_CHECK == 0 and self._is_gone(start):
                text = self._read(start, "")  # it may have ended well between the two questions
                return text, text is None
        return None, False

    def _is_gone(self, start: AppStart) -> bool:
        return bool(start.process) and self._client.is_running(self._udid, start.process) is False

    def _read(self, start: AppStart, suffix: str) -> str | None:
        """Return what the app left: its result, or an output beside it; None if it is not there."""
        return read_text(self._client, self._udid, start.bundle, f"{start.result}{suffix}")

    def _read_outputs(self, start: AppStart, result: AppResult | None = None) -> tuple[str, str]:
        """Return what an app wrote, from its result where that has it: each file costs a call."""
        stdout, stderr = (None, None) if result is None else (result.stdout, result.stderr)
        if stdout is None:
            stdout = self._read(start, ".out") or ""
        if stderr is None:
            stderr = self._read(start, ".err") or ""
        return stdout, stderr


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
                hint="build the runner app of this version of the harness",
            )
        result = AppResult.model_validate(document)
    except (ValueError, RecursionError, ValidationError) as error:
        reason = str(error).splitlines()[0][:200]
        raise BenchmarkFailed(
            f"{start.bundle} left a result of another form than runner apps have: {reason}"
        ) from error
    if result.mark != start.mark:
        raise BenchmarkFailed(
            f"{start.bundle} left the result of another launch", hint="let the app repeat EDGE_HARNESS_MARK"
        )
    return result
