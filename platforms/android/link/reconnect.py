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
from platforms.android.link.states import ABSENT, BOOTING, UNRESPONSIVE, remedy_of

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


def wait_until_usable(phone: Phone, serialno: str, timeout_s: float, progress: Progress) -> None:
    """Wait for a phone that was listed a while ago, and may have gone since; return at once when it has not.

    Arguments and errors as for `wait_for_return`.
    """
    state = _find_state(phone, serialno, max(_LEAST_S, timeout_s))
    if state is not None:
        progress.say(f"{phone.name} is {state} ({remedy_of(state)}): waiting at most {timeout_s:.0f} s for it")
        wait_for_return(phone, serialno, timeout_s, progress)


def wait_for_return(phone: Phone, serialno: str, timeout_s: float, progress: Progress) -> None:
    """Wait until the same phone is connected and has started.

    Args:
        phone: The phone.
        serialno: Its `ro.serialno` when it was listed; empty where it has none.
        timeout_s: How long to wait.
        progress: Shows the waiting, and the state that the phone is in.

    Raises:
        DeviceLost: It does not return in time, or another has taken its place.
        Interrupted: The harness is being stopped.
    """
    started = time.monotonic()
    remaining_s = timeout_s
    with progress.task(f"{phone.name}: waiting for its return", timeout_s) as task:
        while (state := _find_state(phone, serialno, max(_LEAST_S, remaining_s))) is not None:
            remaining_s = started + timeout_s - time.monotonic()
            if remaining_s <= 0:
                raise DeviceLost(
                    f"{phone.name} did not come back within {timeout_s:.0f} s: it is {state}",
                    hint=f"{remedy_of(state)}; or give it more time (--return-timeout)",
                )
            text = f"{phone.name}: waiting for its return, it is {state}"
            task.update(completed=timeout_s - remaining_s, text=text)
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
    return bool(_ask(phone, _GLANCE_S)[1])


def _find_state(phone: Phone, serialno: str, limit_s: float) -> str | None:
    """Return the state for which a phone cannot be used now; None when it can.

    Raises:
        DeviceLost: Another phone has taken its place.
    """
    state, answer = _ask(phone, limit_s)
    if state != "device":
        return state
    booted, _, present_serialno = answer.partition(" ")
    if booted == "1" and present_serialno != serialno:
        raise DeviceLost(f"another phone is now where {phone.name} was", hint="plug the right one in")
    return None if booted == "1" else BOOTING if answer else UNRESPONSIVE


def _ask(phone: Phone, limit_s: float) -> tuple[str, str]:
    """Return the state of a phone in the server's list, and the output of `_BOOTED`, empty while it is unreachable."""
    state = ABSENT
    with contextlib.suppress(EnvironmentProblem):  # the server may be restarting, and the phone
        state = phone.server.state(phone.serial)
        if state == "device":
            with phone.limit_time(limit_s):
                return state, phone.sh(_BOOTED, timeout_s=5.0).stdout.strip()
        if phone.over_network:
            phone.server.connect(phone.serial, min(limit_s, ANSWER_S))
    return state, ""
