"""A private adb server: its own port, its own keys, no devices but ours."""

from __future__ import annotations

import contextlib
import importlib.resources
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import harness
from harness import shell
from harness.core.command import Command
from harness.testing.phones import ports
from harness.testing.phones.android.supervisor import ask
from harness.testing.phones.unavailable import StandInUnavailable

_START_S: Final = 20.0
_END_S: Final = 10.0
_ALONE: Final = {"ADB_MDNS": "0", "ADB_USB": "0", "ADB_EMU": "0"}
"""No search for other devices (packages/modules/adb/client/main.cpp): real ones are not ours, and it takes seconds."""


@contextlib.contextmanager
def serving(home: Path) -> Iterator[int]:
    """Run an adb server for as long as the context lasts. Gives its port on 127.0.0.1.

    Args:
        home: Folder where it keeps its keys.

    Raises:
        StandInUnavailable: There is no adb, or it does not start.
    """
    port = _free_port()
    variables = {name: str(home) for name in ("HOME", "ANDROID_USER_HOME", "TMPDIR")}
    variables["PYTHONPATH"] = str(Path(harness.__file__).parent.parent)
    keeper = (sys.executable, "-S", "-s", "-m", "harness.testing.phones.android.supervisor", str(port), str(home))
    command = Command((*keeper, str(_program())), env=variables | _ALONE, timeout_s=_END_S)
    with shell.start(command) as process:
        if not shell.poll_until(lambda: answers(port), _START_S):
            raise StandInUnavailable(f"no adb server starts: {process.finish().describe()}")
        try:
            yield port
        finally:
            with contextlib.suppress(shell.Interrupted):  # then it was killed
                process.finish()


def answers(port: int) -> bool:
    """Whether an adb server listens there."""
    try:
        return ask(port, "host:version").isalnum()
    except OSError:
        return False


def connect(port: int, serial: str) -> None:
    """Let the adb server look for a phone at `HOST:PORT`, without saying whether it found one."""
    with contextlib.suppress(OSError):
        ask(port, f"host:connect:{serial}")


def states(port: int) -> dict[str, str]:
    """What the adb server says about each phone, by serial: `device`, `offline`, `unauthorized`.

    Raises:
        OSError: There is no adb server.
    """
    lines = ask(port, "host:devices").splitlines()
    return dict(line.split("\t", 1) for line in lines if "\t" in line)


def kill(port: int) -> None:
    """End the adb server that listens there, if one does."""
    with contextlib.suppress(OSError):
        ask(port, "host:kill")


def _program() -> Path:
    """The adb of `PATH`, or the one that comes with adbutils."""
    if (found := shutil.which("adb")) is not None:
        return Path(found)
    bundled = Path(str(importlib.resources.files("adbutils.binaries") / "adb"))
    if not bundled.exists():
        raise StandInUnavailable("there is no adb, and adbutils brings none for this machine", hint="install adb")
    return bundled


def _free_port() -> int:
    while True:
        port = ports.chosen()
        with socket.socket() as any_socket, contextlib.suppress(OSError):
            any_socket.bind(("127.0.0.1", port))
            return port
