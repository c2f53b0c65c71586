"""Objects and messages of XPC as bytes, as RemoteXPC sends them.

A message is a header (magic, flags, length of the body, identifier) and at most one dictionary. An object is a type and
its payload, padded to four bytes; everything is little-endian. Public descriptions and go-ios (`ios/xpc`, MIT) agree on
this.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import UUID

ALWAYS: Final = 0x1
"""Flag that every message has."""
DATA: Final = 0x100
"""Flag of a message with a dictionary that is not empty."""
ROOT: Final = 0x200
"""Flag of the message that ends the opening of a connection."""
WANTS_REPLY: Final = 0x10000
"""Flag of a request."""
REPLY: Final = 0x20000
"""Flag of the answer to a request."""
OPENS_REPLIES: Final = 0x400000
"""Flag of the message that opens the stream of replies."""

LARGEST_BODY_BYTES: Final = 16 << 20
"""Longest body that is read; what go-ios sends is far below."""

_HEADER: Final = struct.Struct("<IIQQ")
_MESSAGE_MAGIC: Final = 0x29B00B92
_BODY_HEADER: Final = struct.Struct("<II")
_BODY_MAGIC: Final = 0x42133742
_BODY_VERSION: Final = 5
_WORD: Final = struct.Struct("<I")
_DEEPEST: Final = 64
"""Levels of dictionaries and arrays that are read."""

_NULL: Final = 0x1000
_BOOL: Final = 0x2000
_INT64: Final = 0x3000
_UINT64: Final = 0x4000
_DOUBLE: Final = 0x5000
_DATE: Final = 0x7000
_BYTES: Final = 0x8000
_STRING: Final = 0x9000
_UUID: Final = 0xA000
_ARRAY: Final = 0xE000
_DICTIONARY: Final = 0xF000


class MalformedXpc(ValueError):
    """Bytes that are no XPC, or values that XPC cannot hold."""


class Unsigned(int):
    """Unsigned integer of 64 bits; a plain `int` is a signed one."""


@dataclass(frozen=True, slots=True)
class XpcDate:
    """A date.

    Attributes:
        nanoseconds: Since 1970, UTC.
    """

    nanoseconds: int


XpcObject: TypeAlias = (
    "bool | int | float | bytes | str | UUID | XpcDate | Sequence[XpcObject] | Mapping[str, XpcObject] | None"
)
"""An object of XPC; `Unsigned` and `int` are different types there."""
XpcDictionary: TypeAlias = Mapping[str, XpcObject]
"""A dictionary of XPC."""


@dataclass(frozen=True, slots=True)
class XpcMessage:
    """A message.

    Attributes:
        flags: Its flags (`ALWAYS`, `DATA`, ...).
        number: Identifier that an answer repeats.
        body: Its dictionary; None for a message of flags only.
    """

    flags: int
    number: int = 0
    body: XpcDictionary | None = None

    def encode(self) -> bytes:
        """Return its bytes.

        Raises:
            MalformedXpc: A value has no form in XPC.
        """
        body = b""
        if self.body is not None:
            body = _BODY_HEADER.pack(_BODY_MAGIC, _BODY_VERSION) + encode_object(self.body)
        return _HEADER.pack(_MESSAGE_MAGIC, self.flags, len(body), self.number) + body


class XpcMessageReader:
    """Messages out of bytes that arrive in pieces."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> None:
        """Add bytes that arrived."""
        self._bytes += data

    def take(self) -> XpcMessage | None:
        """Return the next message, or None until all of it has arrived.

        Raises:
            MalformedXpc: The bytes are no message, or a longer one than is read.
        """
        if len(self._bytes) < _HEADER.size:
            return None
        magic, flags, size, number = _HEADER.unpack_from(self._bytes)
        if magic != _MESSAGE_MAGIC:
            raise MalformedXpc(f"a message begins with {magic:#010x}")
        if size > LARGEST_BODY_BYTES:
            raise MalformedXpc(f"a message of {size} bytes; at most {LARGEST_BODY_BYTES} are read")
        end = _HEADER.size + size
        if len(self._bytes) < end:
            return None
        body = bytes(self._bytes[_HEADER.size : end])
        del self._bytes[:end]
        return XpcMessage(flags, number, _decode_body(body) if body else None)


def _decode_body(body: bytes) -> XpcDictionary:
    if len(body) < _BODY_HEADER.size:
        raise MalformedXpc("a body without a header")
    magic, version = _BODY_HEADER.unpack_from(body)
    if magic != _BODY_MAGIC or version != _BODY_VERSION:
        raise MalformedXpc(f"a body begins with {magic:#010x}, version {version}")
    content = decode_object(body[_BODY_HEADER.size :])
    if not isinstance(content, Mapping):
        raise MalformedXpc("a body that is no dictionary")
    return content


def encode_object(content: XpcObject) -> bytes:
    """Return an object as bytes.

    Raises:
        MalformedXpc: A value has no form in XPC: a text with NUL, a number beyond 64 bits.
    """
    try:
        return _encode(content)
    except struct.error as error:
        raise MalformedXpc(f"a number beyond 64 bits: {error}") from error
    except UnicodeEncodeError as error:
        raise MalformedXpc(f"a text that is no Unicode: {error}") from error


def _encode(content: XpcObject) -> bytes:
    match content:
        case None:
            wire = _WORD.pack(_NULL)
        case bool():
            wire = struct.pack("<I?3x", _BOOL, content)
        case Unsigned():
            wire = struct.pack("<IQ", _UINT64, content)
        case int():
            wire = struct.pack("<Iq", _INT64, content)
        case float():
            wire = struct.pack("<Id", _DOUBLE, content)
        case XpcDate():
            wire = struct.pack("<Iq", _DATE, content.nanoseconds)
        case bytes():
            wire = struct.pack("<II", _BYTES, len(content)) + _pad(content)
        case str():
            text = _terminate(content)
            wire = struct.pack("<II", _STRING, len(text)) + _pad(text)
        case UUID():
            wire = _WORD.pack(_UUID) + content.bytes
        case Mapping():
            entries = b"".join(_pad(_terminate(key)) + _encode(member) for key, member in content.items())
            wire = struct.pack("<III", _DICTIONARY, len(entries) + _WORD.size, len(content)) + entries
        case _:
            members = b"".join(map(_encode, content))
            wire = struct.pack("<III", _ARRAY, len(members) + _WORD.size, len(content)) + members
    return wire


def _terminate(text: str) -> bytes:
    if "\0" in text:
        raise MalformedXpc(f"a text with NUL: {text!r}")
    return text.encode() + b"\0"


def _pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def decode_object(data: bytes) -> XpcObject:
    """Return the object that some bytes are.

    Raises:
        MalformedXpc: They are no object, or more than one.
    """
    cursor = _Cursor(data)
    content = _decode(cursor, 0)
    if cursor.place != len(data):
        raise MalformedXpc(f"{len(data) - cursor.place} bytes behind an object")
    return content


@dataclass(slots=True)
class _Cursor:
    """A place in bytes."""

    data: bytes
    place: int = 0

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.place:
            raise MalformedXpc(f"an object ends at byte {len(self.data)}, within {size} bytes from {self.place} on")
        self.place += size
        return self.data[self.place - size : self.place]

    def take_padded(self, size: int) -> bytes:
        return self.take(size + -size % 4)[:size]

    def take_word(self) -> int:
        return int.from_bytes(self.take(_WORD.size), "little")

    def take_key(self) -> str:
        end = self.data.find(b"\0", self.place)
        if end < 0:
            raise MalformedXpc("a key without an end")
        return _decode_text(self.take_padded(end + 1 - self.place))


def _decode(cursor: _Cursor, depth: int) -> XpcObject:
    kind = cursor.take_word()
    if kind in (_ARRAY, _DICTIONARY):
        if depth == _DEEPEST:
            raise MalformedXpc(f"more than {_DEEPEST} levels")
        return _decode_array(cursor, depth + 1) if kind == _ARRAY else _decode_dictionary(cursor, depth + 1)
    if kind not in _SCALARS:
        raise MalformedXpc(f"an object of the unknown type {kind:#010x}")
    return _SCALARS[kind](cursor)


def _decode_array(cursor: _Cursor, depth: int) -> XpcObject:
    size, count = cursor.take_word(), cursor.take_word()
    start = cursor.place
    members = [_decode(cursor, depth) for _ in range(_check_count(cursor, count))]
    # go-ios leaves the four bytes of the count out of an array's size.
    if cursor.place - start not in (size, size - _WORD.size):
        raise MalformedXpc(f"an array of {size} bytes takes {cursor.place - start}")
    return members


def _decode_dictionary(cursor: _Cursor, depth: int) -> XpcObject:
    size, count = cursor.take_word(), cursor.take_word()
    start = cursor.place
    members: dict[str, XpcObject] = {}
    for _ in range(_check_count(cursor, count)):
        key = cursor.take_key()
        if key in members:
            raise MalformedXpc(f"a dictionary with {key!r} twice")
        members[key] = _decode(cursor, depth)
    if cursor.place - start != size - _WORD.size:
        raise MalformedXpc(f"a dictionary of {size} bytes takes {cursor.place - start}")
    return members


def _check_count(cursor: _Cursor, count: int) -> int:
    if count > (len(cursor.data) - cursor.place) // _WORD.size:
        raise MalformedXpc(f"{count} members in {len(cursor.data) - cursor.place} bytes")
    return count


def _decode_bool(cursor: _Cursor) -> bool:
    return cursor.take_padded(1) != b"\0"


def _decode_string(cursor: _Cursor) -> str:
    return _decode_text(cursor.take_padded(cursor.take_word()))


def _decode_text(text: bytes) -> str:
    if text.find(b"\0") != len(text) - 1:
        raise MalformedXpc(f"a text that does not end with its only NUL: {text[:64]!r}")
    try:
        return text[:-1].decode()
    except UnicodeDecodeError as error:
        raise MalformedXpc(f"a text that is no UTF-8: {error}") from error


_SCALARS: Final[Mapping[int, Callable[[_Cursor], XpcObject]]] = {
    _NULL: lambda _: None,
    _BOOL: _decode_bool,
    _INT64: lambda cursor: int.from_bytes(cursor.take(8), "little", signed=True),
    _UINT64: lambda cursor: Unsigned(int.from_bytes(cursor.take(8), "little")),
    _DOUBLE: lambda cursor: float(struct.unpack("<d", cursor.take(8))[0]),
    _DATE: lambda cursor: XpcDate(int.from_bytes(cursor.take(8), "little", signed=True)),
    _BYTES: lambda cursor: cursor.take_padded(cursor.take_word()),
    _STRING: _decode_string,
    _UUID: lambda cursor: UUID(bytes=cursor.take(16)),
}
