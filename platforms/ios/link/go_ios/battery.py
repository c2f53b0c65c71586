"""Battery of an iPhone, through go-ios."""

from __future__ import annotations

from typing import Final

from platforms.ios.link.client import Battery
from platforms.ios.link.go_ios.causes import ask, find_cause
from platforms.ios.link.go_ios.documents import BatteryCheck, BatteryRegistry, parse_document
from platforms.ios.link.go_ios.program import GoIosProgram

_ABSENT: Final = "panic: interface conversion: interface {} is nil"
"""`ios batterycheck` of a phone that does not know one of its values."""
_PLAUSIBLE_C: Final = (-40.0, 120.0)


def read_battery(program: GoIosProgram, udid: str) -> Battery:
    """Read the state of the battery. See `PhoneClient.read_battery`."""
    doing = "its battery was read"
    output = program.call(udid, "batterycheck", doing=doing)
    if output.failure and not output.failure.startswith(_ABSENT):
        raise find_cause(program, udid, doing, output)
    check = None if output.failure else parse_document(BatteryCheck, output.stdout, doing)
    if check is not None and not check.HasBattery:
        return Battery(plugged=check.ExternalConnected)
    registry = parse_document(BatteryRegistry, ask(program, udid, "batteryregistry", doing=doing).stdout, doing)
    return describe_battery(check, registry)


def describe_battery(check: BatteryCheck | None, registry: BatteryRegistry) -> Battery:
    """Return a battery from both answers; values that cannot be are unknown."""
    temperature_c = registry.Temperature / 100
    plausible = registry.Temperature != 0 and _PLAUSIBLE_C[0] <= temperature_c <= _PLAUSIBLE_C[1]
    return Battery(
        percent=check.BatteryCurrentCapacity if check and 0 <= check.BatteryCurrentCapacity <= 100 else None,
        plugged=check.ExternalConnected if check else None,
        temperature_c=temperature_c if plausible else None,
        voltage_mv=registry.Voltage if registry.Voltage > 0 else None,
        charge_uah=1000 * registry.AppleRawCurrentCapacity if registry.AppleRawCurrentCapacity > 0 else None,
    )
