"""Waiting for a phone that became unreachable: unplugged, restarted, or with its adb server restarted."""

from __future__ import annotations

import contextlib
import time
from typing import Final

from harness import shell
from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.core.protocols import Progress
from platforms.android.link.phone import Phone
from platforms.android.link.protocol import ANSWER_S

_LEAST_S: Final = 1.0
"""Time to answer for a phone that is there, however little is left."""
_GLANCE_S: Final = 5.0
"""Time to answer for a phone that was lost, when all that is left is to restore it."""
_SHUTDOWN_S: Final = 60.0
"""Time for a phone to shut down."""
_POLL_S: Final = 0.5
_PORT: Final = "getprop persist.adb.tcp.port"
"""Port of adbd that survives a restart; that of `adb tcpip` and of wireless debugging does not."""
_BOOTED: Final = 'echo "$(getprop sys.boot_completed) $(getprop ro.serialno)"'


def wait_for_return(phone: Phone, serialno: str, timeout_s: float, progress: Progress) -> None:
    """Wait until the same phone is connected and has started.

    Args:
        phone: The phone.
        serialno: Its `ro.serialno` when it was listed; empty where it has none.
        timeout_s: How long to wait.
        progress: Shows the waiting.

    Raises:
        DeviceLost: It does not return in time, or another has taken its place.
        Interrupted: The harness is being stopped.
    """
    started = time.monotonic()
    remaining_s = timeout_s
    with progress.task(f"{phone.name}: waiting for its return", timeout_s) as task:
        while not _has_returned(phone, serialno, max(_LEAST_S, remaining_s)):
            remaining_s = started + timeout_s - time.monotonic()
            if remaining_s <= 0:
                raise DeviceLost(
                    f"{phone.name} did not come back within {timeout_s:.0f} s",
                    hint="check cable and power, or give it more time (--return-timeout)",
                )
            task.update(completed=timeout_s - remaining_s)
            shell.pause(min(_POLL_S, remaining_s))


def restart(phone: Phone, serialno: str, timeout_s: float, progress: Progress) -> None:
    """Restart a phone and wait for its return.

    Raises:
        DeviceLost: It does not return in time.
        EnvironmentProblem: It does not restart, or could not be reached afterwards.
        Interrupted: The harness is being stopped.
    """
    port = phone.sh(_PORT).stdout.strip() if phone.over_network else ""
    if phone.over_network and not (port.isdigit() and int(port) > 0):
        raise EnvironmentProblem(
            f"{phone.name} is reached over the network, and would not be after a restart",
            hint="plug it in, or leave out --reboot",
        )
    phone.reboot()
    is_down = shell.poll_until(lambda: phone.server.state(phone.serial) != "device", _SHUTDOWN_S)
    if not is_down:
        raise EnvironmentProblem(f"{phone.name} does not restart", hint="leave out --reboot")
    wait_for_return(phone, serialno, timeout_s, progress)


def is_reachable(phone: Phone) -> bool:
    """Return whether a phone answers within a few seconds."""
    return bool(_ask(phone, _GLANCE_S))


def _has_returned(phone: Phone, serialno: str, limit_s: float) -> bool:
    booted, _, present_serialno = _ask(phone, limit_s).partition(" ")
    if booted == "1" and present_serialno != serialno:
        raise DeviceLost(f"another phone is now where {phone.name} was", hint="plug the right one in")
    return booted == "1"


def _ask(phone: Phone, limit_s: float) -> str:
    """Return the output of `_BOOTED`; nothing while the phone is unreachable."""
    with contextlib.suppress(EnvironmentProblem):  # the server may be restarting, and the phone
        if phone.server.state(phone.serial) == "device":
            with phone.limit_time(limit_s):
                return phone.sh(_BOOTED, timeout_s=5.0).stdout.strip()
        if phone.over_network:
            phone.server.connect(phone.serial, min(limit_s, ANSWER_S))
    return ""
