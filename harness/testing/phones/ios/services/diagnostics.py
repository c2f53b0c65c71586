"""diagnostics_relay of a stand-in iPhone: its battery in detail, restart and shutdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.testing.phones.ios.usbmux.connection import ServiceConnection

if TYPE_CHECKING:
    from harness.testing.phones.ios.phone import StandInIPhone

_CAPACITY_MAH: Final = 3227
_EMPTY_MV: Final = 3500
_FULL_MV: Final = 4350
_SUCCESS: Final[dict[str, object]] = {"Status": "Success"}


def serve(connection: ServiceConnection, phone: StandInIPhone) -> None:
    """Answer requests of a client until it hangs up; then restart if it asked for that."""
    restarts = False
    try:
        while True:
            request = connection.read_plist()
            match request.get("Request"):
                case "IORegistry" if request.get("EntryClass") == "IOPMPowerSource":
                    connection.send_plist({**_SUCCESS, "Diagnostics": {"IORegistry": battery_registry(phone)}})
                case "All":
                    gauge = {"DesignCapacity": _CAPACITY_MAH, "Status": "Success"}
                    connection.send_plist({**_SUCCESS, "Diagnostics": {"GasGauge": gauge}})
                case "Restart":
                    restarts = True
                    connection.send_plist(_SUCCESS)
                case "Goodbye":
                    connection.send_plist(_SUCCESS)
                case _:
                    connection.send_plist({"Status": "UnknownRequest"})
    finally:
        if restarts:
            phone.restart()


def battery_registry(phone: StandInIPhone) -> dict[str, object]:
    """Return the battery's entry in the I/O registry: hundredths of a degree, mV, mA, mAh."""
    conditions = phone.conditions
    level = conditions.battery_percent / 100
    return {
        "AbsoluteCapacity": round(_CAPACITY_MAH * level),
        "AppleRawCurrentCapacity": round(_CAPACITY_MAH * level),
        "AppleRawMaxCapacity": _CAPACITY_MAH,
        "AtCriticalLevel": conditions.battery_percent < 2,
        "AtWarnLevel": conditions.battery_percent < 10,
        "CurrentCapacity": round(conditions.battery_percent),
        "CycleCount": 120,
        "DesignCapacity": _CAPACITY_MAH,
        "ExternalConnected": conditions.charging,
        "InstantAmperage": 480 if conditions.charging else -310,
        "IsCharging": conditions.charging and conditions.battery_percent < 100,
        "NominalChargeCapacity": _CAPACITY_MAH,
        "Temperature": round(conditions.battery_c * 100),
        "Voltage": round(_EMPTY_MV + (_FULL_MV - _EMPTY_MV) * level),
    }
