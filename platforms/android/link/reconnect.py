"""Waiting for a phone that went away: unplugged, restarted, or behind an adb server that was."""

from __future__ import annotations

import contextlib
import time
from typing import Final

from harness import shell
from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.core.protocols import Progress
from platforms.android.link.connection import ANSWER_S
from platforms.android.link.phone import Phone

_LEAST_S: Final = 1.0
"""What a phone that is there gets to say so, however little time is left."""
_GLANCE_S: Final = 5.0
"""How long a phone that was lost may take to say that it is there, when all that is left is to put things back."""
_LEAVE_S: Final = 60.0
"""How long a phone may take to go down."""
_POLL_S: Final = 0.5
_PORT: Final = "getprop persist.adb.tcp.port"
"""Where adbd listens after a restart too; what `adb tcpip` and wireless debugging switch on ends with it."""
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
    left_s = timeout_s
    with progress.task(f"{phone.name}: waiting for its return", timeout_s) as task:
        while not _is_there(phone, serialno, max(_LEAST_S, left_s)):
            left_s = started + timeout_s - time.monotonic()
            if left_s <= 0:
                raise DeviceLost(
                    f"{phone.name} did not come back within {timeout_s:.0f} s",
                    hint="check cable and power, or give it more time (--return_timeout)",
                )
            task.update(completed=timeout_s - left_s)
            shell.pause(min(_POLL_S, left_s))


def restart(phone: Phone, serialno: str, timeout_s: float, progress: Progress) -> None:
    """Restart it and wait for it.

    Raises:
        DeviceLost: It does not come back in time.
        EnvironmentProblem: It does not restart, or could not be reached afterwards.
        Interrupted: The harness is being stopped.
    """
    if phone.over_network and _number(phone.sh(_PORT).stdout) <= 0:
        raise EnvironmentProblem(
            f"{phone.name} is reached over the network, and would not be after a restart",
            hint="plug it in, or leave --reboot out",
        )
    phone.reboot()
    down = shell.poll_until(lambda: phone.server.state(phone.serial) != "device", _LEAVE_S)
    if not down:
        raise EnvironmentProblem(f"{phone.name} does not restart", hint="leave --reboot out")
    wait(phone, serialno, timeout_s, progress)


def answers(phone: Phone) -> bool:
    """Whether it is there, at a glance."""
    return bool(_asked(phone, _GLANCE_S))


def _is_there(phone: Phone, serialno: str, limit_s: float) -> bool:
    booted, _, found = _asked(phone, limit_s).partition(" ")
    if booted == "1" and found != serialno:
        raise DeviceLost(f"another phone is now where {phone.name} was", hint="plug the right one in")
    return booted == "1"


def _asked(phone: Phone, limit_s: float) -> str:
    """What it says of itself; nothing while it is not there."""
    with contextlib.suppress(EnvironmentProblem):  # the server may be restarting, and the phone
        if phone.server.state(phone.serial) == "device":
            with phone.within(limit_s):
                return phone.sh(_READY, timeout_s=5.0).stdout.strip()
        if phone.over_network:
            phone.server.connect(phone.serial, min(limit_s, ANSWER_S))
    return ""


def _number(text: str) -> int:
    return int(text) if text.strip().isdigit() else 0
