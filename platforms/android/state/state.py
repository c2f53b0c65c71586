"""What may disturb a measurement on a phone, as far as its shell shows it without root."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from harness.core.device import DeviceState

STATE_SCRIPT: Final = r"""(
  cpus=/sys/devices/system/cpu
  echo '[kernel]'
  grep -sHE '^(cpu|MemAvailable:|-?[0-9])' /proc/loadavg /proc/stat /proc/meminfo \
    $cpus/cpu[0-9]*/cpufreq/scaling_cur_freq $cpus/cpufreq/policy*/related_cpus $cpus/cpufreq/policy*/stats/time_in_state
  echo '[battery]'
  timeout 3 dumpsys battery | grep -E '^ *([A-Za-z]+ powered|present|level|scale|voltage|temperature|Charge counter):|STOPPED'
  echo '[thermal]'
  heat=$(timeout 3 dumpsys thermalservice | grep -E '[Ss]tatus|emperature|hotThrottling')
  printf '%s\n' "$heat"
  echo '[zones]'
  case $heat in *mValue=*) ;; *) grep -sHE '^-?[0-9]' /sys/class/thermal/thermal_zone*/temp ;; esac
  echo '[end]'
) 2>/dev/null </dev/null
"""  # noqa: E501 - one pattern
"""A fragment for a phone's shell that prints one block for `read_state`. Needs no root, and leaves no names behind.

The kernel comes first: clocks fall within some ten milliseconds after a program, which is what the rest takes.
Two calls of system services (some ten milliseconds each; three seconds at most when the system hangs) and one `grep`
over the kernel's files. Thermal zones are read only where there is no thermal service (before Android 10): reading
them may wake sensors.
"""

_SKIN: Final = frozenset({"3", "SKIN"})
_NO_TEMPERATURES: Final = frozenset({-1, 6, 7, 8})
"""Types of "temperatures" that are none: unknown, and the battery current limiter's voltage, current and percentage
(`android.os.Temperature`)."""
_TICK_MS: Final = 10
"""`time_in_state` counts in `USER_HZ`, 100 a second (Linux, `cpufreq-stats.rst`)."""

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


class Skin(NamedTuple):
    """A sensor of what a hand feels, by which phones decide to hold themselves back.

    Attributes:
        name: The vendor's name for it.
        celsius: What it says now.
        limit_c: Where the phone begins to hold back; None where it does not say.
    """

    name: str
    celsius: float
    limit_c: float | None


class Ticks(NamedTuple):
    """CPU time since boot, in ticks."""

    busy: float
    total: float


@dataclass(frozen=True, slots=True)
class Reading:
    """A state, and what gates and the next reading need beside it.

    Attributes:
        state: The state.
        skins: Skin sensors that can be read.
        battery_c: Temperature of the battery.
        faked: Whether somebody holds the battery's readings at chosen values (`dumpsys battery set`).
        ticks: CPU time since boot.
    """

    state: DeviceState
    skins: tuple[Skin, ...] = ()
    battery_c: float | None = None
    faked: bool = False
    ticks: Ticks | None = None


def parse_state(text: str, time: float) -> DeviceState:
    """What `STATE_SCRIPT` printed, without `busy`, which needs two readings. Never raises; what is not there is None.

    Args:
        text: What it printed.
        time: When, Unix seconds.
    """
    return read_state(text, time).state


def read_state(text: str, time: float, before: Reading | None = None) -> Reading:
    """What `STATE_SCRIPT` printed. Never raises; what is not there, or not plausible, is None.

    Args:
        text: What it printed.
        time: When, Unix seconds.
        before: The previous reading, which `busy` counts from.
    """
    sections = _sections(text)
    battery = _Battery.of(sections.get("battery", ""))
    kernel = _Kernel.of(sections.get("kernel", "") + sections.get("zones", ""))
    heat = _Heat.of(sections.get("thermal", ""))
    hottest = max((*heat.temperatures, *kernel.temperatures), default=battery.celsius)
    state = DeviceState(
        time=time,
        load=kernel.load,
        busy=_busy(before.ticks if before else None, kernel.ticks),
        cpus=kernel.cpus,
        frequency_mhz=kernel.frequency_mhz,
        temperature_c=hottest,
        memory_available_bytes=kernel.memory_available_bytes,
        thermal_status=heat.status,
        residency_ms=kernel.residency_ms,
        domain_cpus=kernel.domain_cpus,
        battery_percent=battery.percent,
        battery_charge_uah=battery.charge_uah,
        battery_voltage_mv=battery.voltage_mv,
        plugged=battery.plugged,
    )
    return Reading(state, heat.skins, battery.celsius, battery.faked, kernel.ticks)


@dataclass(frozen=True, slots=True)
class _Battery:
    """`dumpsys battery`. Readings that somebody chose are none, nor are those of a battery that is not there."""

    percent: float | None = None
    celsius: float | None = None
    charge_uah: int | None = None
    voltage_mv: int | None = None
    plugged: bool | None = None
    faked: bool = False

    @classmethod
    def of(cls, text: str) -> _Battery:
        if "UPDATES STOPPED" in text:
            return cls(faked=True)
        lines: dict[str, str] = {}
        for key, value in _BATTERY_LINE.findall(text):
            lines.setdefault(key, value)  # vendors add lines of their own behind
        powered = [value == "true" for key, value in lines.items() if key.endswith(" powered")]
        plugged = any(powered) if powered else None
        if lines.get("present") == "false":
            return cls(plugged=plugged)
        level = _number(lines.get("level"), 0, 10_000)
        scale = _number(lines.get("scale", "100"), 1, 10_000)
        percent = None if level is None or scale is None or level > scale else 100 * level / scale
        tenths = _number(lines.get("temperature"), -400, 1500)
        charge = _number(lines.get("Charge counter"), 1, 1e9)
        voltage = _number(lines.get("voltage"), 1000, 30_000)
        return cls(
            percent=percent,
            celsius=None if tenths is None else tenths / 10,
            charge_uah=None if charge is None else int(charge),
            voltage_mv=None if voltage is None else int(voltage),
            plugged=plugged,
        )


@dataclass(frozen=True, slots=True)
class _Heat:
    """`dumpsys thermalservice`: what its sensors say now, not what it remembers of earlier events."""

    status: int | None = None
    temperatures: tuple[float, ...] = ()
    skins: tuple[Skin, ...] = ()

    @classmethod
    def of(cls, text: str) -> _Heat:
        found = None if "IsStatusOverride: true" in text else _STATUS.search(text)
        now = text.partition("Current temperatures from HAL:")[2].partition("Temperature static thresholds")[0]
        sensors = [
            (int(kind), name, celsius)
            for value, kind, name in _TEMPERATURE.findall(now)
            if int(kind) not in _NO_TEMPERATURES and (celsius := _celsius(value)) is not None
        ]
        limits = {name: _limit(numbers) for kind, name, numbers in _THRESHOLD.findall(text) if kind in _SKIN}
        return cls(
            status=int(found[1]) if found else None,
            temperatures=tuple(celsius for _, _, celsius in sensors),
            skins=tuple(Skin(name, celsius, limits.get(name)) for kind, name, celsius in sensors if str(kind) in _SKIN),
        )


@dataclass(frozen=True, slots=True)
class _Kernel:
    """What `grep` found in the kernel's files: lines of `path:content`."""

    load: float | None
    cpus: int | None
    ticks: Ticks | None
    frequency_mhz: tuple[float, ...] | None
    memory_available_bytes: int | None
    residency_ms: dict[str, dict[int, int]]
    domain_cpus: dict[str, tuple[int, ...]]
    temperatures: tuple[float, ...]

    @classmethod
    def of(cls, text: str) -> _Kernel:
        lines = [(path, content.split()) for path, colon, content in map(_split, text.splitlines()) if colon]
        stat = [words for path, words in lines if path == "/proc/stat" and words]
        loads = [_number(words[0], 0, 1e6) for path, words in lines if path == "/proc/loadavg" and words]
        free = [_number(words[1], 0, 1e12) for path, words in lines if path == "/proc/meminfo" and len(words) > 1]
        zones = [_zone(words[0]) for path, words in lines if path.endswith("/temp") and words]
        return cls(
            load=next(iter(loads), None),
            cpus=sum(words[0] != "cpu" for words in stat) or None,
            ticks=next((_ticks(words[1:]) for words in stat if words[0] == "cpu"), None),
            frequency_mhz=_frequencies(lines),
            memory_available_bytes=next((int(kib) * 1024 for kib in free if kib is not None), None),
            residency_ms=_residency(lines),
            domain_cpus=_domains(lines),
            temperatures=tuple(zone for zone in zones if zone is not None),
        )


def _sections(text: str) -> dict[str, str]:
    parts = _SECTION.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _split(line: str) -> tuple[str, str, str]:
    return line.partition(":")


def _busy(before: Ticks | None, now: Ticks | None) -> float | None:
    if before is None or now is None or now.total <= before.total:
        return None
    return min(1.0, max(0.0, (now.busy - before.busy) / (now.total - before.total)))


def _ticks(words: Sequence[str]) -> Ticks | None:
    """`user nice system idle iowait irq softirq steal`; what follows is counted in `user` already (proc(5))."""
    numbers = [_number(word, 0, 1e18) for word in words[:8]]
    values = [value for value in numbers if value is not None]
    if len(values) < 5 or len(values) != len(numbers):
        return None
    return Ticks(sum(values) - values[3] - values[4], sum(values))


def _frequencies(lines: Sequence[tuple[str, list[str]]]) -> tuple[float, ...] | None:
    """By CPU, up to the last that tells one; 0 for those that do not, which may be offline."""
    found: dict[int, float] = {}
    for path, words in lines:
        cpu, khz = _CPU.search(path), _number(words[0], 1, 1e9) if words else None
        if cpu and khz is not None:
            found[int(cpu[1])] = khz / 1000
    return tuple(found.get(cpu, 0.0) for cpu in range(max(found, default=-1) + 1)) or None


def _residency(lines: Sequence[tuple[str, list[str]]]) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for path, words in lines:
        domain = _DOMAIN.search(path)
        if domain and len(words) == 2:
            khz, ticks = _number(words[0], 1, 1e9), _number(words[1], 0, 1e15)
            if khz is not None and ticks is not None:
                found.setdefault(domain[1], {})[int(khz)] = int(ticks) * _TICK_MS
    return found


def _domains(lines: Sequence[tuple[str, list[str]]]) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for path, words in lines:
        domain, cpus = _RELATED.search(path), [_number(word, 0, 9999) for word in words]
        if domain and words:
            found[domain[1]] = tuple(int(cpu) for cpu in cpus if cpu is not None)
    return found


def _limit(numbers: str) -> float | None:
    """Where the phone begins to hold back: the first threshold that is a number, beginning with `LIGHT`.

    They stand by severity (`android.os.Temperature`); the first is that of no throttling at all.
    """
    return next(_plausible(numbers.split(",")[1:]), None)


def _plausible(words: Sequence[str]) -> Iterator[float]:
    return (celsius for word in words if (celsius := _number(word, 20, 150)) is not None)


def _celsius(word: str) -> float | None:
    """A temperature that a sensor can mean; a sensor that is not fitted says exactly 0."""
    return _number(word, -40, 150) or None


def _zone(word: str) -> float | None:
    """A thermal zone's temperature: thousandths of a degree, but tenths or whole ones in some old kernels."""
    raw = _number(word, -1e6, 1e6)
    if raw is None:
        return None
    size = abs(raw)
    return _celsius(str(raw / (1000 if size >= 1000 else 10 if size > 150 else 1)))


def _number(word: str | None, low: float, high: float) -> float | None:
    """The number, if it is one that can be meant."""
    try:
        value = float(word or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and low <= value <= high else None
