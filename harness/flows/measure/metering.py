"""Choice of the meter of a test of energy: the device's own, or one beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from harness.core.benchmark import POWER, Benchmark
from harness.core.device import Device
from harness.core.power import LaunchMeter, PowerMethod, PowerRequest
from harness.core.protocols import EnergyMetering, Platform

_BESIDE_S: Final = 60.0
"""Time of a recording beside a launch and its idling: files are pushed, and the device cools down."""


class Meters(Struct, frozen=True):
    """The meters beside devices.

    Attributes:
        monsoon: Serial numbers of Monsoon power meters by name or identity of the device; `--monsoon-map`.
    """

    monsoon: Mapping[str, str] = field(default_factory=dict)


NO_METERS: Final = Meters()


class Metering(Struct, frozen=True):
    """Meter of a benchmark, or why there is none.

    Attributes:
        obstacle: Reason why a test of energy cannot be measured.
        unmetered: Reason why energy, which is one of several kinds, is left out.
        meter: The external meter; None for the device's own.
    """

    obstacle: str | None = None
    unmetered: str | None = None
    meter: LaunchMeter | None = None


def choose_meter(benchmark: Benchmark, device: Device, platform: Platform, meters: Meters) -> Metering:
    """Return how the energy of a benchmark on a device is metered.

    A benchmark that is about something else, and whose energy is wanted beside it, has no obstacle. Where energy is one
    of several kinds, the others are measured without it.
    """
    request = benchmark.power
    if request is None:
        return Metering()
    metering = _find_meter(benchmark, request, device, platform, meters)
    if metering.obstacle is None or benchmark.is_about_energy or benchmark.kinds == (POWER,):
        return metering
    return Metering(unmetered=metering.obstacle) if POWER in benchmark.kinds else Metering()


def _find_meter(
    benchmark: Benchmark, request: PowerRequest, device: Device, platform: Platform, meters: Meters
) -> Metering:
    if benchmark.energy_obstacle is not None:
        return Metering(benchmark.energy_obstacle)
    if request.method is PowerMethod.MONSOON:
        return _choose_monsoon(benchmark, request, device, meters)
    return Metering(
        platform.find_meter_obstacle(device, request.method) if isinstance(platform, EnergyMetering) else None
    )


def _choose_monsoon(benchmark: Benchmark, request: PowerRequest, device: Device, meters: Meters) -> Metering:
    from harness.power import monsoon  # noqa: PLC0415 - NumPy, which only tests of energy need here

    if (obstacle := monsoon.find_obstacle()) is not None:
        return Metering(obstacle)
    serials = monsoon.list_serials()
    serial = next((meters.monsoon[name] for name in (device.name, device.identity) if name in meters.monsoon), None)
    if serial is None and (meters.monsoon or len(serials) > 1):
        return Metering(
            f"needs to know which Monsoon power meter feeds {device.name}: "
            f"--monsoon-map '{{\"{device.name}\": SERIAL}}' "
            f"(connected: {', '.join(serials)})"
        )
    if serial is not None and serial not in serials:
        return Metering(f"needs the Monsoon power meter {serial}, and connected are {', '.join(serials)}")
    if request.disable_usb and device.platform == "android" and ":" not in device.attributes.get("serial", ":"):
        return Metering(f"`disable_usb` cuts the connection of {device.name}: reach it over Wi-Fi")
    return Metering(meter=_make_meter(benchmark, request, serial))


def _make_meter(benchmark: Benchmark, request: PowerRequest, serial: str | None) -> LaunchMeter:
    from harness.power import monsoon, recording  # noqa: PLC0415 - NumPy, which only tests of energy need here

    longest_s = request.collection_time_s or benchmark.timeout_s + 2 * request.baseline_s + _BESIDE_S

    def open_meter() -> monsoon.Monsoon:
        return monsoon.Monsoon(
            serial,
            voltage_v=request.voltage_v or monsoon.DEFAULT_V,
            longest_s=longest_s,
            disable_usb=request.disable_usb,
        )

    return recording.TraceMeter(PowerMethod.MONSOON, open_meter, baseline_s=request.baseline_s)
