"""`harness devices`: everything that can be reached now, and what stands against the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from harness import plugins
from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.errors import ExitCode, HarnessError
from harness.core.protocols import Diagnosable, Finding, Platform
from harness.flows.inspect.showing import cell, show

_PASSING = frozenset({"battery", "temperature"})


def list_all(settings: Settings, console: Console) -> ExitCode:
    """Every device of every platform. A platform that cannot be asked is told, and the others are shown."""
    broken = 0
    for name in plugins.names("platform"):
        try:
            platform = plugins.platform(name, settings)
            found = platform.devices()
        except HarnessError as error:
            broken += 1
            show(cell(f"{name}: {error}"), console)
            continue
        if found:
            show(_one(found[0]) if len(found) == 1 else _several(name, found), console)
        else:
            show(cell(f"{name}: no device"), console)
        for finding in _obstacles(platform):
            show(cell(f"{name}: {finding.name}: {finding.found}; {finding.remedy}"), console)
    return ExitCode.ENVIRONMENT if broken else ExitCode.OK


def _obstacles(platform: Platform) -> Sequence[Finding]:
    """What keeps devices from being used."""
    return [one for one in platform.diagnose() if one.ok is False] if isinstance(platform, Diagnosable) else ()


def _one(device: Device) -> Table:
    title = cell(f"{device.platform}: {device.name}")
    table = Table(title=title, title_justify="left", show_header=False, pad_edge=False)
    rows = {
        "identity": device.identity,
        "processor": device.kind,
        "system": f"{device.os}, {device.abi}",
        "CPUs": str(device.cores),
        "memory": _gib(device),
    }
    for row in (*rows.items(), *device.attributes.items()):
        table.add_row(*map(cell, row))
    return table


def _several(platform: str, devices: Sequence[Device]) -> Table:
    """A line for each, with what they do not have in common; the rest stands below."""
    header = ("device", "processor", "system", "CPUs", "memory", "more")
    shared = _shared(devices)
    caption = cell(f"all: {_listed(shared)}") if shared else None
    title = cell(f"{platform}: {len(devices)} devices")
    table = Table(*header, title=title, title_justify="left", caption=caption, caption_justify="left", pad_edge=False)
    for device in devices:
        known = {device.identity, device.name}
        more = {key: value for key, value in device.attributes.items() if key not in shared and value not in known}
        name = device.name if device.name == device.identity else f"{device.name}\n{device.identity}"
        system = f"{device.os}, {device.abi}"
        table.add_row(*map(cell, (name, device.kind, system, str(device.cores), _gib(device), _listed(more))))
    return table


def _shared(devices: Sequence[Device]) -> dict[str, str]:
    """Attributes that are the same of all, and do not change from hour to hour."""
    first, *others = devices
    return {
        key: value
        for key, value in first.attributes.items()
        if key not in _PASSING and all(other.attributes.get(key) == value for other in others)
    }


def _listed(attributes: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in attributes.items())


def _gib(device: Device) -> str:
    return f"{device.memory_bytes / 2**30:.1f} GiB"
