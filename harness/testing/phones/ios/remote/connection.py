"""RemoteXPC: messages of XPC over two streams of one HTTP/2 connection, from the phone's side.

A client opens stream 1 with an empty dictionary, stream 3 with a message of flags only, and ends the opening with
another one on stream 1; each is answered in kind. Requests come on stream 1. Where answers go is a matter of the
service: go-ios waits for most of them on stream 3.
"""

from __future__ import annotations

from typing import Final, Protocol

from harness.testing.phones.ios.remote import http2, xpc
from harness.testing.phones.ios.remote.http2 import FrameType, Http2Frame, MalformedFrame
from harness.testing.phones.ios.remote.xpc import MalformedXpc, XpcDictionary, XpcMessage, XpcMessageReader

REQUESTS: Final = 1
"""Stream that the client opens first, for its requests."""
REPLIES: Final = 3
"""Stream that the client opens for answers."""

_STREAMS: Final = (REQUESTS, REPLIES)
_WINDOW_BYTES: Final = 1 << 20


class ByteStream(Protocol):
    """Connection to a client."""

    def recv_exactly(self, size: int) -> bytes:
        """Return the next bytes; raises `ConnectionError` or `EOFError` where there are fewer."""

    def send(self, data: bytes) -> None:
        """Send bytes."""


class RemoteXpcConnection:
    """A connection of a client to a service, in one thread.

    Args:
        stream: The bytes; `RemoteXpcConnection` does not close it.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._readers = {number: XpcMessageReader() for number in _STREAMS}
        self._answered: set[int] = set()
        self._frame_bytes = http2.DEFAULT_FRAME_BYTES
        self._initial_window = http2.DEFAULT_WINDOW_BYTES
        self._windows = dict.fromkeys((0, *_STREAMS), http2.DEFAULT_WINDOW_BYTES)

    def open(self) -> None:
        """Let the client open its streams.

        Raises:
            MalformedFrame: The client breaks HTTP/2.
            MalformedXpc: It breaks XPC, or sends a request before the streams are open.
            ConnectionError: It went away.
        """
        http2.read_preface(self._stream.recv_exactly)
        limits = {http2.MAX_CONCURRENT_STREAMS: 100, http2.INITIAL_WINDOW_SIZE: _WINDOW_BYTES}
        self._send_frame(http2.make_settings(limits))
        self._send_frame(http2.make_window_update(0, _WINDOW_BYTES - http2.DEFAULT_WINDOW_BYTES))
        opening = True
        while opening:
            number, message = self._receive()
            if message.body:
                raise MalformedXpc("a request before the streams are open")
            opening = not (number == REQUESTS and message.flags & xpc.ROOT)
            flags = xpc.ALWAYS | (message.flags & (xpc.ROOT | xpc.OPENS_REPLIES))
            self._send_message(number, XpcMessage(flags, message.number, message.body))

    def receive(self) -> XpcMessage:
        """Return the client's next request; messages of flags only are skipped.

        Raises:
            MalformedFrame: The client breaks HTTP/2.
            MalformedXpc: It breaks XPC.
            ConnectionError: It went away.
        """
        while True:
            number, message = self._receive()
            if number == REQUESTS and message.body is not None:
                return message

    def send(self, stream: int, body: XpcDictionary, *, number: int = 0, flags: int = 0) -> None:
        """Send a dictionary.

        Args:
            stream: `REQUESTS` or `REPLIES`.
            body: The dictionary.
            number: That of the request that it answers.
            flags: Beside `ALWAYS` and `DATA`.
        """
        self._send_message(stream, XpcMessage(xpc.ALWAYS | xpc.DATA | flags, number, body))

    def refuse(self, reason: str) -> None:
        """Tell the client that it breaks the protocol."""
        self._send_frame(http2.make_goaway(max(self._answered, default=0), reason))

    def _receive(self) -> tuple[int, XpcMessage]:
        while True:
            for number, reader in self._readers.items():
                if message := reader.take():
                    return number, message
            self._read_frame()

    def _read_frame(self) -> None:
        frame = http2.read_frame(self._stream.recv_exactly)
        match frame.kind:
            case FrameType.DATA:
                self._take_data(frame)
            case FrameType.SETTINGS if not frame.flags & http2.ACK:
                self._take_settings(frame)
            case FrameType.PING if not frame.flags & http2.ACK:
                self._send_frame(Http2Frame(FrameType.PING, http2.ACK, payload=frame.payload))
            case FrameType.WINDOW_UPDATE if frame.stream in self._windows:
                self._windows[frame.stream] += frame.increment()
            case FrameType.GOAWAY | FrameType.RST_STREAM:
                raise ConnectionResetError("the client ended the connection")

    def _take_data(self, frame: Http2Frame) -> None:
        if frame.stream not in self._readers:
            raise MalformedFrame(f"data on stream {frame.stream}")
        self._readers[frame.stream].feed(frame.content())
        if frame.payload:
            self._send_frame(http2.make_window_update(0, len(frame.payload)))
            self._send_frame(http2.make_window_update(frame.stream, len(frame.payload)))

    def _take_settings(self, frame: Http2Frame) -> None:
        settings = frame.settings()
        window = settings.get(http2.INITIAL_WINDOW_SIZE, self._initial_window)
        for number in _STREAMS:
            self._windows[number] += window - self._initial_window
        self._initial_window = window
        self._frame_bytes = settings.get(http2.MAX_FRAME_SIZE, self._frame_bytes)
        if self._frame_bytes < http2.DEFAULT_FRAME_BYTES:
            raise MalformedFrame(f"frames of at most {self._frame_bytes} bytes")
        self._send_frame(Http2Frame(FrameType.SETTINGS, http2.ACK))

    def _send_message(self, stream: int, message: XpcMessage) -> None:
        if stream not in self._answered:
            self._answered.add(stream)
            self._send_frame(Http2Frame(FrameType.HEADERS, http2.END_HEADERS, stream))
        data = message.encode()
        while data:
            size = min(len(data), self._frame_bytes, self._windows[0], self._windows[stream])
            if size <= 0:
                self._read_frame()
                continue
            self._windows[0] -= size
            self._windows[stream] -= size
            piece, data = data[:size], data[size:]
            self._send_frame(Http2Frame(FrameType.DATA, stream=stream, payload=piece))

    def _send_frame(self, frame: Http2Frame) -> None:
        self._stream.send(frame.encode())
