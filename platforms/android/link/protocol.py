"""adb's protocols over one connection to the adb server: raw bytes, shell v2, and file synchronisation v1.

Formats are those of AOSP's `packages/modules/adb`: `shell_protocol.h`, and `SYNC.TXT` with `file_sync_protocol.h`.
Files are transferred here and not by adbutils, which does not check how much was sent, loses the reason of a refusal,
and takes a missing file for an empty folder.
"""

from __future__ import annotations

import select
import socket
import stat
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from harness import shell

ANSWER_S: Final = 10.0
"""Time limit of an answer of a server or a phone. A healthy one takes milliseconds, a busy one perhaps a second."""

_POLL_S: Final = 0.1
"""Interval in which a waiting thread checks whether the harness is being stopped."""
_CHUNK: Final = 64 << 10
"""The most that one sync packet may carry (SYNC_DATA_MAX)."""
_WRITE_S: Final = 60.0
"""Time limit of a phone for writing a file to its storage."""

KILLED: Final = 128 + 9
"""Exit status that a shell reports of a program which SIGKILL ended."""

_STDIN: Final = 0
_STDOUT: Final = 1
_STDERR: Final = 2
_EXIT: Final = 3
_CLOSE_STDIN: Final = 4
_HEADER: Final = 5
"""Kinds of shell packets, and the size of their header: one byte of kind, four of length, little endian."""


def never_stop() -> None:
    """Do nothing when a wait checks for a stop: phones are listed and settings restored while the harness ends."""


class Connection:
    """One connection to the adb server, with time limits. Waiting ends with the harness (`shell.Interrupted`).

    Args:
        opened: The socket, which this object owns from now on.
        check_waiting: Called while waiting; ends it by raising.
    """

    def __init__(self, opened: socket.socket, check_waiting: Callable[[], None] = shell.check_stopping) -> None:
        opened.setblocking(False)
        self._socket = opened
        self._check_waiting = check_waiting

    def read_available(self, wait_s: float) -> bytes:
        """Return what has arrived; nothing when nothing does within a moment, or `wait_s`.

        Raises:
            EOFError: The other side closed the connection.
            OSError: The connection broke.
            Interrupted: The harness is being stopped.
        """
        self._check_waiting()
        if not select.select((self._socket,), (), (), min(_POLL_S, max(0.0, wait_s)))[0]:
            return b""
        return self._receive(_CHUNK)

    def read_exactly(self, count: int, timeout_s: float = ANSWER_S) -> bytes:
        """Return `count` bytes.

        Args:
            count: Number of bytes.
            timeout_s: How long nothing at all may arrive.

        Raises:
            EOFError: The other side closed the connection before.
            TimeoutError: Nothing arrived for too long.
            OSError: The connection broke.
            Interrupted: The harness is being stopped.
        """
        content = bytearray()
        while len(content) < count:
            self._wait(to_read=True, timeout_s=timeout_s)
            content += self._receive(count - len(content))
        return bytes(content)

    def send(self, content: bytes) -> None:
        """Write everything.

        Raises:
            TimeoutError: Nothing was accepted for too long.
            OSError: The connection broke.
            Interrupted: The harness is being stopped.
        """
        remaining = memoryview(content)
        while remaining:
            self._wait(to_read=False, timeout_s=ANSWER_S)
            remaining = remaining[self._socket.send(remaining) :]

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _wait(self, *, to_read: bool, timeout_s: float) -> None:
        readers, writers = ((self._socket,), ()) if to_read else ((), (self._socket,))
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            self._check_waiting()
            if any(select.select(readers, writers, (), _POLL_S)):
                return
        raise TimeoutError("no answer")

    def _receive(self, at_most: int) -> bytes:
        chunk = self._socket.recv(at_most)
        if not chunk:
            raise EOFError("the connection ended")
        return chunk


class ShellStream:
    """A shell on a phone and its output so far. Closing it makes the phone's daemon send SIGHUP to its programs.

    Args:
        connection: The connection, right after the service `shell,v2,raw:` was granted.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._unparsed = bytearray()
        self.out, self.err = bytearray(), bytearray()
        self.exit_code: int | None = None

    @property
    def flooded(self) -> bool:
        """True when it wrote more to one of its outputs than is kept."""
        return max(len(self.out), len(self.err)) > shell.MAX_OUTPUT_BYTES

    def read(self, deadline: float) -> bool:
        """Collect what has arrived; wait a moment for it.

        Args:
            deadline: Of `time.monotonic`.

        Returns:
            False when there is nothing more to wait for: it ended, wrote too much, or the deadline has passed.

        Raises:
            EOFError: The connection ended before the shell did.
            OSError: The connection broke.
            Interrupted: The harness is being stopped.
        """
        remaining_s = deadline - time.monotonic()
        if self.exit_code is not None or self.flooded or remaining_s <= 0:
            return False
        self._unparsed += self._connection.read_available(remaining_s)
        self._parse()
        return True

    def write(self, content: bytes) -> None:
        """Write to its standard input.

        Raises:
            OSError: The connection broke.
        """
        for start in range(0, len(content), _CHUNK):
            self._send(_STDIN, content[start : start + _CHUNK])

    def close_stdin(self) -> None:
        """Close its standard input.

        Raises:
            OSError: The connection broke.
        """
        self._send(_CLOSE_STDIN, b"")

    def close(self) -> None:
        """Close the connection, and so end what still runs."""
        self._connection.close()

    def _send(self, kind: int, content: bytes) -> None:
        self._connection.send(bytes((kind,)) + len(content).to_bytes(4, "little") + content)

    def _parse(self) -> None:
        start = 0
        while len(self._unparsed) - start >= _HEADER:
            kind = self._unparsed[start]
            end = start + _HEADER + int.from_bytes(self._unparsed[start + 1 : start + _HEADER], "little")
            if end > len(self._unparsed):
                break
            self._accept(kind, self._unparsed[start + _HEADER : end])
            start = end
        del self._unparsed[:start]

    def _accept(self, kind: int, content: bytearray) -> None:
        if kind == _STDOUT:
            self.out += content
        elif kind == _STDERR:
            self.err += content
        elif kind == _EXIT:
            self.exit_code = content[0]


def send_file(connection: Connection, local: Path, remote: str, mode: int) -> str | None:
    """Write a file on the phone, creating the folders above it.

    Returns:
        None, or why the phone refuses it.

    Raises:
        OSError: The connection broke, or the local file cannot be read.
        EOFError: The connection ended.
        Interrupted: The harness is being stopped.
    """
    _send_request(connection, b"SEND", f"{remote},{stat.S_IFREG | mode}")
    with local.open("rb", buffering=0) as content:
        while chunk := content.read(_CHUNK):
            connection.send(b"DATA" + struct.pack("<I", len(chunk)) + chunk)
    connection.send(b"DONE" + struct.pack("<I", int(local.stat().st_mtime)))
    name, length = struct.unpack("<4sI", connection.read_exactly(8, timeout_s=_WRITE_S))
    return None if name == b"OKAY" else connection.read_exactly(length).decode(errors="replace")


def remote_file_size(connection: Connection, remote: str) -> int | None:
    """Return the size of a regular file on the phone in bytes, modulo 2**32; None when there is none.

    Raises:
        OSError: The connection broke.
        EOFError: The connection ended.
    """
    _send_request(connection, b"STAT", remote)
    _, mode, size_bytes, _ = struct.unpack("<4sIII", connection.read_exactly(16))
    return int(size_bytes) if stat.S_ISREG(mode) else None


def receive_file(connection: Connection, remote: str, local: Path) -> str | None:
    """Copy a file of the phone into a local file.

    Returns:
        None, or why the phone refuses it.

    Raises:
        OSError: The connection broke, or the local file cannot be written.
        EOFError: The connection ended.
        Interrupted: The harness is being stopped.
    """
    _send_request(connection, b"RECV", remote)
    with local.open("wb") as content:
        while True:
            name, length = struct.unpack("<4sI", connection.read_exactly(8))
            if name == b"DONE":
                return None
            chunk = connection.read_exactly(length)
            if name != b"DATA":
                return chunk.decode(errors="replace")
            content.write(chunk)


def _send_request(connection: Connection, name: bytes, text: str) -> None:
    connection.send(name + struct.pack("<I", len(text.encode())) + text.encode())
