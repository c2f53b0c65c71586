"""Devices to measure on: those that were asked for, waited for where they cannot be used yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Final

from msgspec import Struct

from harness import shell
from harness.core.device import READY, Device, DeviceStatus
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import DeviceListing, Platform, Progress

ALL: Final = "all"
"""Stands for every device in place of a name."""

_POLL_S: Final = 2.0
_MISSING: Final = DeviceStatus(name="", state="absent", remedy="check its cable, its power and its name")


class DeviceRequest(Struct, frozen=True):
    """Devices that a command asks for.

    Attributes:
        wanted: Identities or names, or `all`; empty means the first (or only) device.
        excluded: Identities or names never to use.
        every: Whether to use every device when none was named.
        timeout_s: How long to wait for devices that cannot be used yet.
        is_known: Whether a device of this name was measured before. One that was not, and is not connected while
            others are, is not waited for: its name is probably misspelt.
    """

    wanted: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    every: bool = False
    timeout_s: float = 0.0
    is_known: Callable[[str], bool] = lambda _: True

    @property
    def names(self) -> tuple[str, ...]:
        """The devices that it names."""
        return () if ALL in self.wanted else self.wanted


def find_devices(
    platform: Platform, request: DeviceRequest, progress: Progress, *, pause: Callable[[float], None] = shell.pause
) -> tuple[Device, ...]:
    """Return the devices that were asked for; when none was named the first one, or every one.

    Named devices are waited for, unless their names are probably misspelt. When none was named, and no device can be
    used, the first that becomes usable is waited for; else those that cannot be used are shown beside those that are
    measured on.

    Args:
        platform: Lists its devices.
        request: Which of them.
        progress: Shows what is waited for, and what is left out.
        pause: Waits so many seconds between two lists.

    Raises:
        EnvironmentProblem: A device that was named cannot be used in time, or none is left.
        Interrupted: The harness is being stopped.
    """
    statuses = list_statuses(platform, request.names)
    missing = _missing(statuses, request)
    if unknown := _unknown(missing, statuses, request):
        raise _absent_error(unknown, statuses, "", "; --return-timeout SECONDS waits for one that is not there yet")
    if missing and request.timeout_s > 0 and isinstance(platform, DeviceListing):
        statuses = _wait(platform, request, statuses, progress, pause)
        missing = _missing(statuses, request)
    if missing:
        raise _missing_error(missing, statuses, request)
    devices = _choose(_usable(statuses, request), request)
    _show_unused(devices, statuses, request, progress)
    return devices


def list_statuses(
    platform: Platform, wanted: Collection[str] = (), known: Collection[Device] = ()
) -> Sequence[DeviceStatus]:
    """List the devices of a platform, also those that cannot be used where it lists them (`DeviceListing`).

    Arguments as for `DeviceListing.list_devices`.
    """
    if isinstance(platform, DeviceListing):
        return platform.list_devices(wanted, known)
    return [DeviceStatus(name=device.name, state=READY, device=device) for device in platform.devices()]


def _wait(
    platform: Platform,
    request: DeviceRequest,
    statuses: Sequence[DeviceStatus],
    progress: Progress,
    pause: Callable[[float], None],
) -> Sequence[DeviceStatus]:
    """List devices until none is missing, one will not return by itself, or the time is over."""
    started = time.monotonic()
    missing = _missing(statuses, request)
    shown: set[str] = set()
    remaining_s = request.timeout_s
    with progress.task("waiting for devices", request.timeout_s) as task:
        while missing and remaining_s > 0 and all(status.may_return for status in missing):
            for text in (status.explanation for status in missing if status.explanation not in shown):
                shown.add(text)
                progress.say(f"waiting at most {request.timeout_s:.0f} s (--return-timeout) for {text}")
            task.update(completed=request.timeout_s - remaining_s, text=_waiting(missing))
            pause(min(_POLL_S, remaining_s))
            remaining_s = started + request.timeout_s - time.monotonic()
            known = [status.device for status in statuses if status.device is not None]
            statuses = list_statuses(platform, request.names, known)
            missing = _missing(statuses, request)
    return statuses


def _waiting(missing: Sequence[DeviceStatus]) -> str:
    return "waiting for " + ", ".join(f"{status.name} ({status.state})" for status in missing)


def _missing(statuses: Sequence[DeviceStatus], request: DeviceRequest) -> Sequence[DeviceStatus]:
    """Return the states of the devices without which nothing is measured; none when nothing is missing."""
    if not request.names:
        unusable = [status for status in statuses if status.device is None and not _is_excluded(status, request)]
        return [] if _usable(statuses, request) else unusable
    unusable_names = [name for name in request.names if not any(_is_named(status, name) for status in statuses)]
    by_name = {status.name: status for status in statuses}
    return [by_name.get(name, _MISSING.model_copy(update={"name": name})) for name in unusable_names]


def _unknown(
    missing: Sequence[DeviceStatus], statuses: Sequence[DeviceStatus], request: DeviceRequest
) -> Sequence[DeviceStatus]:
    """Return the missing devices that were never seen; none where none is connected: a hub may lack power."""
    if not statuses or request.timeout_s <= 0:
        return []
    return [status for status in missing if status.state == _MISSING.state and not request.is_known(status.name)]


def _is_named(status: DeviceStatus, name: str) -> bool:
    return status.device is not None and name in status.device.names


def _is_excluded(status: DeviceStatus, request: DeviceRequest) -> bool:
    names = {status.name} if status.device is None else set(status.device.names)
    return bool(names & set(request.excluded))


def _usable(statuses: Sequence[DeviceStatus], request: DeviceRequest) -> tuple[Device, ...]:
    return tuple(
        status.device for status in statuses if status.device is not None and not _is_excluded(status, request)
    )


def _choose(usable: Sequence[Device], request: DeviceRequest) -> tuple[Device, ...]:
    names = set(request.names)
    chosen = tuple(device for device in usable if not names or device.names & names)
    if not chosen:
        raise EnvironmentProblem("no device to measure on", hint="`harness devices` lists what can be reached")
    return chosen if request.wanted or request.every else chosen[:1]


def _missing_error(
    missing: Sequence[DeviceStatus], statuses: Sequence[DeviceStatus], request: DeviceRequest
) -> EnvironmentProblem:
    waited = f" within {request.timeout_s:.0f} s" if request.timeout_s > 0 and missing[0].may_return else ""
    if absent := [status for status in missing if status.state == _MISSING.state]:
        return _absent_error(absent, statuses, waited)
    states = ", ".join(f"{status.name} is {status.state}" for status in missing)
    remedies = dict.fromkeys(status.remedy for status in missing if status.remedy)
    return EnvironmentProblem(f"no device can be used{waited}: {states}", hint="; ".join(remedies) or None)


def _absent_error(
    absent: Sequence[DeviceStatus], statuses: Sequence[DeviceStatus], waited: str, remedy: str = ""
) -> EnvironmentProblem:
    """Return the error for a device that is not connected, with those that are."""
    connected = [
        f"{status.device.name} ({status.device.identity})" if status.device is not None else status.explanation
        for status in statuses
    ]
    return EnvironmentProblem(
        f"no device `{absent[0].name}`{waited}", hint=f"there are: {', '.join(connected) or 'none'}{remedy}"
    )


def _show_unused(
    devices: Sequence[Device], statuses: Sequence[DeviceStatus], request: DeviceRequest, progress: Progress
) -> None:
    """Show which devices cannot be used and were not asked for by name, and which are measured on in their place."""
    unusable = [status for status in statuses if status.device is None and not _is_excluded(status, request)]
    if unusable and not request.names:
        names = ", ".join(device.name for device in devices)
        left_out = "; ".join(status.explanation for status in unusable)
        progress.say(f"measuring on {names}; left out: {left_out}")
