"""Connections between a client on this machine and a stand-in iPhone, and the cable that they go over."""

from __future__ import annotations

import contextlib
import plistlib
import socket
import ssl
import struct
import threading
from typing import TYPE_CHECKING, Final
from xml.parsers.expat import ExpatError

if TYPE_CHECKING:
    from harness.testing.phones.ios.model import PhoneConditions

PLIST_LIMIT_BYTES: Final = 64 << 20
"""Longest property list that is read."""
UNREADABLE_PLIST: Final = (
    *(plistlib.InvalidFileException, ExpatError, ValueError, AttributeError, TypeError),
    *(LookupError, OverflowError, RecursionError, struct.error),
)
"""What `plistlib.loads` raises for what is no property list."""
_POLL_S: Final = 0.2
_CHUNK_BYTES: Final = 256 << 10
_THAW_POLL_S: Final = 0.02


class ConnectionEnded(ConnectionError):
    """The other side closed the connection, sent what cannot be understood, or the cable was unplugged."""


class Cable:
    """Cable of a phone: its open connections, and the bytes after which it comes out. Any thread may use it."""

    def __init__(self, conditions: PhoneConditions) -> None:
        self.conditions = conditions
        self._connections: set[ServiceConnection] = set()
        self._bytes_left: int | None = None
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def unplug(self) -> None:
        """Pull it out: every connection ends."""
        self.conditions.plugged_in = False
        self.drop_connections()

    def unplug_after(self, carried_bytes: int | None) -> None:
        """Pull it out when so many more bytes were carried, to the phone or from it; None leaves it in."""
        with self._lock:
            self._bytes_left = carried_bytes

    def drop_connections(self) -> None:
        """End every connection, as a restart of the phone does."""
        with self._lock:
            connections, self._connections = self._connections, set()
        for connection in connections:
            connection.close()

    def end(self) -> None:
        """End every connection and every wait for a frozen phone."""
        self._ended.set()
        self.unplug()

    def add(self, connection: ServiceConnection) -> None:
        """Count a connection among those that go over it."""
        with self._lock:
            self._connections.add(connection)

    def remove(self, connection: ServiceConnection) -> None:
        """Forget a connection that was closed."""
        with self._lock:
            self._connections.discard(connection)

    def allowed(self, wanted_bytes: int) -> int:
        """Return how many of these bytes it carries before it comes out."""
        with self._lock:
            return wanted_bytes if self._bytes_left is None else max(min(wanted_bytes, self._bytes_left), 1)

    def count(self, carried_bytes: int) -> None:
        """Count bytes that were carried; pull it out if those were the last."""
        with self._lock:
            if self._bytes_left is None:
                return
            self._bytes_left -= carried_bytes
            if self._bytes_left > 0:
                return
            self._bytes_left = None
        self.unplug()

    def wait_until_thawed(self) -> None:
        """Return when the phone is not frozen.

        Raises:
            ConnectionEnded: It was unplugged.
        """
        while self.conditions.frozen and self.conditions.plugged_in and not self._ended.wait(_THAW_POLL_S):
            pass
        if not self.conditions.plugged_in or self._ended.is_set():
            raise ConnectionEnded("the cable was unplugged")


class ServiceConnection:
    """Connection of a client with a service of a phone, plain or by TLS.

    One thread reads from it, any thread may write to it. Every method but `close` raises `ConnectionEnded` when the
    connection is no more.
    """

    def __init__(self, stream: socket.socket, cable: Cable) -> None:
        self._stream = stream
        self._cable = cable
        self._tls: ssl.SSLObject | None = None
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls_lock, self._send_lock = threading.Lock(), threading.Lock()
        self._read_ahead = bytearray()
        stream.settimeout(_POLL_S)
        with contextlib.suppress(OSError):
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        cable.add(self)

    def close(self) -> None:
        """End it; no error if it has ended."""
        self._cable.remove(self)
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)
        self._stream.close()

    def start_tls(self, context: ssl.SSLContext) -> None:
        """Go on by TLS, as its server."""
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        while True:
            try:
                with self._tls_lock:
                    self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush_tls()
                self._incoming.write(self._receive_raw())
            except ssl.SSLError as error:
                self._flush_tls()
                raise ConnectionEnded(f"no TLS: {error}") from error
            else:
                self._flush_tls()
                return

    def recv(self, limit: int = _CHUNK_BYTES) -> bytes:
        """Wait for bytes; return up to so many."""
        if not self._read_ahead:
            self._read_ahead += self._receive_raw() if self._tls is None else self._receive_tls(self._tls)
        chunk = bytes(self._read_ahead[:limit])
        del self._read_ahead[:limit]
        return chunk

    def recv_exactly(self, count: int) -> bytes:
        """Wait for so many bytes."""
        content = bytearray()
        while len(content) < count:
            content += self.recv(count - len(content))
        return bytes(content)

    def send(self, content: bytes) -> None:
        """Send bytes, whole and in order with those of other threads."""
        with self._send_lock:
            if self._tls is not None and content:
                with self._tls_lock:
                    self._tls.write(content)
                    content = self._outgoing.read()
            self._send_raw(content)

    def read_plist(self) -> dict[str, object]:
        """Read a property list after its length, four bytes, big-endian."""
        (length,) = struct.unpack(">I", self.recv_exactly(4))
        if length > PLIST_LIMIT_BYTES:
            raise ConnectionEnded(f"a property list of {length} bytes")
        return parse_plist(self.recv_exactly(length))

    def send_plist(self, message: dict[str, object]) -> None:
        """Send a property list after its length."""
        content = plistlib.dumps(message)
        self.send(struct.pack(">I", len(content)) + content)

    def _flush_tls(self) -> None:
        with self._send_lock:
            with self._tls_lock:
                encrypted = self._outgoing.read()
            if encrypted:
                self._send_raw(encrypted)

    def _receive_tls(self, tls: ssl.SSLObject) -> bytes:
        while True:
            try:
                with self._tls_lock:
                    content = tls.read(_CHUNK_BYTES)
            except ssl.SSLWantReadError:
                self._flush_tls()
                encrypted = self._receive_raw()
                with self._tls_lock:
                    self._incoming.write(encrypted)
            except ssl.SSLError as error:
                raise ConnectionEnded(f"TLS ended: {error}") from error
            else:
                if not content:
                    raise ConnectionEnded("the other side ended TLS")
                return content

    def _receive_raw(self) -> bytes:
        while True:
            try:
                content = self._stream.recv(self._cable.allowed(_CHUNK_BYTES))
            except TimeoutError:
                if not self._cable.conditions.plugged_in:
                    raise ConnectionEnded("the cable was unplugged") from None
                continue
            except OSError as error:
                raise ConnectionEnded(str(error)) from error
            if not content:
                raise ConnectionEnded("the other side closed the connection")
            self._cable.wait_until_thawed()
            self._cable.count(len(content))
            return content

    def _send_raw(self, content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            self._cable.wait_until_thawed()
            try:
                sent = self._stream.send(rest[: self._cable.allowed(len(rest))])
            except TimeoutError:
                continue
            except OSError as error:
                raise ConnectionEnded(str(error)) from error
            self._cable.count(sent)
            rest = rest[sent:]


def parse_plist(content: bytes) -> dict[str, object]:
    """Parse a property list, which must be a dictionary.

    Raises:
        ConnectionEnded: It is not: the other side speaks another protocol.
    """
    try:
        message = plistlib.loads(content)
    except UNREADABLE_PLIST as error:
        raise ConnectionEnded(f"no property list: {error}") from error
    if not isinstance(message, dict) or not all(isinstance(key, str) for key in message):
        raise ConnectionEnded("a property list that is no dictionary")
    return message
