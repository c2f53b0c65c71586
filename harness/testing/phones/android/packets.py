"""Packets of ADB's transport (packages/modules/adb/protocol.txt)."""

from __future__ import annotations

import asyncio
import re
import struct
from dataclasses import dataclass
from typing import Final

_HEADER: Final = struct.Struct("<6I")
_ALL_BITS: Final = 0xFFFFFFFF

CNXN: Final = b"CNXN"
AUTH: Final = b"AUTH"
OPEN: Final = b"OPEN"
OKAY: Final = b"OKAY"
WRTE: Final = b"WRTE"
CLSE: Final = b"CLSE"

# Values of `arg0` of AUTH
TOKEN: Final = 1
PUBLIC_KEY: Final = 3


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet.

    Attributes:
        command: Four letters.
        arg0: For streams the sender's number of the stream.
        arg1: For streams the receiver's number of the stream.
        data: Payload.
    """

    command: bytes
    arg0: int
    arg1: int
    data: bytes = b""

    def encode(self) -> bytes:
        """Return its bytes on the wire, with the checksum that old protocol versions check."""
        word = int.from_bytes(self.command, "little")
        checksum, magic = sum(self.data) & _ALL_BITS, word ^ _ALL_BITS
        return _HEADER.pack(word, self.arg0, self.arg1, len(self.data), checksum, magic) + self.data


@dataclass(frozen=True, slots=True)
class ReceivedPacket:
    """Packet with its bytes as they arrived, which need not be encoded again to be passed on."""

    packet: Packet
    wire: bytes


async def read_packet(stream: asyncio.StreamReader) -> ReceivedPacket:
    """Read the next packet.

    Raises:
        asyncio.IncompleteReadError: The other side is gone.
        OSError: The same, in other words.
    """
    header = await stream.readexactly(_HEADER.size)
    word, arg0, arg1, size, _, _ = _HEADER.unpack(header)
    data = await stream.readexactly(size)
    return ReceivedPacket(Packet(word.to_bytes(4, "little"), arg0, arg1, data), header + data)


def remove_features(banner: bytes, hidden: frozenset[str]) -> bytes:
    """Return the banner of a `CNXN` packet without some features."""

    def keep_others(match: re.Match[bytes]) -> bytes:
        names = match.group(2).decode().split(",")
        return match.group(1) + ",".join(name for name in names if name not in hidden).encode()

    return re.sub(rb"(features=)([^;\0]*)", keep_others, banner)
