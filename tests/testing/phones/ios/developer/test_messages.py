from __future__ import annotations

import contextlib
import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.testing.phones.ios.developer.messages import (
    LARGEST_BYTES,
    MAGIC,
    DtxMessage,
    DtxMessageReader,
    MalformedMessage,
    MessageKind,
    encode_message,
)

_ARGUMENTS = st.lists(
    st.none() | st.integers(0, 2**64 - 1) | st.binary(max_size=60) | st.text(st.characters(codec="utf-8"), max_size=30),
    max_size=4,
).map(tuple)
_NUMBERS = st.integers(0, 2**32 - 1)
_MESSAGES = st.builds(
    DtxMessage,
    st.sampled_from(MessageKind),
    st.integers(-(2**31), 2**31 - 1),
    _NUMBERS,
    _NUMBERS,
    st.booleans(),
    _ARGUMENTS,
    st.binary(max_size=200),
)


def _reader(content: bytes) -> DtxMessageReader:
    stream = io.BytesIO(content)

    def read_exactly(count: int) -> bytes:
        chunk = stream.read(count)
        if len(chunk) < count:
            raise EOFError
        return chunk

    return DtxMessageReader(read_exactly)


@given(st.lists(st.tuples(_MESSAGES, st.integers(1, 300)), max_size=4))
def test_what_was_sent_is_read_again_whole_or_in_fragments(sent: list[tuple[DtxMessage, int]]) -> None:
    reader = _reader(b"".join(encode_message(message, fragment_bytes=size) for message, size in sent))
    assert [reader.read() for _ in sent] == [message for message, _ in sent]


def test_fragments_of_two_messages_may_be_mixed() -> None:
    first = DtxMessage(MessageKind.CALL, 1, 1, payload=b"first")
    second = DtxMessage(MessageKind.CALL, 2, 1, payload=b"second")
    parts = [_split_fragments(encode_message(message, fragment_bytes=8)) for message in (first, second)]
    assert len(parts[0]) == 4
    reader = _reader(b"".join(part for pair in zip(*parts, strict=True) for part in pair))
    assert [reader.read(), reader.read()] == [first, second]


def _split_fragments(content: bytes) -> list[bytes]:
    parts = [content[:32]]
    rest = content[32:]
    while rest:
        (length,) = struct.unpack_from("<I", rest, 12)
        parts.append(rest[: 32 + length])
        rest = rest[32 + length :]
    return parts


@given(_MESSAGES, st.data())
def test_a_message_with_a_broken_byte_is_read_or_refused(message: DtxMessage, data: st.DataObject) -> None:
    content = bytearray(encode_message(message, fragment_bytes=data.draw(st.integers(1, 300))))
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(MalformedMessage, EOFError):
        _reader(bytes(content)).read()


@given(st.binary(min_size=32, max_size=200))
def test_bytes_that_are_no_message_are_refused(content: bytes) -> None:
    with pytest.raises(MalformedMessage):
        _reader(content).read()


def _header(**changed: int) -> bytes:
    values = {
        "size": 32,
        "index": 0,
        "count": 1,
        "length": 16,
        "identifier": 1,
        "conversation": 0,
        "channel": 0,
        "reply": 0,
    } | changed
    return struct.pack(">I", MAGIC) + struct.pack("<IHHIIIiI", *values.values())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (_header(size=31) + bytes(16), "a header of 31 bytes"),
        (_header(count=0), "fragment 0 of 0"),
        (_header(index=2, count=2), "fragment 2 of 2"),
        (_header(count=65535), "of 65535"),
        (_header(length=LARGEST_BYTES + 1), "a message of"),
        (_header(length=3) + bytes(3), "without a payload header"),
        (_header() + struct.pack("<IIII", 2, 0, 5, 0), "longer or shorter"),
        (_header() + struct.pack("<IIII", 2, 5, 0, 0), "longer or shorter"),
        (_header() + struct.pack("<IIII", 0x707, 0, 0, 0), "of kind 1799"),
        (_header(length=20) + struct.pack("<IIII", 2, 4, 4, 0) + bytes(4), "arguments without a header"),
        (_header(index=1, count=2, length=1) + b"x", "did not begin"),
        (_header(count=3, length=9) + _header(index=2, count=3, length=1) + b"x", "where 1 was expected"),
        (_header(count=2, length=9) + _header(index=1, count=2, length=1) + b"x", "shorter than their message"),
        (_header(count=2, length=0) + _header(index=1, count=2, length=1) + b"x", "longer than their message"),
    ],
)
def test_a_message_of_another_form_is_refused_in_words(content: bytes, reason: str) -> None:
    with pytest.raises(MalformedMessage, match=reason):
        _reader(content).read()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (struct.pack("<I", 10), "a key without an argument"),
        (struct.pack("<II", 10, 7), "an argument of kind 7"),
        (struct.pack("<III", 10, 2, 1 << 31), "longer than all of them"),
        (struct.pack("<IIH", 10, 3, 1), "longer than all of them"),
    ],
)
def test_arguments_of_another_form_are_refused_in_words(arguments: bytes, reason: str) -> None:
    packed = struct.pack("<QQ", 0x1F0, len(arguments)) + arguments
    content = struct.pack("<IIII", 2, len(packed), len(packed), 0) + packed
    with pytest.raises(MalformedMessage, match=reason):
        _reader(_header(length=len(content)) + content).read()
