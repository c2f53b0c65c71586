"""Apps that are not ours: started with arguments, and read by the file that they leave in their container."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Final

from harness import shell
from harness.core.app import App
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkUnsupported
from platforms.ios.link.client import Launch, PhoneClient

_POLL_S: Final = 2.0
_MOST_BYTES: Final = 64 << 20


def run_other_app(client: PhoneClient, udid: str, command: Command, app: App) -> Completed:
    """Start an app, and wait until its result stays the same for two readings.

    Raises:
        BenchmarkUnsupported: The benchmark names no result.
        DeviceLost: The phone became unreachable.
        EnvironmentProblem: The phone refuses, or the result is a folder, of which nothing is touched.
    """
    if not app.result:
        raise BenchmarkUnsupported(
            f"the app {app.package} names no file with its result, and iOS has no exit status",
            hint='add `"result": "Documents/..."` to its `app`',
        )
    if _read(client, udid, app) is not None:  # a folder is refused here: removing takes everything in it along
        client.remove(udid, app.package, app.result)
    began = time.monotonic()
    client.launch(udid, Launch(app.package, command.argv, command.env))
    previous, text = None, None
    while time.monotonic() - began < command.timeout_s:
        shell.pause(_POLL_S)
        previous, text = text, _read(client, udid, app)
        if text is not None and text == previous:
            break
    is_done = text is not None and text == previous
    client.kill(udid, app.package)
    return Completed(
        command=command,
        exit_code=0 if is_done else None,
        timed_out=not is_done,
        stdout=text or "",
        wall_s=time.monotonic() - began,
    )


def _read(client: PhoneClient, udid: str, app: App) -> str | None:
    with tempfile.TemporaryDirectory(prefix="harness-") as folder:
        local = Path(folder, "result")
        try:
            client.pull(udid, app.package, app.result, local)
        except FileNotFoundError:
            return None
        with local.open("rb") as file:
            return file.read(_MOST_BYTES).decode(errors="replace")
