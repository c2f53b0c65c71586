"""A client of RemoteXPC, as go-ios is one: for what no command of go-ios asks for."""

from __future__ import annotations

import socket
from collections.abc import Callable

from harness.testing.phones.ios.remote import http2, xpc
from harness.testing.phones.ios.remote.connection import REPLIES, REQUESTS
from harness.testing.phones.ios.remote.http2 import FrameType, Http2Frame
from harness.testing.phones.ios.remote.xpc import XpcDictionary, XpcMessage, XpcMessageReader


class XpcClient:
    """Client of one connection."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(60)
        self.connection = connection
        self.frames: list[Http2Frame] = []
        self.readers = {number: XpcMessageReader() for number in (REQUESTS, REPLIES)}

    def recv_exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self.connection.recv(size - len(data))
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)

    def send_frame(self, frame: Http2Frame) -> None:
        self.connection.sendall(frame.encode())

    def send(self, stream: int, message: XpcMessage) -> None:
        self.send_frame(Http2Frame(FrameType.DATA, stream=stream, payload=message.encode()))

    def request(self, body: XpcDictionary, stream: int = REPLIES) -> XpcMessage:
        self.send(REQUESTS, XpcMessage(xpc.ALWAYS | xpc.DATA | xpc.WANTS_REPLY, 5, body))
        return self.receive(stream)

    def receive(self, stream: int) -> XpcMessage:
        while not (message := self.readers[stream].take()):
            frame = self.read_frame()
            if frame.kind == FrameType.DATA:
                self.readers[frame.stream].feed(frame.payload)
        return message

    def read_frame(self) -> Http2Frame:
        self.frames.append(http2.read_frame(self.recv_exactly))
        return self.frames[-1]

    def read_until(self, is_wanted: Callable[[Http2Frame], bool]) -> Http2Frame:
        while not is_wanted(frame := self.read_frame()):
            continue
        return frame

    def open(self, settings: dict[int, int] | None = None) -> None:
        self.connection.sendall(http2.PREFACE)
        self.send_frame(http2.make_settings(settings or {http2.INITIAL_WINDOW_SIZE: 1 << 20}))
        self.send_frame(http2.make_window_update(0, 983_041))
        for stream, flags, body in ((REQUESTS, 0, {}), (REPLIES, xpc.OPENS_REPLIES, None), (REQUESTS, xpc.ROOT, None)):
            self.send_frame(Http2Frame(FrameType.HEADERS, http2.END_HEADERS, stream))
            self.send(stream, XpcMessage(xpc.ALWAYS | flags, 0, body))
            self.receive(stream)
