"""Energy of what ran on a phone: from its battery's counters, or from its power rails by way of perfetto.

The rails' part follows perfetto's published messages; no trace of a real phone was at hand when it was written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from harness.core.device import DeviceState

_COULOMB_PER_UAH: Final = 3.6e-3
"""1 µAh = 1e-6 A · 3600 s."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Energy, or why there is no number.

    Attributes:
        energy_mj: Millijoules.
        reason: Why it is not known.
    """

    energy_mj: float | None
    reason: str | None = None


def battery_energy(before: DeviceState, after: DeviceState) -> Spent:
    """What the whole phone took from its battery between two states: charge times mean voltage.

    Coarse: many phones count in steps of a thousand µAh, that is some 14 J, and some only every few seconds.

    Args:
        before: State before.
        after: State after.
    """
    if before.plugged is not False or after.plugged is not False:
        known = before.plugged is not None and after.plugged is not None
        return Spent(
            None, "it is plugged in: reach it over Wi-Fi" if known else "it does not tell whether it is plugged"
        )
    if before.battery_charge_uah is None or after.battery_charge_uah is None:
        return Spent(None, "its battery does not count charge")
    if before.battery_voltage_mv is None or after.battery_voltage_mv is None:
        return Spent(None, "its battery does not tell its voltage")
    used_uah = before.battery_charge_uah - after.battery_charge_uah
    if used_uah <= 0:
        return Spent(None, "the battery's counter did not move: measure for longer")
    return Spent(used_uah * _COULOMB_PER_UAH * (before.battery_voltage_mv + after.battery_voltage_mv) / 2)


_RAILS_CONFIG: Final = """\
buffers {{ size_kb: 4096 fill_policy: DISCARD }}
data_sources {{
  config {{
    name: "android.power"
    android_power_config {{
      battery_poll_ms: {poll_ms}
      battery_counters: BATTERY_COUNTER_CHARGE
      battery_counters: BATTERY_COUNTER_CURRENT
      collect_power_rails: true
    }}
  }}
}}
"""


def rails_config(poll_ms: int = 250) -> str:
    """The text for `perfetto --txt -c -` that records a phone's power rails until it is ended.

    Args:
        poll_ms: Pause between two readings.
    """
    return _RAILS_CONFIG.format(poll_ms=poll_ms)


class Rail(NamedTuple):
    """One power rail over one trace.

    Attributes:
        name: Its name.
        subsystem: What it feeds, for example `cpu`; empty where the phone does not say.
        energy_mj: What went through it from the first reading to the last, millijoules.
        duration_s: Seconds between these.
    """

    name: str
    subsystem: str
    energy_mj: float
    duration_s: float


class TraceBroken(ValueError):
    """Bytes that are no perfetto trace."""


def rails(trace: bytes) -> tuple[Rail, ...]:
    """The power rails of a trace, by name; those that were read only once are left out.

    Counters run since boot in microwatt-seconds (`perfetto/trace/power/power_rails.proto`). A phone without rails
    gives none.

    Args:
        trace: What `perfetto` wrote.

    Raises:
        TraceBroken: It is none, or was cut off.
    """
    names: dict[int, tuple[str, str]] = {}
    readings: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for packet in _inner(trace, _TRACE_PACKET):
        for message in _inner(packet, _PACKET_POWER_RAILS):
            for index, name, subsystem in map(_descriptor, _inner(message, _RAILS_DESCRIPTOR)):
                names[index] = (name, subsystem)
            for index, time_ms, energy_uws in map(_reading, _inner(message, _RAILS_ENERGY)):
                readings[index].append((time_ms, energy_uws))
    return tuple(sorted(_rails(names, readings)))


_TRACE_PACKET: Final = 1
_PACKET_POWER_RAILS: Final = 40
_RAILS_DESCRIPTOR: Final = 1
_RAILS_ENERGY: Final = 2
"""Field numbers of `Trace.packet`, `TracePacket.power_rails`, `PowerRails.rail_descriptor` and `.energy_data`."""

_VARINT: Final = 0
_BYTES: Final = 2
_FIXED_BYTES: Final[Mapping[int, int]] = {1: 8, 5: 4}
"""Wire types of protocol buffers (protobuf.dev, "Encoding"); the last two are passed over."""


def _rails(names: Mapping[int, tuple[str, str]], readings: Mapping[int, Sequence[tuple[int, int]]]) -> Iterator[Rail]:
    for index, found in readings.items():
        (start_ms, first), (end_ms, last) = min(found), max(found)
        name, subsystem = names.get(index, (f"rail {index}", ""))
        if end_ms > start_ms and last >= first:
            yield Rail(name, subsystem, (last - first) / 1000, (end_ms - start_ms) / 1000)


def _descriptor(message: bytes) -> tuple[int, str, str]:
    """`index` = 1, `rail_name` = 2, `subsys_name` = 3. Absent numbers are 0, as in proto2 without a default."""
    fields = dict(_fields(message))
    texts = [part.decode(errors="replace") if isinstance(part := fields.get(key, b""), bytes) else "" for key in (2, 3)]
    return _whole(fields, 1), texts[0], texts[1]


def _reading(message: bytes) -> tuple[int, int, int]:
    """`index` = 1, `timestamp_ms` = 2, `energy` = 3."""
    fields = dict(_fields(message))
    return _whole(fields, 1), _whole(fields, 2), _whole(fields, 3)


def _whole(fields: Mapping[int, int | bytes], key: int) -> int:
    value = fields.get(key, 0)
    return value if isinstance(value, int) else 0


def _inner(message: bytes, number: int) -> Iterator[bytes]:
    return (value for key, value in _fields(message) if key == number and isinstance(value, bytes))


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message as they come: number, and whole number or bytes."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if wire == _BYTES:
            size, at = _varint(message, at)
        elif wire in _FIXED_BYTES:
            size = _FIXED_BYTES[wire]
        else:
            raise TraceBroken(f"no field has wire type {wire}")
        if at + size > len(message):
            raise TraceBroken("it was cut off")
        if wire == _BYTES:
            yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise TraceBroken("it was cut off")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise TraceBroken("a number is too long")
