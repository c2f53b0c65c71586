"""State of this machine that may disturb a measurement, as far as the kernel shows it."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

import psutil

from harness.core.device import DeviceState

_CPU = Path("/sys/devices/system/cpu")
_THERMAL = Path("/sys/class/thermal")


class HostStateReader:
    """Reader of the state; `busy` covers the time since the last reading."""

    def __init__(self) -> None:
        self._times = psutil.cpu_times()

    def read(self) -> DeviceState:
        """Read the state now, which takes about a millisecond."""
        return DeviceState(
            time=time.time(),
            load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
            busy=self._busy(),
            cpus=psutil.cpu_count(),
            frequency_mhz=_frequencies(),
            temperature_c=_temperature(),
            throttle_count=_throttle_count(),
            memory_available_bytes=psutil.virtual_memory().available,
            uptime_s=_clock_s("CLOCK_BOOTTIME"),
            awake_s=_clock_s("CLOCK_MONOTONIC"),
            **_battery(),
        )

    @property
    def is_blind(self) -> bool:
        """Whether this system shows neither clocks nor temperatures, on any machine: only Linux does, to programs."""
        return not _CPU.exists()

    def _busy(self) -> float | None:
        before, now = self._times, psutil.cpu_times()
        self._times = now
        total = _total_s(now) - _total_s(before)
        idle = now.idle - before.idle + getattr(now, "iowait", 0.0) - getattr(before, "iowait", 0.0)
        return min(1.0, max(0.0, 1.0 - idle / total)) if total > 0 else None


def _total_s(times: tuple[float, ...]) -> float:
    """Return the CPU seconds of all kinds; those of guests are in `user` and `nice`, too (proc_stat(5))."""
    return sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)


def _frequencies() -> tuple[float, ...] | None:
    files = {int(path.parts[-3][3:]): path for path in _CPU.glob("cpu[0-9]*/cpufreq/scaling_cur_freq")}
    khz = {cpu: value for cpu, path in files.items() if (value := _number(path)) is not None}
    return tuple(khz.get(cpu, 0.0) / 1000 for cpu in range(max(khz, default=-1) + 1)) or None


def _temperature() -> float | None:
    values = [_number(path) for path in _THERMAL.glob("thermal_zone*/temp")]
    return max((value / 1000 for value in values if value is not None), default=None)


def _throttle_count() -> int | None:
    values = [_number(path) for path in _CPU.glob("cpu[0-9]*/thermal_throttle/*_throttle_count")]
    counts = [int(value) for value in values if value is not None]
    return sum(counts) if counts else None


def _clock_s(name: str) -> float | None:
    """Return the seconds of a clock; only that of the time since boot goes on while the machine sleeps."""
    number = getattr(time, name, None)
    if sys.platform == "win32" or number is None or not hasattr(time, "CLOCK_BOOTTIME"):
        return None
    return time.clock_gettime(number)


def _battery() -> dict[str, float | bool]:
    if not hasattr(psutil, "sensors_battery"):
        return {}
    battery = None
    with contextlib.suppress(OSError):
        battery = psutil.sensors_battery()
    if battery is None:
        return {}
    return {"battery_percent": float(battery.percent), "plugged": bool(battery.power_plugged)}


def _number(path: Path) -> float | None:
    try:
        return float(path.read_text())
    except (OSError, ValueError):
        return None
