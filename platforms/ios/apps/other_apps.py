"""Apps that are not ours: started with arguments, and read by the file that they leave in their container."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness import shell
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkUnsupported
from platforms.ios.apps.crash_watch import CrashWatch
from platforms.ios.apps.launching import LOOKS_PER_CHECK, growing_pauses
from platforms.ios.link.client import InstalledApp, Launch, PhoneClient

_MOST_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class OtherApp:
    """An app that is installed, and does not speak the protocol of runner apps.

    Attributes:
        app: The app.
        result: Path of its result in its container; empty where the benchmark names none.
    """

    app: InstalledApp
    result: str


def run_other_app(client: PhoneClient, udid: str, command: Command, other: OtherApp, crashes: CrashWatch) -> Completed:
    """Start an app, and wait until its result stays the same for two readings.

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
    if _read(client, udid, app.bundle, result) is not None:  # a folder is refused here: removing takes all of it along
        client.remove(udid, app.bundle, result)
    crashes.begin()
    began = time.monotonic()
    client.launch(udid, Launch(app.bundle, command.argv, command.env))
    previous, text, is_gone = None, None, False
    for look, pause_s in enumerate(growing_pauses(), 1):
        shell.pause(max(0.0, min(pause_s, began + command.timeout_s - time.monotonic())))
        if look % LOOKS_PER_CHECK == 0 and app.executable:
            is_gone = client.is_running(udid, app.executable) is False
        previous, text = text, _read(client, udid, app.bundle, result)
        is_done = text is not None and (is_gone or text == previous)
        if is_done or is_gone or time.monotonic() - began >= command.timeout_s:
            break
    wall_s = time.monotonic() - began
    crash = crashes.find(app.executable) if is_gone and text is None else None
    client.kill(udid, app.bundle)
    if is_done:
        return Completed(command=command, exit_code=0, stdout=text or "", wall_s=wall_s)
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


def _read(client: PhoneClient, udid: str, bundle: str, remote: str) -> str | None:
    with tempfile.TemporaryDirectory(prefix="harness-") as folder:
        local = Path(folder, "result")
        try:
            client.pull(udid, bundle, remote, local)
        except FileNotFoundError:
            return None
        with local.open("rb") as file:
            return file.read(_MOST_BYTES).decode(errors="replace")
