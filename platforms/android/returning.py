"""Waiting for a phone that went away: unplugged, restarted, or behind an adb server that was."""

from __future__ import annotations

import contextlib
import time
from typing import Final

from harness import shell
from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.core.protocols import Progress
from platforms.android.phone import Phone

_LEAVE_S: Final = 60.0
"""How long a phone may take to go down."""
_POLL_S: Final = 0.5
_READY: Final = 'echo "$(getprop sys.boot_completed) $(getprop ro.serialno)"'


def wait(phone: Phone, serialno: str, timeout_s: float, progress: Progress) -> None:
    """Wait until the same phone is there and has started.

    Args:
        phone: The phone.
        serialno: Its `ro.serialno`, as it was when it was found; empty where it has none.
        timeout_s: For how long.
        progress: Told that it waits.

    Raises:
        DeviceLost: It does not come back in time, or another has taken its place.
        Interrupted: The harness is being stopped.
    """
    started = time.monotonic()
    with progress.task(f"{phone.name}: waiting for its return", timeout_s) as task:
        while not _is_there(phone, serialno):
            waited_s = time.monotonic() - started
            if waited_s >= timeout_s:
                raise DeviceLost(
                    f"{phone.name} did not come back within {timeout_s:.0f} s",
                    hint="check cable and power, or give it more time (--return_timeout)",
                )
            task.update(completed=waited_s)
            shell.pause(_POLL_S)


def restart(phone: Phone, serialno: str, timeout_s: float, progress: Progress) -> None:
    """Restart it and wait for it.

    Raises:
        DeviceLost: It does not come back in time.
        EnvironmentProblem: It does not restart.
        Interrupted: The harness is being stopped.
    """
    phone.reboot()
    down = shell.patiently(lambda: phone.server.state(phone.serial) != "device", _LEAVE_S)
    if not down:
        raise EnvironmentProblem(f"{phone.name} does not restart", hint="leave --reboot out")
    wait(phone, serialno, timeout_s, progress)


def _is_there(phone: Phone, serialno: str) -> bool:
    booted, _, found = _asked(phone).partition(" ")
    if booted == "1" and found != serialno:
        raise DeviceLost(f"another phone is now where {phone.name} was", hint="plug the right one in")
    return booted == "1"


def _asked(phone: Phone) -> str:
    """What it says of itself; nothing while it is not there."""
    with contextlib.suppress(EnvironmentProblem):  # the server may be restarting, and the phone
        if phone.server.state(phone.serial) == "device":
            return phone.sh(_READY, timeout_s=5.0).stdout.strip()
        if phone.over_network:
            phone.server.connect(phone.serial)
    return ""
