"""Power rails of a phone: their recording by `perfetto`, and the energy that went through each during a program.

The messages are those that perfetto publishes; no trace of a real phone was available for tests. Counters run
since boot in microwatt-seconds, times in milliseconds since boot, suspension included
(`perfetto/trace/power/power_rails.proto`, `android.hardware.power.stats`).
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from platforms.android.perfetto_trace import InvalidTrace, read_fields, read_integer, read_submessages

POLL_MS: Final = 250
"""Pause between two readings: often enough for a launch of seconds; perfetto allows none below 100."""

_FEWEST_READINGS: Final = 8
"""Readings during a program. Between two readings energy is interpolated, also at its start and at its end: with so
few, up to a sixteenth of its energy can be missed, a twenty-fourth on average, if the phone is otherwise idle.
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


def recording_config(limit_s: float) -> str:
    """Return the configuration for `perfetto --txt -c -` that records the rails until it is ended.

    Args:
        limit_s: Duration after which it ends by itself.
    """
    return _CONFIG.format(duration_ms=round(limit_s * 1000), poll_ms=POLL_MS)


class Rail(NamedTuple):
    """One power rail and its counter over one trace.

    Attributes:
        name: Its name, for example `S2M_VDD_CPUCL2`.
        readings: Milliseconds since boot and microwatt-seconds since boot, ordered by time.
    """

    name: str
    readings: tuple[tuple[int, int], ...]


def rail_energies_mj(rails: Sequence[Rail], began_ms: float, ended_ms: float) -> Mapping[str, float]:
    """Return the energy that went through each rail, by `rail NAME`, in millijoules.

    Args:
        rails: The rails of one trace.
        began_ms: When the program began, milliseconds since boot.
        ended_ms: When it had ended.

    Raises:
        InvalidTrace: A rail was not read before, often enough during, and after the program; or counted backwards.
    """
    energies_mj: dict[str, float] = {}
    for rail in rails:
        times, counts = [time_ms for time_ms, _ in rail.readings], [count for _, count in rail.readings]
        if not times or times[0] > began_ms or times[-1] < ended_ms:
            raise InvalidTrace(f"rail {rail.name} was not read from before its start until after its end")
        if sum(began_ms <= time_ms <= ended_ms for time_ms in times) < _FEWEST_READINGS:
            least_s = _FEWEST_READINGS * POLL_MS / 1000
            raise InvalidTrace(
                f"it ended too soon: its rails are read every {POLL_MS} ms, and {least_s:g} s are needed"
            )
        if counts != sorted(counts):
            raise InvalidTrace(f"the counter of rail {rail.name} ran backwards")
        used_uws = _interpolate(rail.readings, times, ended_ms) - _interpolate(rail.readings, times, began_ms)
        energies_mj[_unique_name(f"rail {rail.name}", energies_mj)] = used_uws / 1000
    return energies_mj


def parse_trace(trace: bytes) -> tuple[Rail, ...]:
    """Parse the power rails of a trace, sorted by name. A phone without rails gives none.

    Args:
        trace: Output of `perfetto`.

    Raises:
        InvalidTrace: It is no trace, or was cut off.
    """
    names: dict[int, str] = {}
    readings: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
    for packet in read_submessages(trace, _TRACE_PACKET):
        for message in read_submessages(packet, _PACKET_POWER_RAILS):
            names.update(map(_parse_descriptor, read_submessages(message, _RAILS_DESCRIPTOR)))
            for index, time_ms, energy_uws in map(_parse_reading, read_submessages(message, _RAILS_ENERGY)):
                readings[index].add((time_ms, energy_uws))
    rails = (Rail(names.get(index, str(index)), tuple(sorted(pairs))) for index, pairs in readings.items())
    return tuple(sorted(rails))


def _interpolate(readings: Sequence[tuple[int, int]], times: Sequence[int], moment_ms: float) -> float:
    """Return the counter at a moment between two readings."""
    after = min(max(1, bisect.bisect_left(times, moment_ms)), len(times) - 1)
    (before_ms, before), (after_ms, count) = readings[after - 1], readings[after]
    if after_ms == before_ms:
        return float(count)
    return before + (count - before) * (moment_ms - before_ms) / (after_ms - before_ms)


def _unique_name(name: str, taken: Mapping[str, float]) -> str:
    """Return a name that keeps two rails of the same name, of two meters, apart."""
    number = 2
    unique = name
    while unique in taken:
        unique, number = f"{name} #{number}", number + 1
    return unique


_TRACE_PACKET: Final = 1
_PACKET_POWER_RAILS: Final = 40
_RAILS_DESCRIPTOR: Final = 1
_RAILS_ENERGY: Final = 2
"""Field numbers of `Trace.packet`, `TracePacket.power_rails`, `PowerRails.rail_descriptor` and `.energy_data`."""


def _parse_descriptor(message: bytes) -> tuple[int, str]:
    """Parse `index` = 1, `rail_name` = 2. Absent numbers are 0, as in proto2 without a default."""
    fields = dict(read_fields(message))
    index, name = read_integer(fields, 1), fields.get(2, b"")
    return index, name.decode(errors="replace") if isinstance(name, bytes) and name else str(index)


def _parse_reading(message: bytes) -> tuple[int, int, int]:
    """Parse `index` = 1, `timestamp_ms` = 2, `energy` = 3."""
    fields = dict(read_fields(message))
    return read_integer(fields, 1), read_integer(fields, 2), read_integer(fields, 3)
