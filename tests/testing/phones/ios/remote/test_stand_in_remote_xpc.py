from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.testing.phones.ios.model import IPhoneModel
from harness.testing.phones.ios.phone import StandInIPhone
from harness.testing.phones.ios.remote import http2, xpc
from harness.testing.phones.ios.remote.connection import REPLIES, REQUESTS, RemoteXpcConnection
from harness.testing.phones.ios.remote.discovery import serve_xpc
from harness.testing.phones.ios.remote.http2 import FrameType, Http2Frame, MalformedFrame
from harness.testing.phones.ios.remote.xpc import XpcMessage
from harness.testing.phones.ios.usbmux.connection import ConnectionEnded, ServiceConnection
from harness.testing.phones.ios.usbmux.pairing import Pairings, make_key
from tests.testing.phones.ios.remote.xpc_client import XpcClient

_FRAMES = st.builds(
    Http2Frame, st.integers(0, 255), st.integers(0, 255), st.integers(0, 2**31 - 1), st.binary(max_size=50)
)


def echo(connection: RemoteXpcConnection, _: StandInIPhone) -> None:
    """Answer each request by its own dictionary."""
    while True:
        request = connection.receive()
        connection.send(REPLIES, request.body or {}, number=request.number, flags=xpc.REPLY)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[XpcClient]:
    """Return a client of a service that echoes, before it opened its streams."""
    near, far = socket.socketpair()
    phone = StandInIPhone(IPhoneModel("U", "phone"), tmp_path, Pairings(make_key(), tmp_path))
    connection = ServiceConnection(far, phone.cable)

    def serve() -> None:
        with contextlib.suppress(ConnectionEnded):
            serve_xpc(echo)(connection, phone)
        connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    with near:
        yield XpcClient(near)
    thread.join(60)
    assert not thread.is_alive()


@given(st.lists(_FRAMES, max_size=4))
def test_frames_round_trip(sent: list[Http2Frame]) -> None:
    wire = bytearray(b"".join(frame.encode() for frame in sent))

    def take(size: int) -> bytes:
        piece = bytes(wire[:size])
        del wire[:size]
        return piece

    assert [http2.read_frame(take) for _ in sent] == sent


@pytest.mark.parametrize(
    "frame",
    [
        Http2Frame(FrameType.DATA, http2.PADDED, 1, b""),
        Http2Frame(FrameType.DATA, http2.PADDED, 1, b"\3abc"[:3]),
    ],
)
def test_more_padding_than_payload_is_refused(frame: Http2Frame) -> None:
    with pytest.raises(MalformedFrame, match="padding"):
        frame.content()


def test_padding_is_removed() -> None:
    assert Http2Frame(FrameType.DATA, http2.PADDED, 1, b"\2abc\0\0").content() == b"abc"


def test_a_request_is_answered_on_the_stream_of_replies_with_its_number(client: XpcClient) -> None:
    client.open()
    assert client.request({"a": [1, "b"]}) == XpcMessage(xpc.ALWAYS | xpc.DATA | xpc.REPLY, 5, {"a": [1, "b"]})


def test_a_request_in_many_frames_is_one(client: XpcClient) -> None:
    client.open()
    wire = XpcMessage(xpc.ALWAYS | xpc.DATA, 9, {"text": "x" * 100}).encode()
    for start in range(0, len(wire), 7):
        client.send_frame(Http2Frame(FrameType.DATA, stream=REQUESTS, payload=wire[start : start + 7]))
    assert client.receive(REPLIES).body == {"text": "x" * 100}


def test_an_answer_longer_than_the_window_waits_until_there_is_room(client: XpcClient) -> None:
    client.open({http2.INITIAL_WINDOW_SIZE: 100_000})
    client.send_frame(http2.make_window_update(0, 1 << 20))
    data = [frame for frame in client.frames if frame.kind == FrameType.DATA and frame.stream == REPLIES]
    body = {"data": bytes(250_000)}
    client.send(REQUESTS, XpcMessage(xpc.ALWAYS | xpc.DATA, 1, body))
    room, total, size = 100_000 - sum(len(frame.payload) for frame in data), 0, len(XpcMessage(0, 0, body).encode())
    reader = client.readers[REPLIES]
    while not (message := reader.take()):
        frame = client.read_until(lambda frame: frame.kind == FrameType.DATA and frame.stream == REPLIES)
        total += len(frame.payload)
        assert len(frame.payload) <= http2.DEFAULT_FRAME_BYTES
        assert total <= room
        reader.feed(frame.payload)
        if total == room < size:
            room += 60_000
            client.send_frame(http2.make_window_update(REPLIES, 60_000))
    assert message.body == body


def test_a_ping_is_answered_and_unknown_frames_are_ignored(client: XpcClient) -> None:
    client.open()
    client.send_frame(Http2Frame(0xEE, payload=b"?"))
    client.send_frame(Http2Frame(FrameType.PING, payload=b"12345678"))
    answer = client.read_until(lambda frame: frame.kind == FrameType.PING)
    assert (answer.flags, answer.payload) == (http2.ACK, b"12345678")


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (Http2Frame(FrameType.DATA, stream=5, payload=b"x"), b"data on stream 5"),
        (Http2Frame(FrameType.DATA, stream=1, payload=b"x" * 30), b"a message begins with"),
        (Http2Frame(FrameType.SETTINGS, payload=b"x"), b"settings of 1 bytes"),
        (Http2Frame(FrameType.WINDOW_UPDATE, payload=bytes(4)), b"a window update"),
        (Http2Frame(FrameType.SETTINGS, payload=b"\0\5\0\0\0\1"), b"frames of at most 1 bytes"),
        (Http2Frame(FrameType.DATA, stream=1, payload=bytes(http2.LARGEST_FRAME_BYTES + 1)), b"are read"),
    ],
)
def test_a_client_that_breaks_the_protocol_is_told_so_and_left(
    client: XpcClient, frame: Http2Frame, words: bytes
) -> None:
    client.open()
    try:
        client.send_frame(frame)
    except ConnectionError:  # A frame that is too long is not read to its end.
        return
    assert words in client.read_until(lambda frame: frame.kind == FrameType.GOAWAY).payload
    with pytest.raises((EOFError, ConnectionError)):
        client.read_frame()


def test_a_client_of_another_protocol_is_told_so(client: XpcClient) -> None:
    client.connection.sendall(b"GET / HTTP/1.1\r\nHost: phone\r\n\r\n")
    assert b"begins with" in client.read_frame().payload


def test_a_request_before_the_streams_are_open_is_refused(client: XpcClient) -> None:
    client.connection.sendall(http2.PREFACE)
    client.send(REQUESTS, XpcMessage(xpc.ALWAYS | xpc.DATA, 1, {"a": 1}))
    assert b"before the streams" in client.read_until(lambda frame: frame.kind == FrameType.GOAWAY).payload
