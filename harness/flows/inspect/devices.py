"""`harness devices`: every device that can be reached now, and why others cannot be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from harness import plugins
from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.errors import ExitCode, HarnessError
from harness.core.protocols import Diagnosable, Finding, Platform
from harness.display.tables import draw_rows, plain_text, print_output

_CHANGING = frozenset({"battery", "temperature"})


def list_devices(settings: Settings, console: Console) -> ExitCode:
    """List the devices of every platform; one that cannot be asked is reported, and the others are shown.

    Returns:
        `ENVIRONMENT` if a platform could not be asked.
    """
    broken = 0
    for name in plugins.installed_names("platform"):
        try:
            platform = plugins.platform(name, settings)
            devices = platform.devices()
        except HarnessError as error:
            broken += 1
            print_output(plain_text(f"{name}: {error}"), console)
            continue
        if devices:
            print_output(_describe(devices[0]) if len(devices) == 1 else _list(name, devices), console)
        else:
            print_output(plain_text(f"{name}: no device"), console)
        for finding in _find_obstacles(platform):
            print_output(plain_text(f"{name}: {finding.name}: {finding.found}; {finding.remedy}"), console)
    return ExitCode.ENVIRONMENT if broken else ExitCode.OK


def _find_obstacles(platform: Platform) -> Sequence[Finding]:
    """Return the findings that keep devices from being used."""
    return (
        [finding for finding in platform.diagnose() if finding.ok is False] if isinstance(platform, Diagnosable) else ()
    )


def _describe(device: Device) -> Table:
    rows = {
        "identity": device.identity,
        "processor": device.kind,
        "system": f"{device.os}, {device.abi}",
        "CPUs": str(device.cores),
        "memory": _format_memory(device),
    }
    return draw_rows((), (*rows.items(), *device.attributes.items()), title=f"{device.platform}: {device.name}")


def _list(platform: str, devices: Sequence[Device]) -> Table:
    """Return a row for each device; attributes that all have in common stand below the table."""
    header = ("device", "processor", "system", "CPUs", "memory", "more")
    shared = _find_shared(devices)
    rows = []
    for device in devices:
        known = {device.identity, device.name}
        more = {key: value for key, value in device.attributes.items() if key not in shared and value not in known}
        name = device.name if device.name == device.identity else f"{device.name}\n{device.identity}"
        system = f"{device.os}, {device.abi}"
        rows.append((name, device.kind, system, str(device.cores), _format_memory(device), _join(more)))
    caption = f"all: {_join(shared)}" if shared else None
    return draw_rows(header, rows, title=f"{platform}: {len(devices)} devices", caption=caption)


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
    return f"{device.memory_bytes / 2**30:.1f} GiB"
