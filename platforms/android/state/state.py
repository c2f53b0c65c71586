"""State of a phone that may disturb a measurement, as far as its shell shows it without root."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from harness.core.device import DeviceState
from harness.core.errors import EnvironmentProblem
from platforms.android.link.phone import Phone
from platforms.android.scripts import read_script

STATE_SCRIPT: Final = read_script("state.sh")
"""A fragment for a phone's shell that prints one block for `read_state`."""

_FRESH_S: Final = 2.0
"""Age limit of a cached state: heat and clocks do not change much for a launch in that time."""
_SKIN: Final = frozenset({"3", "SKIN"})
_NO_TEMPERATURES: Final = frozenset({-1, 6, 7, 8})
"""Types of "temperatures" that are none: unknown, and the battery current limiter's voltage, current and percentage
(`android.os.Temperature`)."""
_TICK_MS: Final = 10
"""`time_in_state` and `/proc/stat` count in `USER_HZ`, 100 a second (Linux, `cpufreq-stats.rst`; proc(5)). Ticks
of the CPU that has most of them, idle ones included, are the time that the phone was awake: they stop in suspend."""

_SMALLEST_BATTERY_UAH: Final = 50_000
"""Smaller than those of watches: a counter by which a full battery holds less counts in other units, such as mAh."""

_SECTION = re.compile(r"^\[([a-z]+)\]\s*$", re.MULTILINE)
_BATTERY_LINE = re.compile(r"^ *([A-Za-z ]+): *(\S+)\s*$", re.MULTILINE)
_STATUS = re.compile(r"^Thermal Status: ([0-6])\s*$", re.MULTILINE)
_TEMPERATURE = re.compile(r"Temperature\{mValue=([^,]*), mType=(-?[0-9]{1,4}), mName=(.*), mStatus=")
_THRESHOLD = re.compile(
    r"\{[.m][tT]ype ?= ?(\w+), [.m][nN]ame ?= ?(.*?), [.m][hH]otThrottlingThresholds ?= ?\[([^\]]*)\]"
)
_CPU = re.compile(r"/cpu([0-9]{1,4})/cpufreq/scaling_cur_freq$")
_DOMAIN = re.compile(r"/cpufreq/(policy[0-9]{1,4})/stats/time_in_state$")
_RELATED = re.compile(r"/cpufreq/(policy[0-9]{1,4})/related_cpus$")


class SkinSensor(NamedTuple):
    """A sensor of the temperature that a hand feels, by which phones decide to throttle.

    Attributes:
        name: The vendor's name for it.
        celsius: Its temperature now.
        limit_c: Temperature at which the phone begins to throttle; None where it does not report.
    """

    name: str
    celsius: float
    limit_c: float | None


class CpuTicks(NamedTuple):
    """CPU time since boot, in ticks."""

    busy: float
    total: float


class PhoneState(Struct, frozen=True):
    """State of a phone, and what readiness and the next reading need beside it.

    Attributes:
        device: The state as results store it.
        skins: Skin sensors that can be read.
        battery_c: Temperature of the battery.
        overridden: Whether somebody has set the battery's readings to chosen values (`dumpsys battery set`).
        battery_health: Health of the battery, as `BatteryManager.BATTERY_HEALTH_*`: 1 is unknown, 2 good.
        blind: Whether it reports a thermal status, and no temperature of its skin at which that would rise.
        ticks: CPU time since boot.
    """

    device: DeviceState
    skins: tuple[SkinSensor, ...] = ()
    battery_c: float | None = None
    overridden: bool = False
    battery_health: int | None = None
    blind: bool = False
    ticks: CpuTicks | None = None


class StateCache:
    """State of one phone, which is read only when the last reading is no longer fresh.

    Args:
        phone: The phone.
    """

    def __init__(self, phone: Phone) -> None:
        self._phone = phone
        self._last: PhoneState | None = None
        self._read_at = float("-inf")

    def parse(self, text: str) -> PhoneState:
        """Take over what `STATE_SCRIPT` has just printed beside something else."""
        self._last = read_state(text, time.time(), self._last)
        self._read_at = time.monotonic()
        return self._last

    def clear(self) -> None:
        """Forget the last reading: the phone was unreachable."""
        self._last = None

    def read(self) -> PhoneState:
        """Return the state now, or a moment ago.

        Raises:
            DeviceLost: The phone became unreachable.
            EnvironmentProblem: The script failed.
        """
        if self._last is not None and time.monotonic() - self._read_at <= _FRESH_S:
            return self._last
        result = self._phone.sh(STATE_SCRIPT)
        if not result.stdout:
            raise EnvironmentProblem(f"cannot read the state of {self._phone.name}: {result.stderr.strip()}")
        return self.parse(result.stdout)


def read_state(text: str, read_at: float, before: PhoneState | None = None) -> PhoneState:
    """Parse what `STATE_SCRIPT` printed. Never raises; what is missing or implausible is None.

    Args:
        text: Output of the script.
        read_at: When it ran, Unix seconds.
        before: The previous state, since which `busy` is computed; None leaves it out.
    """
    sections = _split_sections(text)
    battery = _Battery.parse(sections.get("battery", ""))
    kernel = _Kernel.parse(sections.get("kernel", "") + sections.get("zones", ""))
    thermal = _Thermal.parse(sections.get("thermal", ""))
    hottest_c = max((*thermal.temperatures, *kernel.temperatures), default=battery.celsius)
    state = DeviceState(
        time=read_at,
        load=kernel.load,
        busy=_busy_share(before.ticks if before else None, kernel.ticks),
        cpus=kernel.cpus,
        frequency_mhz=kernel.frequency_mhz,
        temperature_c=hottest_c,
        memory_available_bytes=kernel.memory_available_bytes,
        thermal_status=thermal.status,
        residency_ms=kernel.residency_ms,
        domain_cpus=kernel.domain_cpus,
        battery_percent=battery.percent,
        battery_charge_uah=battery.charge_uah,
        battery_voltage_mv=battery.voltage_mv,
        plugged=battery.plugged,
        uptime_s=kernel.uptime_s,
        awake_s=kernel.awake_s,
        suspend_count=kernel.suspend_count,
    )
    return PhoneState(
        state,
        thermal.skins,
        battery.celsius,
        battery.overridden,
        battery_health=battery.health,
        blind=thermal.status is not None and not thermal.has_limits,
        ticks=kernel.ticks,
    )


class _Battery(Struct, frozen=True):
    """Output of `dumpsys battery`. Overridden readings, and those of an absent battery, are left out."""

    percent: float | None = None
    celsius: float | None = None
    charge_uah: int | None = None
    voltage_mv: int | None = None
    plugged: bool | None = None
    health: int | None = None
    overridden: bool = False

    @classmethod
    def parse(cls, text: str) -> _Battery:
        if "UPDATES STOPPED" in text:
            return cls(overridden=True)
        lines: dict[str, str] = {}
        for key, value in _BATTERY_LINE.findall(text):
            lines.setdefault(key, value)  # vendors append lines of their own
        powered = [value == "true" for key, value in lines.items() if key.endswith(" powered")]
        plugged = any(powered) if powered else None
        if lines.get("present") == "false":
            return cls(plugged=plugged)
        level = _parse_number(lines.get("level"), 0, 10_000)
        scale = _parse_number(lines.get("scale", "100"), 1, 10_000)
        percent = None if level is None or scale is None or level > scale else 100 * level / scale
        tenths = _parse_number(lines.get("temperature"), -400, 1500)
        least_uah = max(1.0, _SMALLEST_BATTERY_UAH * (percent or 0) / 100)
        charge = _parse_number(lines.get("Charge counter"), least_uah, 1e9)
        voltage = _parse_number(lines.get("voltage"), 1000, 30_000)
        health = _parse_number(lines.get("health"), 1, 7)
        return cls(
            percent=percent,
            celsius=None if tenths is None else tenths / 10,
            charge_uah=None if charge is None else int(charge),
            voltage_mv=None if voltage is None else int(voltage),
            plugged=plugged,
            health=None if health is None else int(health),
        )


class _Thermal(Struct, frozen=True):
    """Output of `dumpsys thermalservice`: its sensors now, not its log of earlier events."""

    status: int | None = None
    temperatures: tuple[float, ...] = ()
    skins: tuple[SkinSensor, ...] = ()
    has_limits: bool = False

    @classmethod
    def parse(cls, text: str) -> _Thermal:
        status = None if "IsStatusOverride: true" in text else _STATUS.search(text)
        now = text.partition("Current temperatures from HAL:")[2].partition("Temperature static thresholds")[0]
        sensors = [
            (int(kind), name, celsius)
            for value, kind, name in _TEMPERATURE.findall(now)
            if int(kind) not in _NO_TEMPERATURES and (celsius := _parse_celsius(value)) is not None
        ]
        limits = {name: _throttling_limit(numbers) for kind, name, numbers in _THRESHOLD.findall(text) if kind in _SKIN}
        return cls(
            status=int(status[1]) if status else None,
            temperatures=tuple(celsius for _, _, celsius in sensors),
            skins=tuple(
                SkinSensor(name, celsius, limits.get(name)) for kind, name, celsius in sensors if str(kind) in _SKIN
            ),
            has_limits=any(limit_c is not None for limit_c in limits.values()),
        )


class _Kernel(Struct, frozen=True):
    """Files of the kernel: lines of `path:content`."""

    load: float | None
    cpus: int | None
    ticks: CpuTicks | None
    frequency_mhz: tuple[float, ...] | None
    memory_available_bytes: int | None
    residency_ms: dict[str, dict[int, int]]
    domain_cpus: dict[str, tuple[int, ...]]
    temperatures: tuple[float, ...]
    uptime_s: float | None
    awake_s: float | None
    suspend_count: int | None

    @classmethod
    def parse(cls, text: str) -> _Kernel:
        parts = (line.partition(":") for line in text.splitlines())
        lines = [(path, content.split()) for path, colon, content in parts if colon]
        stat = [words for path, words in lines if path == "/proc/stat" and words]
        loads = [_parse_number(words[0], 0, 1e6) for path, words in lines if path == "/proc/loadavg" and words]
        free = [_parse_number(words[1], 0, 1e12) for path, words in lines if path == "/proc/meminfo" and len(words) > 1]
        zones = [_parse_zone(words[0]) for path, words in lines if path.endswith("/temp") and words]
        uptimes = [_parse_number(words[0], 0, 1e9) for path, words in lines if path == "/proc/uptime" and words]
        suspends = [_parse_number(words[0], 0, 1e9) for path, words in lines if path.endswith("/success") and words]
        by_cpu = [_parse_ticks(words[1:]) for words in stat if words[0] != "cpu"]
        suspend_count = next(iter(suspends), None)
        return cls(
            load=next(iter(loads), None),
            cpus=sum(words[0] != "cpu" for words in stat) or None,
            ticks=next((_parse_ticks(words[1:]) for words in stat if words[0] == "cpu"), None),
            frequency_mhz=_parse_frequencies(lines),
            memory_available_bytes=next((int(kib) * 1024 for kib in free if kib is not None), None),
            residency_ms=_parse_residency(lines),
            domain_cpus=_parse_domains(lines),
            temperatures=tuple(zone for zone in zones if zone is not None),
            uptime_s=next(iter(uptimes), None),
            awake_s=max((ticks.total * _TICK_MS / 1000 for ticks in by_cpu if ticks is not None), default=None),
            suspend_count=None if suspend_count is None else int(suspend_count),
        )


def _split_sections(text: str) -> dict[str, str]:
    parts = _SECTION.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _busy_share(before: CpuTicks | None, now: CpuTicks | None) -> float | None:
    if before is None or now is None or now.total <= before.total:
        return None
    return min(1.0, max(0.0, (now.busy - before.busy) / (now.total - before.total)))


def _parse_ticks(words: Sequence[str]) -> CpuTicks | None:
    """Parse `user nice system idle iowait irq softirq steal`; the rest is counted in `user` already (proc(5))."""
    numbers = [_parse_number(word, 0, 1e18) for word in words[:8]]
    values = [value for value in numbers if value is not None]
    if len(values) < 5 or len(values) != len(numbers):
        return None
    return CpuTicks(sum(values) - values[3] - values[4], sum(values))


def _parse_frequencies(lines: Sequence[tuple[str, list[str]]]) -> tuple[float, ...] | None:
    """Parse frequencies in MHz by CPU, up to the last that has one; 0 for those that have none (may be offline)."""
    mhz_by_cpu: dict[int, float] = {}
    for path, words in lines:
        cpu, khz = _CPU.search(path), _parse_number(words[0], 1, 1e9) if words else None
        if cpu and khz is not None:
            mhz_by_cpu[int(cpu[1])] = khz / 1000
    return tuple(mhz_by_cpu.get(cpu, 0.0) for cpu in range(max(mhz_by_cpu, default=-1) + 1)) or None


def _parse_residency(lines: Sequence[tuple[str, list[str]]]) -> dict[str, dict[int, int]]:
    """Parse milliseconds by domain and kHz."""
    residency_ms: dict[str, dict[int, int]] = {}
    for path, words in lines:
        domain = _DOMAIN.search(path)
        if domain and len(words) == 2:
            khz, ticks = _parse_number(words[0], 1, 1e9), _parse_number(words[1], 0, 1e15)
            if khz is not None and ticks is not None:
                residency_ms.setdefault(domain[1], {})[int(khz)] = int(ticks) * _TICK_MS
    return residency_ms


def _parse_domains(lines: Sequence[tuple[str, list[str]]]) -> dict[str, tuple[int, ...]]:
    domain_cpus: dict[str, tuple[int, ...]] = {}
    for path, words in lines:
        domain, cpus = _RELATED.search(path), [_parse_number(word, 0, 9999) for word in words]
        if domain and words:
            domain_cpus[domain[1]] = tuple(int(cpu) for cpu in cpus if cpu is not None)
    return domain_cpus


def _throttling_limit(thresholds: str) -> float | None:
    """Return where the phone begins to throttle: the first threshold that is a number, beginning with `LIGHT`.

    They are ordered by severity (`android.os.Temperature`); the first is that of no throttling at all.
    """
    celsius = (_parse_number(word, 20, 150) for word in thresholds.split(",")[1:])
    return next((limit for limit in celsius if limit is not None), None)


def _parse_celsius(word: str) -> float | None:
    """Parse a plausible temperature; a sensor that is not fitted reports exactly 0."""
    return _parse_number(word, -40, 150) or None


def _parse_zone(word: str) -> float | None:
    """Parse a thermal zone's temperature: thousandths of a degree, but tenths or whole ones in some old kernels."""
    raw = _parse_number(word, -1e6, 1e6)
    if raw is None:
        return None
    magnitude = abs(raw)
    return _parse_celsius(str(raw / (1000 if magnitude >= 1000 else 10 if magnitude > 150 else 1)))


def _parse_number(word: str | None, low: float, high: float) -> float | None:
    """Parse a number within plausible bounds."""
    try:
        value = float(word or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and low <= value <= high else None
