"""Apps that are not ours: started with arguments, and read by the file that they leave in their container."""

from __future__ import annotations

import time
from typing import Final

from msgspec import Struct

from harness import shell
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkUnsupported
from platforms.ios.apps.crash_watch import CrashWatch
from platforms.ios.apps.launching import LOOKS_PER_CHECK
from platforms.ios.apps.pauses import growing_pauses
from platforms.ios.files.reading import read_text
from platforms.ios.link.client import AppLaunch, InstalledApp, PhoneClient

_STABLE_S: Final = 2.0
"""Time between two readings of a result that must be the same: an app may write it in pieces."""


class OtherApp(Struct, frozen=True):
    """An app that is installed, and does not speak the protocol of runner apps.

    Attributes:
        app: The app.
        result: Path of its result in its container; empty where the benchmark names none.
    """

    app: InstalledApp
    result: str


def run_other_app(client: PhoneClient, udid: str, command: Command, other: OtherApp, crashes: CrashWatch) -> Completed:
    """Start an app, and wait until its result stays the same for two seconds, or the app is gone.

    Args:
        client: Reaches the phone.
        udid: UDID of the phone.
        command: Its arguments, environment and time limit.
        other: The app.
        crashes: Crash reports of the phone.

    Raises:
        BenchmarkUnsupported: The benchmark names no result.
        DeviceLost: The phone became unreachable.
        EnvironmentProblem: The phone refuses, or the result is a folder, of which nothing is touched.
    """
    app, result = other.app, other.result
    if not result:
        raise BenchmarkUnsupported(
            f"the app {app.bundle} names no file with its result, and iOS has no exit status",
            hint='add `"result": "Documents/..."` to its `app`',
        )
    # Reading refuses a folder, which would be removed with everything in it.
    if read_text(client, udid, app.bundle, result) is not None:
        client.remove(udid, app.bundle, result)
    crashes.begin()
    began = time.monotonic()
    client.launch(udid, AppLaunch(app.bundle, command.argv, command.env))
    previous, text, is_gone = None, None, False
    for look, pause_s in enumerate(growing_pauses(), 1):
        wanted_s = pause_s if text is None else max(pause_s, _STABLE_S)
        shell.pause(max(0.0, min(wanted_s, began + command.timeout_s - time.monotonic())))
        previous, text = text, read_text(client, udid, app.bundle, result)
        is_stable = text is not None and text == previous
        if app.executable and (is_stable or look % LOOKS_PER_CHECK == 0):
            is_gone = client.is_running(udid, app.executable) is False
        if is_stable or is_gone or time.monotonic() - began >= command.timeout_s:
            break
    wall_s = time.monotonic() - began
    if is_gone:  # it may have ended well between the two questions, or crashed in the midst of its result
        text = read_text(client, udid, app.bundle, result)
    crash = crashes.find(app.executable) if is_gone else None
    client.kill(udid, app.bundle)
    if crash is None and text is not None and (is_stable or is_gone):
        return Completed(command=command, exit_code=0, stdout=text, wall_s=wall_s)
    number = crash.signal if crash is not None else None
    reason = "" if not is_gone else crash.text if crash is not None else "it left neither its result nor a crash report"
    return Completed(
        command=command,
        exit_code=1 if is_gone and number is None else None,
        signal=number,
        timed_out=not is_gone,
        stdout=text or "",
        stderr=reason,
        wall_s=wall_s,
    )
