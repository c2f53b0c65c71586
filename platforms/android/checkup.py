"""What of adb is there, and what stands between us and each phone."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from harness import shell
from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.core.protocols import Finding
from platforms.android import devices
from platforms.android.link.adb import AdbServer, Listed, adb_program
from platforms.android.link.phone import Phone

_REMEDIES: Final = {
    "unauthorized": 'unlock it and answer "Allow USB debugging?" with yes',
    "offline": "plug it in again, or restart it",
    "no permissions": "add udev rules for it (Debian: apt install android-sdk-platform-tools-common); plug it in again",
    "recovery": "restart it into Android",
    "sideload": "restart it into Android",
    "bootloader": "restart it into Android",
    "absent": "check the cable; `adb devices` lists what it sees",
}
"""By how a state begins: some go on with details in brackets."""
_AT_ONCE: Final = 32


def unusable(serial: str, state: str) -> EnvironmentProblem:
    """Why a phone in this state (of `adb devices`) cannot be used."""
    if state == "absent":
        return DeviceLost(f"{serial} is no longer there", hint=_remedy(state))
    return EnvironmentProblem(f"{serial} cannot be used: {state}", hint=_remedy(state))


def findings(server: AdbServer) -> Sequence[Finding]:
    """Everything that is needed. Never raises; bounded in time, because each phone is."""
    program = adb_program()
    version = (shell.read_output((str(program), "version"), timeout_s=10.0) or "").splitlines() if program else []
    told = f"{program} ({version[0]})" if version else str(program)
    found = [Finding("adb", bool(version), told, "install Android's platform-tools")]
    try:
        listed = server.listed()
        found.append(Finding("adb server", True, f"{server.name}, protocol {server.version()}"))
    except EnvironmentProblem as error:
        return (*found, Finding("adb server", False, error.message, error.hint or ""))
    if not listed:
        found.append(Finding("phones", None, "none", "plug one in and allow USB debugging in its developer options"))
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        found.extend(pool.map(lambda one: _phone(server, one), listed))
    return tuple(found)


def _phone(server: AdbServer, listed: Listed) -> Finding:
    if listed.state != "device":
        return Finding(listed.serial, False, listed.state, _remedy(listed.state))
    try:
        device = devices.describe(Phone(server, listed.serial))
    except EnvironmentProblem as error:
        return Finding(listed.serial, False, error.message, error.hint or "")
    return Finding(listed.serial, True, f"{device.kind}, {device.os}, {device.abi}")


def _remedy(state: str) -> str:
    return next((remedy for start, remedy in _REMEDIES.items() if state.startswith(start)), "see `adb devices`")
