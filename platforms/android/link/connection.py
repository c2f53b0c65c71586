"""A connection to the adb server that is read and written with patience, but not without end."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from typing import Final

from harness import shell

ANSWER_S: Final = 10.0
"""How long a server or a phone may take to answer. A healthy one takes milliseconds, a busy one perhaps a second."""

_LOOK_S: Final = 0.1
"""How often a waiting thread looks whether the harness is being stopped."""
_CHUNK: Final = 1 << 16


class Wire:
    """One connection. Waiting ends with the harness (`shell.Interrupted`).

    Args:
        opened: The socket; it belongs to this object from now on.
        heed: Called while it waits; ends the waiting by raising.
    """

    def __init__(self, opened: socket.socket, heed: Callable[[], None] = shell.check_stopping) -> None:
        opened.setblocking(False)
        self._socket = opened
        self._heed = heed

    def some(self, wait_s: float) -> bytes:
        """What has arrived; nothing when nothing does for a moment, or for `wait_s`.

        Raises:
            EOFError: The other side ended the connection.
            OSError: It broke.
            Interrupted: The harness is being stopped.
        """
        self._heed()
        if not select.select((self._socket,), (), (), min(_LOOK_S, max(0.0, wait_s)))[0]:
            return b""
        return self._received(_CHUNK)

    def exactly(self, count: int, patience_s: float = ANSWER_S) -> bytes:
        """So many bytes.

        Args:
            count: How many.
            patience_s: How long nothing at all may arrive.

        Raises:
            EOFError: The other side ended the connection before.
            TimeoutError: Nothing arrived for too long.
            OSError: It broke.
            Interrupted: The harness is being stopped.
        """
        got = bytearray()
        while len(got) < count:
            self._wait(to_read=True, patience_s=patience_s)
            got += self._received(count - len(got))
        return bytes(got)

    def send(self, content: bytes) -> None:
        """Write everything.

        Raises:
            TimeoutError: Nothing was taken for too long.
            OSError: It broke.
            Interrupted: The harness is being stopped.
        """
        left = memoryview(content)
        while left:
            self._wait(to_read=False, patience_s=ANSWER_S)
            left = left[self._socket.send(left) :]

    def close(self) -> None:
        """End it."""
        self._socket.close()

    def _wait(self, *, to_read: bool, patience_s: float) -> None:
        readers, writers = ((self._socket,), ()) if to_read else ((), (self._socket,))
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            self._heed()
            if any(select.select(readers, writers, (), _LOOK_S)):
                return
        raise TimeoutError("no answer")

    def _received(self, most: int) -> bytes:
        chunk = self._socket.recv(most)
        if not chunk:
            raise EOFError("the connection ended")
        return chunk
