"""A shell on a phone: what it writes, packet by packet, until its exit code is there (adb's shell protocol, v2).

Format: one byte of kind, four of length (little endian), then the content; kinds as in AOSP's
`packages/modules/adb/shell_protocol.h`.
"""

from __future__ import annotations

import time
from typing import Final

from harness import shell
from platforms.android.link.connection import Wire

_STDIN: Final = 0
_STDOUT: Final = 1
_STDERR: Final = 2
_EXIT: Final = 3
_CLOSE_STDIN: Final = 4
_HEADER: Final = 5
_CHUNK: Final = 1 << 16


class ShellStream:
    """An open shell. Closing it makes the phone's daemon send SIGHUP to what it started.

    Args:
        wire: The connection, right after the service `shell,v2,raw:` was granted.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._unread = bytearray()
        self.out, self.err = bytearray(), bytearray()
        self.exit_code: int | None = None

    @property
    def flooded(self) -> bool:
        """Whether it wrote more to one of its outputs than anybody keeps."""
        return max(len(self.out), len(self.err)) > shell.MAX_OUTPUT_BYTES

    def read(self, deadline: float) -> bool:
        """Take what has arrived; wait a moment for it.

        Args:
            deadline: Of `time.monotonic`.

        Returns:
            False when there is nothing more to wait for: it ended, wrote too much, or its time is over.

        Raises:
            EOFError: The connection ended before the shell did.
            OSError: The connection broke.
            Interrupted: The harness is being stopped.
        """
        left_s = deadline - time.monotonic()
        if self.exit_code is not None or self.flooded or left_s <= 0:
            return False
        self._unread += self._wire.some(left_s)
        self._unpack()
        return True

    def write(self, text: bytes) -> None:
        """Give it something to read.

        Raises:
            OSError: The connection broke.
        """
        for start in range(0, len(text), _CHUNK):
            self._send(_STDIN, text[start : start + _CHUNK])

    def end_input(self) -> None:
        """Let it see the end of its input.

        Raises:
            OSError: The connection broke.
        """
        self._send(_CLOSE_STDIN, b"")

    def close(self) -> None:
        """End the connection, and so what still runs."""
        self._wire.close()

    def _send(self, kind: int, content: bytes) -> None:
        self._wire.send(bytes((kind,)) + len(content).to_bytes(4, "little") + content)

    def _unpack(self) -> None:
        start = 0
        while len(self._unread) - start >= _HEADER:
            kind = self._unread[start]
            end = start + _HEADER + int.from_bytes(self._unread[start + 1 : start + _HEADER], "little")
            if end > len(self._unread):
                break
            self._keep(kind, self._unread[start + _HEADER : end])
            start = end
        del self._unread[:start]

    def _keep(self, kind: int, content: bytearray) -> None:
        if kind == _STDOUT:
            self.out += content
        elif kind == _STDERR:
            self.err += content
        elif kind == _EXIT:
            self.exit_code = content[0]
