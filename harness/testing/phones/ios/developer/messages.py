"""Messages of DTX, by which Xcode, Instruments and others talk to services of a phone.

    header (32 bytes): magic, its own size, fragment and number of fragments, bytes that follow, identifier,
        conversation index, channel, whether a reply is expected
    payload header (16 bytes): kind, bytes of the arguments, bytes of arguments and payload, flags
    arguments: a header of 16 bytes, then pairs of a key, which is always null, and a value
    payload: an archive: the selector of a call, or the value of a reply

A message of several fragments begins with a header without anything behind it; the content of the others, in order, is
payload header, arguments and payload. Integers are little-endian, but for the magic.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

MAGIC: Final = 0x795B3D1F
LARGEST_BYTES: Final = 64 << 20
"""Longest message that is read."""
_MOST_FRAGMENTS: Final = 4096
_HEADER: Final = struct.Struct("<IHHIIIiI")
_MAGIC: Final = struct.Struct(">I")
_PAYLOAD_HEADER: Final = struct.Struct("<IIII")
_ARGUMENTS_HEADER: Final = struct.Struct("<QQ")
_HEADER_BYTES: Final = _MAGIC.size + _HEADER.size
_BUFFER_BYTES: Final = 0x1F0
_TEXT, _BYTES, _INT32, _INT64, _NULL = 1, 2, 3, 6, 10
_UINT32_END: Final = 1 << 32


class MalformedMessage(ValueError):
    """Bytes that are no message, or none of a size that a client of ours sends."""


class MessageKind(enum.IntEnum):
    """What a message is. A message of another kind is refused."""

    ACKNOWLEDGEMENT = 0
    DATA = 1
    CALL = 2
    REPLY = 3
    ERROR = 4


Argument: TypeAlias = bytes | int | str | None
"""Argument of a call: an archive, a whole number from 0 to 2**64 - 1, or text."""


@dataclass(frozen=True, slots=True)
class DtxMessage:
    """One message.

    Attributes:
        kind: What it is.
        channel: Channel that it belongs to; negative where the receiver opened it.
        identifier: Number of the call, which its reply repeats.
        conversation: 0 for a call, 1 for its reply.
        expects_reply: Whether it is to be answered.
        arguments: Arguments of a call.
        payload: Archive of a selector, of the value of a reply, or of an error.
    """

    kind: MessageKind
    channel: int
    identifier: int
    conversation: int = 0
    expects_reply: bool = False
    arguments: Sequence[Argument] = field(default_factory=tuple)
    payload: bytes = b""


def encode_message(message: DtxMessage, *, fragment_bytes: int = LARGEST_BYTES) -> bytes:
    """Return a message as it is sent.

    Args:
        message: The message.
        fragment_bytes: Most bytes of its content in one fragment; it is split if there are more.
    """
    arguments = b"".join(map(_encode_argument, message.arguments))
    if arguments:
        arguments = _ARGUMENTS_HEADER.pack(_BUFFER_BYTES, len(arguments)) + arguments
    total = len(arguments) + len(message.payload)
    content = _PAYLOAD_HEADER.pack(message.kind, len(arguments), total, 0) + arguments + message.payload
    if len(content) <= fragment_bytes:
        return _encode_header(message, 0, 1, len(content)) + content
    chunks = [content[at : at + fragment_bytes] for at in range(0, len(content), fragment_bytes)]
    count = len(chunks) + 1
    parts = [_encode_header(message, 0, count, len(content))]
    for index, chunk in enumerate(chunks, start=1):
        parts += [_encode_header(message, index, count, len(chunk)), chunk]
    return b"".join(parts)


class DtxMessageReader:
    """Reads messages of a connection, and puts fragments together.

    Args:
        read_exactly: Waits for so many bytes, and returns them.
    """

    def __init__(self, read_exactly: Callable[[int], bytes]) -> None:
        self._read_exactly = read_exactly
        self._fragmented: dict[tuple[int, int, int], _Fragments] = {}

    def read(self) -> DtxMessage:
        """Wait for a whole message.

        Raises:
            MalformedMessage: What arrived is none; nothing more can be read.
        """
        while True:
            header = _read_header(self._read_exactly)
            key = (header.channel, header.identifier, header.conversation)
            if header.count == 1:
                return _decode(header, self._read_exactly(header.content_bytes))
            if header.index == 0:
                if len(self._fragmented) >= _MOST_FRAGMENTS:
                    raise MalformedMessage("too many messages whose fragments are missing")
                self._fragmented[key] = _Fragments(header)
                continue
            fragments = self._fragmented.get(key)
            if fragments is None:
                raise MalformedMessage("a fragment of a message that did not begin")
            if fragments.add(header, self._read_exactly(header.content_bytes)):
                del self._fragmented[key]
                return _decode(fragments.first, bytes(fragments.content))


@dataclass(frozen=True, slots=True)
class _Header:
    index: int
    count: int
    content_bytes: int
    identifier: int
    conversation: int
    channel: int
    expects_reply: bool


@dataclass(slots=True)
class _Fragments:
    first: _Header
    content: bytearray = field(default_factory=bytearray)
    next: int = 1

    def add(self, header: _Header, content: bytes) -> bool:
        """Add the next fragment; return whether it is the last."""
        if header.index != self.next or header.count != self.first.count:
            raise MalformedMessage(f"fragment {header.index} of {header.count} where {self.next} was expected")
        self.next += 1
        self.content += content
        if len(self.content) > self.first.content_bytes:
            raise MalformedMessage("fragments that are longer than their message")
        if self.next < self.first.count:
            return False
        if len(self.content) < self.first.content_bytes:
            raise MalformedMessage("fragments that are shorter than their message")
        return True


def _encode_header(message: DtxMessage, index: int, count: int, content_bytes: int) -> bytes:
    numbers = (index, count, content_bytes, message.identifier, message.conversation, message.channel)
    return _MAGIC.pack(MAGIC) + _HEADER.pack(_HEADER_BYTES, *numbers, int(message.expects_reply))


def _read_header(read_exactly: Callable[[int], bytes]) -> _Header:
    content = read_exactly(_HEADER_BYTES)
    (magic,) = _MAGIC.unpack_from(content)
    if magic != MAGIC:
        raise MalformedMessage(f"a message that begins with {magic:#010x}")
    size, index, count, content_bytes, identifier, conversation, channel, reply = _HEADER.unpack_from(content, 4)
    if size != _HEADER_BYTES:
        raise MalformedMessage(f"a header of {size} bytes")
    if not 1 <= count <= _MOST_FRAGMENTS or index >= count:
        raise MalformedMessage(f"fragment {index} of {count}")
    if content_bytes > LARGEST_BYTES:
        raise MalformedMessage(f"a message of {content_bytes} bytes")
    return _Header(index, count, content_bytes, identifier, conversation, channel, reply == 1)


def _decode(header: _Header, content: bytes) -> DtxMessage:
    if len(content) < _PAYLOAD_HEADER.size:
        raise MalformedMessage("a message without a payload header")
    kind, argument_bytes, total, _flags = _PAYLOAD_HEADER.unpack_from(content)
    if _PAYLOAD_HEADER.size + total != len(content) or argument_bytes > total:
        raise MalformedMessage("a message whose parts are longer or shorter than the whole")
    try:
        known = MessageKind(kind)
    except ValueError as error:
        raise MalformedMessage(f"a message of kind {kind}") from error
    end = _PAYLOAD_HEADER.size + argument_bytes
    return DtxMessage(
        kind=known,
        channel=header.channel,
        identifier=header.identifier,
        conversation=header.conversation,
        expects_reply=header.expects_reply,
        arguments=_decode_arguments(content[_PAYLOAD_HEADER.size : end]) if argument_bytes else (),
        payload=content[end:],
    )


def _encode_argument(value: Argument) -> bytes:
    key = struct.pack("<I", _NULL)
    if value is None:
        return key + key
    if isinstance(value, int):
        return key + (struct.pack("<II", _INT32, value) if value < _UINT32_END else struct.pack("<IQ", _INT64, value))
    kind, content = (_TEXT, value.encode()) if isinstance(value, str) else (_BYTES, value)
    return key + struct.pack("<II", kind, len(content)) + content


def _decode_arguments(content: bytes) -> tuple[Argument, ...]:
    if len(content) < _ARGUMENTS_HEADER.size:
        raise MalformedMessage("arguments without a header")
    values = tuple(_split(content[_ARGUMENTS_HEADER.size :]))
    if len(values) % 2:
        raise MalformedMessage("a key without an argument")
    return values[1::2]


def _split(content: bytes) -> Iterator[Argument]:
    """Yield keys and values, in turns."""
    at = 0

    def take(count: int) -> bytes:
        nonlocal at
        if at + count > len(content):
            raise MalformedMessage("an argument that is longer than all of them")
        at += count
        return content[at - count : at]

    while at < len(content):
        kind = int.from_bytes(take(4), "little")
        if kind == _NULL:
            yield None
        elif kind in {_INT32, _INT64}:
            yield int.from_bytes(take(4 if kind == _INT32 else 8), "little")
        elif kind in {_TEXT, _BYTES}:
            value = take(int.from_bytes(take(4), "little"))
            yield value if kind == _BYTES else value.decode(errors="replace")
        else:
            raise MalformedMessage(f"an argument of kind {kind}")
