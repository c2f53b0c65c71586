"""Messages of perfetto's traces, which are protocol buffers, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

_VARINT: Final = 0
_BYTES: Final = 2
_FIXED_BYTES: Final[Mapping[int, int]] = {1: 8, 5: 4}
"""Wire types of protocol buffers (protobuf.dev, "Encoding"); the last two are skipped."""


class InvalidTrace(ValueError):
    """Bytes that are no perfetto trace, or one that does not cover the program."""


def read_integer(fields: Mapping[int, int | bytes], key: int) -> int:
    """Return a number; absent ones are 0, as in proto2 without a default."""
    value = fields.get(key, 0)
    return value if isinstance(value, int) else 0


def read_submessages(message: bytes, number: int) -> Iterator[bytes]:
    """Yield the messages of one field. Errors as for `read_fields`."""
    return (value for key, value in read_fields(message) if key == number and isinstance(value, bytes))


def read_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message in their order: number, and integer or bytes.

    Raises:
        InvalidTrace: It is no message, or was cut off.
    """
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
            raise InvalidTrace(f"no field has wire type {wire}")
        if at + size > len(message):
            raise InvalidTrace("it was cut off")
        if wire == _BYTES:
            yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise InvalidTrace("it was cut off")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise InvalidTrace("a number is too long")
