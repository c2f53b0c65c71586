from __future__ import annotations

import contextlib
import struct
from collections.abc import Mapping, Sequence
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.testing.phones.ios.remote import xpc
from harness.testing.phones.ios.remote.xpc import (
    MalformedXpc,
    Unsigned,
    XpcDate,
    XpcMessage,
    XpcMessageReader,
    XpcObject,
)

_TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
_SIGNED = st.integers(-(2**63), 2**63 - 1)
_SCALARS: st.SearchStrategy[XpcObject] = st.one_of(
    st.none(),
    st.booleans(),
    _SIGNED,
    st.integers(0, 2**64 - 1).map(Unsigned),
    st.floats(allow_nan=False),
    _SIGNED.map(XpcDate),
    st.binary(max_size=20),
    _TEXTS,
    st.uuids(),
)
_OBJECTS: st.SearchStrategy[XpcObject] = st.recursive(
    _SCALARS,
    lambda members: st.lists(members, max_size=4) | st.dictionaries(_TEXTS, members, max_size=4),
    max_leaves=12,
)
_DICTIONARIES = st.dictionaries(_TEXTS, _OBJECTS, max_size=4)
_MESSAGES = st.builds(XpcMessage, st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1), st.none() | _DICTIONARIES)


def name_types(content: XpcObject) -> object:
    """Return the types of an object's parts: equality alone takes 1 for True."""
    if isinstance(content, Mapping):
        return {key: name_types(member) for key, member in content.items()}
    if isinstance(content, Sequence) and not isinstance(content, str | bytes):
        return [name_types(member) for member in content]
    return type(content)


@given(_OBJECTS)
def test_objects_round_trip_with_their_types(content: XpcObject) -> None:
    decoded = xpc.decode_object(xpc.encode_object(content))
    assert decoded == content
    assert name_types(decoded) == name_types(content)


@given(st.lists(_MESSAGES, max_size=4), st.integers(1, 40))
def test_messages_round_trip_in_pieces_of_any_size(sent: list[XpcMessage], piece: int) -> None:
    wire = b"".join(message.encode() for message in sent)
    reader, received = XpcMessageReader(), []
    for start in range(0, len(wire), piece):
        reader.feed(wire[start : start + piece])
        while message := reader.take():
            received.append(message)
    assert received == sent


@given(_DICTIONARIES, st.data())
def test_truncated_objects_are_refused(content: XpcObject, data: st.DataObject) -> None:
    wire = xpc.encode_object(content)
    with pytest.raises(MalformedXpc):
        xpc.decode_object(wire[: data.draw(st.integers(0, len(wire) - 1))])


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_an_object_or_refused(wire: bytes) -> None:
    with contextlib.suppress(MalformedXpc):
        xpc.decode_object(wire)


@given(_DICTIONARIES, st.data())
def test_damaged_objects_are_an_object_or_refused(content: XpcObject, data: st.DataObject) -> None:
    wire = bytearray(xpc.encode_object(content))
    wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(MalformedXpc):
        xpc.decode_object(bytes(wire))


def test_the_bytes_are_those_of_the_protocol() -> None:
    message = XpcMessage(xpc.ALWAYS | xpc.DATA, 7, {"abc": "de", "n": Unsigned(3), "t": True, "u": UUID(int=1)})
    assert message.encode().hex(" ", 4) == (
        "920bb029 01010000 58000000 00000000 07000000 00000000 "
        "42371342 05000000 00f00000 48000000 04000000 "
        "61626300 00900000 03000000 64650000 "
        "6e000000 00400000 03000000 00000000 "
        "74000000 00200000 01000000 "
        "75000000 00a00000 00000000 00000000 00000000 00000001"
    )


def test_an_array_of_go_ios_whose_size_leaves_its_count_out_is_read() -> None:
    member = struct.pack("<Iq", 0x3000, 5)
    for size in (len(member), len(member) + 4):
        assert xpc.decode_object(struct.pack("<III", 0xE000, size, 1) + member) == [5]


@pytest.mark.parametrize(
    ("wire", "words"),
    [
        (struct.pack("<I", 0x1234), "unknown type"),
        (struct.pack("<III", 0xE000, 4, 0xFFFFFFFF), "members in"),
        (struct.pack("<III", 0xE000, 99, 0), "an array of 99 bytes"),
        (struct.pack("<III", 0xF000, 99, 0), "a dictionary of 99 bytes"),
        (struct.pack("<IIII", 0xF000, 8, 1, 0x61616161), "a key without an end"),
        (struct.pack("<II4s", 0x9000, 4, b"abcd"), "its only NUL"),
        (struct.pack("<II4s", 0x9000, 4, b"a\0b\0"), "its only NUL"),
        (struct.pack("<II4s", 0x9000, 2, b"\xff\0"), "no UTF-8"),
        (struct.pack("<II", 0x8000, 0xFFFFFFFF), "ends at byte"),
        (struct.pack("<II", 0x1000, 0x1000), "behind an object"),
        (struct.pack("<III", 0xE000, 4, 1) * 100, "levels"),
        (struct.pack("<III", 0xF000, 20, 2) + struct.pack("<4sI", b"a", 0x1000) * 2, "twice"),
    ],
)
def test_malformed_objects_are_refused_in_words(wire: bytes, words: str) -> None:
    with pytest.raises(MalformedXpc, match=words):
        xpc.decode_object(wire)


@pytest.mark.parametrize("content", ["a\0b", {"a\0": 1}, 2**63, Unsigned(2**64), Unsigned(-1), "\ud800"])
def test_what_xpc_cannot_hold_is_refused(content: XpcObject) -> None:
    with pytest.raises(MalformedXpc):
        xpc.encode_object(content)


@pytest.mark.parametrize(
    ("wire", "words"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "begins with"),
        (struct.pack("<IIQQ", 0x29B00B92, 1, 2**40, 0), "at most"),
        (struct.pack("<IIQQ", 0x29B00B92, 1, 4, 0) + bytes(4), "without a header"),
        (struct.pack("<IIQQII", 0x29B00B92, 1, 8, 0, 0x42133742, 4), "version 4"),
        (struct.pack("<IIQQIII", 0x29B00B92, 1, 12, 0, 0x42133742, 5, 0x1000), "no dictionary"),
    ],
)
def test_malformed_messages_are_refused_in_words(wire: bytes, words: str) -> None:
    reader = XpcMessageReader()
    reader.feed(wire)
    with pytest.raises(MalformedXpc, match=words):
        reader.take()
