"""A private adb server: its own port, its own keys, no devices but stand-in phones."""

from __future__ import annotations

import contextlib
import importlib.resources
import secrets
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import harness
from harness import shell
from harness.core.command import Command
from harness.testing.phones import StandInUnavailable
from harness.testing.phones.android import supervisor

_START_S: Final = 20.0
_END_S: Final = 10.0
_NO_DISCOVERY: Final = {"ADB_MDNS": "0", "ADB_USB": "0", "ADB_EMU": "0"}
"""No search for other devices (packages/modules/adb/client/main.cpp): real ones are not ours, and it takes seconds."""
_PORTS: Final = range(16_384, 32_768)
"""Below the ephemeral ports of Linux (Documentation/networking/ip-sysctl.rst, `ip_local_port_range`): another program
could be given one of those before it is used, or while the phone that listened there is unplugged."""


@contextlib.contextmanager
def serve(home: Path) -> Iterator[int]:
    """Run an adb server until the context ends. Yields its port on 127.0.0.1.

    Args:
        home: Folder for its keys.

    Raises:
        StandInUnavailable: There is no adb, or it does not start.
    """
    port = _free_port()
    variables = {name: str(home) for name in ("HOME", "ANDROID_USER_HOME", "TMPDIR")} | _NO_DISCOVERY
    variables["PYTHONPATH"] = str(Path(harness.__file__).parent.parent)
    argv = (sys.executable, "-S", "-s", "-m", supervisor.__name__, str(port), str(home), str(find_adb()))
    with shell.start(Command(argv, env=variables, timeout_s=_END_S), tidies_up=True) as process:
        if not shell.poll_until(lambda: _answers(port), _START_S):
            raise StandInUnavailable(f"no adb server starts: {process.finish().describe()}")
        try:
            yield port
        finally:
            with contextlib.suppress(shell.Interrupted):  # then it was killed
                process.finish()


def connect(port: int, serial: str) -> None:
    """Let the adb server look for a phone at `HOST:PORT`, whether there is one or not."""
    with contextlib.suppress(OSError):
        supervisor.query(port, f"host:connect:{serial}")


def list_states(port: int) -> dict[str, str]:
    """Return the state of each phone by serial: `device`, `offline`, `unauthorized`.

    Raises:
        OSError: There is no adb server.
    """
    lines = supervisor.query(port, "host:devices").splitlines()
    return dict(line.split("\t", 1) for line in lines if "\t" in line)


def kill(port: int) -> None:
    """End the adb server that listens there, if one does."""
    with contextlib.suppress(OSError):
        supervisor.query(port, "host:kill")


def find_adb() -> Path:
    """Return the adb of `PATH`, or the one that comes with adbutils.

    Raises:
        StandInUnavailable: There is neither.
    """
    if (installed := shutil.which("adb")) is not None:
        return Path(installed)
    bundled = Path(str(importlib.resources.files("adbutils.binaries") / "adb"))
    if not bundled.exists():
        raise StandInUnavailable("there is no adb, and adbutils brings none for this machine", hint="install adb")
    return bundled


def choose_port() -> int:
    """Return a random port that no program is given by chance. It may be in use all the same."""
    return secrets.choice(_PORTS)


def _free_port() -> int:
    while True:
        port = choose_port()
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _answers(port: int) -> bool:
    try:
        return supervisor.query(port, "host:version").isalnum()
    except OSError:
        return False
