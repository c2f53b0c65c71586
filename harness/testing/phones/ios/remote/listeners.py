"""Listening sockets of this machine."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable
from typing import Final

_END_S: Final = 10.0

Accepted = Callable[[socket.socket], None]
"""What serves a connection, in a thread of its own; it closes the socket."""


class Listeners:
    """Listening sockets of this machine, in one thread; each connection is served in a thread of its own."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._accept_all, name="stand-in tunnels", daemon=True)

    def listen(self, address: str, accepted: Accepted) -> int:
        """Listen at a free port of an address before `start`, and return the port.

        Raises:
            OSError: This machine does not have the address.
        """
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = socket.create_server((address, 0), family=family, backlog=64)
        self._selector.register(listener, selectors.EVENT_READ, accepted)
        return int(listener.getsockname()[1])

    def start(self) -> None:
        """Begin to accept connections."""
        self._thread.start()

    def close(self) -> None:
        """Close the listening sockets; connections stay."""
        self._wake.send(b"\0")
        self._thread.join(_END_S)
        for key in tuple(self._selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._wake.close()
        self._selector.close()

    def _accept_all(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._woken:
                    return
                if isinstance(key.fileobj, socket.socket):
                    self._accept(key.fileobj, key.data)

    def _accept(self, listener: socket.socket, accepted: Accepted) -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            name = "stand-in tunnel connection"
            threading.Thread(target=accepted, args=(connection,), name=name, daemon=True).start()
