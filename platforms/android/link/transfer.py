"""Files over adb's sync service.

By hand, because adbutils sends without looking how much was sent, loses the reason of a refusal, and takes a missing
file for an empty folder. Format: AOSP's `packages/modules/adb/SYNC.TXT` and `file_sync_protocol.h`, version 1, which
every Android speaks: four letters of identifier, four bytes of number (little endian).
"""

from __future__ import annotations

import stat
import struct
from pathlib import Path
from typing import Final

from platforms.android.link.connection import Wire

_CHUNK: Final = 64 << 10
"""The most that one packet may carry (SYNC_DATA_MAX)."""
_WRITTEN_S: Final = 60.0
"""How long a phone may take to write what it was sent."""


def send(wire: Wire, local: Path, remote: str, mode: int) -> str | None:
    """Write a file on the phone; folders above it are made.

    Returns:
        None, or why the phone refuses it.

    Raises:
        OSError: The connection broke, or the file here cannot be read.
        EOFError: The connection ended.
        Interrupted: The harness is being stopped.
    """
    _request(wire, b"SEND", f"{remote},{stat.S_IFREG | mode}")
    with local.open("rb", buffering=0) as content:
        while chunk := content.read(_CHUNK):
            wire.send(b"DATA" + struct.pack("<I", len(chunk)) + chunk)
    wire.send(b"DONE" + struct.pack("<I", int(local.stat().st_mtime)))
    return _verdict(wire)


def size(wire: Wire, remote: str) -> int | None:
    """Bytes of a regular file on the phone, modulo 2**32; None when there is none.

    Raises:
        OSError: The connection broke.
        EOFError: The connection ended.
    """
    _request(wire, b"STAT", remote)
    _, mode, size_bytes, _ = struct.unpack("<4sIII", wire.exactly(16))
    return int(size_bytes) if stat.S_ISREG(mode) else None


def receive(wire: Wire, remote: str, local: Path) -> str | None:
    """Read a file of the phone into a file here.

    Returns:
        None, or why the phone refuses it.

    Raises:
        OSError: The connection broke, or the file here cannot be written.
        EOFError: The connection ended.
        Interrupted: The harness is being stopped.
    """
    _request(wire, b"RECV", remote)
    with local.open("wb") as content:
        while True:
            name, length = struct.unpack("<4sI", wire.exactly(8))
            if name == b"DONE":
                return None
            got = wire.exactly(length)
            if name != b"DATA":
                return got.decode(errors="replace")
            content.write(got)


def _request(wire: Wire, name: bytes, text: str) -> None:
    wire.send(name + struct.pack("<I", len(text.encode())) + text.encode())


def _verdict(wire: Wire) -> str | None:
    name, length = struct.unpack("<4sI", wire.exactly(8, patience_s=_WRITTEN_S))
    return None if name == b"OKAY" else wire.exactly(length).decode(errors="replace")
