"""The packets of ADB's transport (packages/modules/adb/protocol.txt). Pure but for reading them from a stream."""

from __future__ import annotations

import asyncio
import re
import struct
from dataclasses import dataclass
from typing import Final

_HEADER: Final = struct.Struct("<6I")
_ONES: Final = 0xFFFFFFFF

CNXN: Final = b"CNXN"
AUTH: Final = b"AUTH"
OPEN: Final = b"OPEN"
OKAY: Final = b"OKAY"
WRTE: Final = b"WRTE"
CLSE: Final = b"CLSE"

TOKEN: Final = 1
SIGNATURE: Final = 2
PUBLIC_KEY: Final = 3


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet.

    Attributes:
        command: Four letters.
        first: `arg0`: for streams the sender's number of the stream.
        second: `arg1`: for streams the receiver's number of the stream.
        data: Payload.
    """

    command: bytes
    first: int
    second: int
    data: bytes = b""

    def encoded(self) -> bytes:
        """As it goes over the wire, with the checksum that old protocol versions look at."""
        word = int.from_bytes(self.command, "little")
        header = _HEADER.pack(word, self.first, self.second, len(self.data), sum(self.data) & _ONES, word ^ _ONES)
        return header + self.data


@dataclass(frozen=True, slots=True)
class Raw:
    """A packet as it came, which need not be encoded again to be passed on.

    Attributes:
        packet: What it says.
        wire: Its bytes.
    """

    packet: Packet
    wire: bytes


async def read(stream: asyncio.StreamReader) -> Raw:
    """The next packet.

    Raises:
        asyncio.IncompleteReadError: The other side is gone.
        OSError: The same, in other words.
    """
    header = await stream.readexactly(_HEADER.size)
    word, first, second, size, _, _ = _HEADER.unpack(header)
    data = await stream.readexactly(size)
    return Raw(Packet(word.to_bytes(4, "little"), first, second, data), header + data)


def without_features(banner: bytes, hidden: frozenset[str]) -> bytes:
    """A `CNXN` banner that does not offer some features."""

    def keep(found: re.Match[bytes]) -> bytes:
        names = found.group(2).decode().split(",")
        return found.group(1) + ",".join(name for name in names if name not in hidden).encode()

    return re.sub(rb"(features=)([^;\0]*)", keep, banner)
