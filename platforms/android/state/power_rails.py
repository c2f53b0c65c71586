"""Power rails of a phone: what `perfetto` records of them, and the energy that went through each during a program.

The messages are those that perfetto publishes; no trace of a real phone was at hand when this was written. Counters run
since boot in microwatt-seconds, times in milliseconds since boot, suspension included
(`perfetto/trace/power/power_rails.proto`, `android.hardware.power.stats`).
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

POLL_MS: Final = 250
"""Pause between two readings: often enough for a launch of seconds; perfetto allows none below 100."""

_FEWEST_READINGS: Final = 8
"""Readings during a program. Between two readings energy is shared by time, also at its start and at its end: were
the phone to draw nothing but for it, a sixteenth of its energy could be missed with so few, a twenty-fourth on average.
"""

_CONFIG: Final = """\
duration_ms: {duration_ms}
buffers {{ size_kb: 4096 fill_policy: DISCARD }}
data_sources {{
  config {{
    name: "android.power"
    android_power_config {{ battery_poll_ms: {poll_ms} collect_power_rails: true }}
  }}
}}
"""


def config(limit_s: float) -> str:
    """The text for `perfetto --txt -c -` that records the rails until it is ended.

    Args:
        limit_s: It ends itself after so long, in case nobody does.
    """
    return _CONFIG.format(duration_ms=round(limit_s * 1000), poll_ms=POLL_MS)


class Rail(NamedTuple):
    """One power rail and its counter over one trace.

    Attributes:
        name: Its name, for example `S2M_VDD_CPUCL2`.
        readings: Milliseconds since boot and microwatt-seconds since boot, in the order of time.
    """

    name: str
    readings: tuple[tuple[int, int], ...]


class TraceBroken(ValueError):
    """Bytes that are no perfetto trace, or one that does not tell what happened during the program."""


def spent_mj(rails: Sequence[Rail], began_ms: float, ended_ms: float) -> Mapping[str, float]:
    """The energy that went through each rail, by `rail NAME`, in millijoules.

    Args:
        rails: The rails of one trace.
        began_ms: When the program began, milliseconds since boot.
        ended_ms: When it had ended.

    Raises:
        TraceBroken: A rail was not read before, often enough during, and after the program; or counted backwards.
    """
    found: dict[str, float] = {}
    for rail in rails:
        times, counts = [time_ms for time_ms, _ in rail.readings], [count for _, count in rail.readings]
        if not times or times[0] > began_ms or times[-1] < ended_ms:
            raise TraceBroken(f"rail {rail.name} was not read from before its start until after its end")
        if sum(began_ms <= time_ms <= ended_ms for time_ms in times) < _FEWEST_READINGS:
            least_s = _FEWEST_READINGS * POLL_MS / 1000
            raise TraceBroken(f"it ended too soon: its rails are read every {POLL_MS} ms, and {least_s:g} s are needed")
        if counts != sorted(counts):
            raise TraceBroken(f"the counter of rail {rail.name} ran backwards")
        found[_free(f"rail {rail.name}", found)] = (
            _at(rail.readings, times, ended_ms) - _at(rail.readings, times, began_ms)
        ) / 1000
    return found


def parse(trace: bytes) -> tuple[Rail, ...]:
    """The power rails of a trace, by name. A phone without rails gives none.

    Args:
        trace: What `perfetto` wrote.

    Raises:
        TraceBroken: It is no trace, or was cut off.
    """
    names: dict[int, str] = {}
    readings: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
    for packet in _inner(trace, _TRACE_PACKET):
        for message in _inner(packet, _PACKET_POWER_RAILS):
            names.update(map(_descriptor, _inner(message, _RAILS_DESCRIPTOR)))
            for index, time_ms, energy_uws in map(_reading, _inner(message, _RAILS_ENERGY)):
                readings[index].add((time_ms, energy_uws))
    return tuple(sorted(Rail(names.get(index, str(index)), tuple(sorted(found))) for index, found in readings.items()))


def _at(readings: Sequence[tuple[int, int]], times: Sequence[int], moment_ms: float) -> float:
    """The counter at a moment between two readings."""
    after = min(max(1, bisect.bisect_left(times, moment_ms)), len(times) - 1)
    (before_ms, before), (after_ms, count) = readings[after - 1], readings[after]
    if after_ms == before_ms:
        return float(count)
    return before + (count - before) * (moment_ms - before_ms) / (after_ms - before_ms)


def _free(name: str, taken: Mapping[str, float]) -> str:
    """Two rails of one name, of two meters, stay apart."""
    number = 2
    wanted = name
    while wanted in taken:
        wanted, number = f"{name} #{number}", number + 1
    return wanted


_TRACE_PACKET: Final = 1
_PACKET_POWER_RAILS: Final = 40
_RAILS_DESCRIPTOR: Final = 1
_RAILS_ENERGY: Final = 2
"""Field numbers of `Trace.packet`, `TracePacket.power_rails`, `PowerRails.rail_descriptor` and `.energy_data`."""

_VARINT: Final = 0
_BYTES: Final = 2
_FIXED_BYTES: Final[Mapping[int, int]] = {1: 8, 5: 4}
"""Wire types of protocol buffers (protobuf.dev, "Encoding"); the last two are passed over."""


def _descriptor(message: bytes) -> tuple[int, str]:
    """`index` = 1, `rail_name` = 2. Absent numbers are 0, as in proto2 without a default."""
    fields = dict(_fields(message))
    index, name = _whole(fields, 1), fields.get(2, b"")
    return index, name.decode(errors="replace") if isinstance(name, bytes) and name else str(index)


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
