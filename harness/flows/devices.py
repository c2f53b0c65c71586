"""`harness devices`: everything that can be reached now, and what stands against the rest."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from harness import plugins
from harness.core.device import Device
from harness.core.errors import ExitCode, HarnessError
from harness.core.protocols import Diagnosable, Finding, Platform
from harness.flows.showing import cell, show
from harness.settings import Settings


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
    """A line for each; below it what they do not have in common."""
    header = ("device", "identity", "processor", "system", "CPUs", "memory", "more")
    table = Table(*header, title=cell(f"{platform}: {len(devices)} devices"), title_justify="left", pad_edge=False)
    for device in devices:
        more = ", ".join(f"{key} {value}" for key, value in device.attributes.items())
        system = f"{device.os}, {device.abi}"
        row = (device.name, device.identity, device.kind, system, str(device.cores), _gib(device), more)
        table.add_row(*map(cell, row))
    return table


def _gib(device: Device) -> str:
    return f"{device.memory_bytes / 2**30:.1f} GiB"
