"""`com.apple.coredevice.openstdiosocket`: connections that become standard input and output of an app."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from harness.testing.phones.ios.usbmux.connection import ServiceConnection

if TYPE_CHECKING:
    from harness.testing.phones.ios.phone import StandInIPhone


class StandardStreams:
    """Open connections by the identifiers that clients got for them. Any thread may use it."""

    def __init__(self) -> None:
        self._connections: dict[UUID, ServiceConnection] = {}
        self._lock = threading.Lock()

    def serve(self, connection: ServiceConnection, _: StandInIPhone) -> None:
        """Tell a client the identifier of its connection, and keep that open; input is read and not used."""
        identifier = uuid4()
        with self._lock:
            self._connections[identifier] = connection
        try:
            connection.send(identifier.bytes)
            while True:
                connection.recv()
        finally:
            with self._lock:
                del self._connections[identifier]

    def find(self, identifier: UUID) -> ServiceConnection | None:
        """Return an open connection; None if it has ended, or never was."""
        with self._lock:
            return self._connections.get(identifier)
