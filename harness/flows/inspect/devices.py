"""`harness devices`: every device that can be reached now, and why others cannot be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from rich.console import Console
from rich.table import Table

from harness import plugins
from harness.config.settings import Settings
from harness.core.device import READY, Device, DeviceStatus
from harness.core.errors import ExitCode, HarnessError, UsageError
from harness.core.protocols import Diagnosable, Finding
from harness.display.console import CleanConsole
from harness.display.documents import print_document
from harness.display.tables import draw_rows, plain_text, print_output
from harness.flows.measure.devices import list_statuses
from harness.presentation.documents import DevicesDocument, ListedDevice
from harness.presentation.processors import describe_processor

_CHANGING = frozenset({"battery", "temperature"})


def list_devices(
    settings: Settings, console: Console, *, platform: str | None = None, as_json: bool = False
) -> ExitCode:
    """List the devices of every platform; one that cannot be asked is reported, and the others are shown.

    Args:
        settings: Where things are.
        console: Where to show them.
        platform: The only platform to ask; None asks all.
        as_json: Show a JSON document about each device instead of tables.

    Returns:
        `ENVIRONMENT` if a platform could not be asked.

    Raises:
        UsageError: There is no such platform.
    """
    listings = [_ask(name, settings) for name in _names(platform)]
    if as_json:
        devices = tuple(_listed(listing.platform, status) for listing in listings for status in listing.statuses)
        problems = {listing.platform: listing.problem for listing in listings if listing.problem}
        print_document(DevicesDocument(devices=devices, problems=problems), console)
    for listing in listings:
        if not as_json:
            _show(listing, console)
        elif listing.problem:
            print_output(plain_text(f"{listing.platform}: {listing.problem}"), CleanConsole(stderr=True))
    return ExitCode.ENVIRONMENT if any(listing.problem for listing in listings) else ExitCode.OK


class _Listing(Struct, frozen=True):
    """Devices of one platform.

    Attributes:
        platform: Its name.
        statuses: Its devices.
        obstacles: What else keeps devices from being used.
        problem: Why it could not be asked; empty when it could.
    """

    platform: str
    statuses: Sequence[DeviceStatus] = ()
    obstacles: Sequence[Finding] = ()
    problem: str = ""


def _names(platform: str | None) -> Sequence[str]:
    if platform is None:
        return plugins.installed_names("platform")
    name = plugins.platform_name(platform)
    if name not in plugins.installed_names("platform"):
        known = ", ".join(plugins.installed_names("platform"))
        raise UsageError(f"no platform `{platform}`", hint=f"there are: {known}")
    return (name,)


def _ask(name: str, settings: Settings) -> _Listing:
    try:
        platform = plugins.platform(name, settings)
        statuses = list_statuses(platform)
    except HarnessError as error:
        return _Listing(name, problem=str(error))
    findings = platform.diagnose() if isinstance(platform, Diagnosable) else ()
    shown = {status.name for status in statuses}
    obstacles = [finding for finding in findings if finding.ok is False and finding.name not in shown]
    return _Listing(name, statuses, obstacles)


def _show(listing: _Listing, console: Console) -> None:
    name, statuses = listing.platform, listing.statuses
    if listing.problem:
        print_output(plain_text(f"{name}: {listing.problem}"), console)
        return
    if len(statuses) == 1 and statuses[0].device is not None:
        print_output(_describe(statuses[0].device), console)
    elif statuses:
        print_output(_list(name, statuses), console)
    else:
        print_output(plain_text(f"{name}: no device"), console)
    for finding in listing.obstacles:
        print_output(plain_text(f"{name}: {finding.name}: {finding.found}; {finding.remedy}"), console)


def _listed(platform: str, status: DeviceStatus) -> ListedDevice:
    device = status.device
    return ListedDevice(
        platform=platform,
        name=status.name,
        model=device.kind if device else None,
        abi=device.abi if device else None,
        state=status.state,
        remedy=status.remedy or None,
        device=device,
    )


def _describe(device: Device) -> Table:
    rows = {
        "state": READY,
        "identity": device.identity,
        "processor": describe_processor(device),
        "system": f"{device.os}, {device.abi}",
        "CPUs": str(device.cores),
        "memory": _format_memory(device),
    }
    return draw_rows((), (*rows.items(), *device.attributes.items()), title=f"{device.platform}: {device.name}")


def _list(platform: str, statuses: Sequence[DeviceStatus]) -> Table:
    """Return a row for each device; attributes that all have in common stand below the table."""
    header = ("device", "state", "processor", "system", "CPUs", "memory", "more")
    devices = [status.device for status in statuses if status.device is not None]
    shared = _find_shared(devices) if len(devices) > 1 else {}
    rows = []
    for status in statuses:
        device = status.device
        if device is None:
            rows.append((status.name, status.state, "", "", "", "", status.remedy))
            continue
        known = device.names
        more = {key: value for key, value in device.attributes.items() if key not in shared and value not in known}
        name = device.name if device.name == device.identity else f"{device.name}\n{device.identity}"
        system = f"{device.os}, {device.abi}"
        processor, memory = describe_processor(device), _format_memory(device)
        rows.append((name, status.state, processor, system, str(device.cores), memory, _join(more)))
    caption = f"all: {_join(shared)}" if shared else None
    count = f"{len(statuses)} device{'' if len(statuses) == 1 else 's'}"
    unusable = len(statuses) - len(devices)
    title = f"{platform}: {count}" + (f", {unusable} of them cannot be used" if unusable else "")
    return draw_rows(header, rows, title=title, caption=caption)


def _find_shared(devices: Sequence[Device]) -> dict[str, str]:
    """Return the attributes that are equal on all devices and do not change from hour to hour."""
    first, *others = devices
    return {
        key: value
        for key, value in first.attributes.items()
        if key not in _CHANGING and all(other.attributes.get(key) == value for other in others)
    }


def _join(attributes: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in attributes.items())


def _format_memory(device: Device) -> str:
    return f"{device.memory_bytes / 2**30:.1f} GiB" if device.memory_bytes else "unknown"
