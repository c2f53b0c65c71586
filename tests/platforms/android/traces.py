"""Perfetto's traces, built byte by byte from its published field numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def message(field: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(content)) + content


def fixed64(field: int) -> bytes:
    return varint(field << 3 | 1) + bytes(8)


def energy(index: int, time_ms: int, uws: int) -> bytes:
    return message(2, number(1, index), number(2, time_ms), number(3, uws))


def packet(*parts: bytes) -> bytes:
    """A packet with a timestamp, something that we do not know, and power rails."""
    return message(1, number(8, 123456789012), fixed64(99), message(38, number(1, 7)), message(40, *parts))


def rails_trace(names: Mapping[int, str], readings: Iterable[tuple[int, Mapping[int, int]]]) -> bytes:
    """A trace of power rails.

    Args:
        names: The rails by index.
        readings: Milliseconds since boot, and microwatt-seconds by index.
    """
    described = packet(*(message(1, number(1, index), message(2, name.encode())) for index, name in names.items()))
    packets = (packet(*(energy(index, time_ms, uws) for index, uws in all_.items())) for time_ms, all_ in readings)
    return b"".join((described, *packets))
