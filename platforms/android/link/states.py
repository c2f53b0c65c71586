"""States in which a phone cannot be used, as `adb devices` names them and as the harness finds them, with remedies."""

from __future__ import annotations

from typing import Final

from harness.core.device import DeviceStatus

ABSENT: Final = "absent"
"""The adb server does not see it."""
BOOTING: Final = "booting"
"""adb reaches it, and Android has not started yet."""
UNRESPONSIVE: Final = "not answering"
"""The adb server lists it, and it does not answer, or was gone a moment later."""
UNNAMED: Final = "without a serial number"
"""The adb server lists it, and has no name by which it could be asked for it."""

_REMEDIES: Final = {
    "unauthorized": 'unlock it and answer "Allow USB debugging?" with yes',
    "authorizing": 'unlock it and answer "Allow USB debugging?" with yes',
    "connecting": "wait a moment; plug it in again if it stays so",
    "offline": "plug it in again, restart it, or run `adb reconnect offline`",
    "no permissions": "add udev rules for it (Debian: apt install android-sdk-platform-tools-common); plug it in again",
    "recovery": "restart it into Android",
    "rescue": "restart it into Android",
    "sideload": "restart it into Android",
    "bootloader": "restart it into Android",
    BOOTING: "wait until Android has started",
    UNRESPONSIVE: "plug it in again, or restart it",
    UNNAMED: "reach it over the network (`adb -d tcpip 5555`, `adb connect ADDRESS`)",
    ABSENT: "check the cable; `adb devices` lists what it sees",
}
"""By the beginning of a state: some continue with details in brackets."""
_PERMANENT: Final = ("no permissions", "recovery", "rescue", "sideload", "bootloader", UNNAMED)
"""States that a phone stays in until somebody acts at a keyboard."""


def remedy_of(state: str) -> str:
    """Return what to do about a phone in this state."""
    return next((remedy for start, remedy in _REMEDIES.items() if state.startswith(start)), "see `adb devices`")


def unusable_status(serial: str, state: str) -> DeviceStatus:
    """Return the status of a phone that cannot be used in this state."""
    return DeviceStatus(name=serial, state=state, remedy=remedy_of(state), may_return=not state.startswith(_PERMANENT))
