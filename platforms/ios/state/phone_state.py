"""State of an iPhone, from two sources: its battery, which a computer reads, and what an app saw at its last launch."""

from __future__ import annotations

import time
from typing import Final

from harness.core.device import DeviceState
from platforms.ios.apps.protocol import AppState
from platforms.ios.link.client import Battery, PhoneClient

THERMAL_STATUS: Final = {"nominal": 0, "fair": 1, "serious": 3, "critical": 4}
"""Android's degrees (`THERMAL_STATUS_*`) that mean the same as iOS's: from `fair` on the system lowers its clocks."""
_FRESH_S: Final = 20.0
"""A battery is not asked again for so long: it costs a second, wakes the phone, and its values change slowly."""


class PhoneStateReader:
    """Reads the state of one phone, asking it as seldom as is enough.

    Args:
        client: Reaches it.
        udid: Its UDID.
    """

    def __init__(self, client: PhoneClient, udid: str) -> None:
        self._client = client
        self._udid = udid
        self._battery = Battery()
        self._read_at: float | None = None
        self._app = AppState(time=0.0)

    def add(self, state: AppState | None) -> None:
        """Keep what an app saw last."""
        if state is not None:
            self._app = state

    @property
    def is_unknown(self) -> bool:
        """Whether no app has told anything yet."""
        return self._app.time == 0.0

    def read(self) -> DeviceState:
        """Return the state now: the battery as it is, the rest as the last app saw it.

        Raises:
            DeviceLost: The phone became unreachable.
            EnvironmentProblem: It refuses.
        """
        now = time.monotonic()
        if self._read_at is None or now - self._read_at > _FRESH_S:
            self._battery = self._client.read_battery(self._udid)
            self._read_at = time.monotonic()
        return device_state(self._app, self._battery, time.time())


def device_state(app: AppState, battery: Battery, now: float) -> DeviceState:
    """Return the state that two sources make together.

    Args:
        app: What an app saw.
        battery: What the phone says of its battery.
        now: Unix seconds.
    """
    percent = battery.percent if battery.percent is not None else app.battery_percent
    plugged = battery.plugged
    if plugged is None and app.battery_state in {"unplugged", "charging", "full"}:
        plugged = app.battery_state != "unplugged"
    return DeviceState(
        time=now,
        thermal_status=None if app.thermal_state is None else THERMAL_STATUS.get(app.thermal_state),
        temperature_c=battery.temperature_c,
        battery_percent=percent,
        battery_charge_uah=battery.charge_uah,
        battery_voltage_mv=battery.voltage_mv,
        plugged=plugged,
        memory_available_bytes=app.memory_available_bytes,
        uptime_s=app.uptime_s,
        awake_s=app.awake_s,
        low_power_mode=app.low_power_mode,
        brightness=app.brightness,
    )
