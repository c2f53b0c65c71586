"""Frames of HTTP/2 (RFC 9113), as far as RemoteXPC uses them: no header is ever compressed, for none is sent."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client sends first."""

ACK: Final = 0x1
"""Flag of `SETTINGS` and `PING`."""
END_HEADERS: Final = 0x4
"""Flag of `HEADERS`."""
PADDED: Final = 0x8
"""Flag of `DATA` and `HEADERS`."""

MAX_CONCURRENT_STREAMS: Final = 3
"""Number of a setting."""
INITIAL_WINDOW_SIZE: Final = 4
"""Number of a setting."""
MAX_FRAME_SIZE: Final = 5
"""Number of a setting."""

PROTOCOL_ERROR: Final = 1
"""Error code of `GOAWAY`."""
DEFAULT_WINDOW_BYTES: Final = 65_535
"""Window of a connection, and of a stream where the settings say nothing."""
DEFAULT_FRAME_BYTES: Final = 16_384
"""Longest payload of a frame where the settings say nothing."""
LARGEST_FRAME_BYTES: Final = 1 << 20
"""Longest payload that is read: go-ios writes a message in one frame, of whatever size."""

_SETTING: Final = struct.Struct(">HI")


class FrameType(IntEnum):
    """Types of frames."""

    DATA = 0
    HEADERS = 1
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8


class MalformedFrame(ValueError):
    """Bytes that are no frame, or a frame that has no place in RemoteXPC."""


@dataclass(frozen=True, slots=True)
class Http2Frame:
    """A frame.

    Attributes:
        kind: Its type, a `FrameType` or one that is ignored.
        flags: Its flags.
        stream: Number of its stream; 0 for the connection.
        payload: Its payload.
    """

    kind: int
    flags: int = 0
    stream: int = 0
    payload: bytes = b""

    def encode(self) -> bytes:
        """Return its bytes."""
        size = len(self.payload).to_bytes(3, "big")
        return size + struct.pack(">BBI", self.kind, self.flags, self.stream) + self.payload

    def content(self) -> bytes:
        """Return the payload of a `DATA` frame without its padding.

        Raises:
            MalformedFrame: It has more padding than payload.
        """
        if not self.flags & PADDED:
            return self.payload
        if not self.payload or self.payload[0] >= len(self.payload):
            raise MalformedFrame("a frame with more padding than payload")
        return self.payload[1 : len(self.payload) - self.payload[0]]

    def settings(self) -> dict[int, int]:
        """Return the values of a `SETTINGS` frame by the numbers of the settings.

        Raises:
            MalformedFrame: It does not consist of settings.
        """
        if len(self.payload) % _SETTING.size:
            raise MalformedFrame(f"settings of {len(self.payload)} bytes")
        return dict(_SETTING.iter_unpack(self.payload))

    def increment(self) -> int:
        """Return the bytes by which a `WINDOW_UPDATE` widens a window.

        Raises:
            MalformedFrame: It does not say how many, or none.
        """
        if len(self.payload) != 4 or not (size := int.from_bytes(self.payload, "big") & 0x7FFFFFFF):
            raise MalformedFrame(f"a window update of {self.payload.hex()!r}")
        return size


def make_settings(settings: dict[int, int]) -> Http2Frame:
    """Return a `SETTINGS` frame."""
    return Http2Frame(FrameType.SETTINGS, payload=b"".join(_SETTING.pack(*item) for item in settings.items()))


def make_window_update(stream: int, size: int) -> Http2Frame:
    """Return a `WINDOW_UPDATE` frame that widens a window by some bytes."""
    return Http2Frame(FrameType.WINDOW_UPDATE, stream=stream, payload=size.to_bytes(4, "big"))


def make_goaway(last_stream: int, reason: str) -> Http2Frame:
    """Return a `GOAWAY` frame for a client that breaks the protocol."""
    payload = struct.pack(">II", last_stream, PROTOCOL_ERROR) + reason.encode("utf-8", "replace")
    return Http2Frame(FrameType.GOAWAY, payload=payload)


def read_preface(recv_exactly: Callable[[int], bytes]) -> None:
    """Read what a client sends first.

    Raises:
        MalformedFrame: It speaks something else.
    """
    preface = recv_exactly(len(PREFACE))
    if preface != PREFACE:
        raise MalformedFrame(f"a client that begins with {preface!r}")


def read_frame(recv_exactly: Callable[[int], bytes]) -> Http2Frame:
    """Read the next frame.

    Raises:
        MalformedFrame: It is longer than frames that are read.
    """
    header = recv_exactly(9)
    size = int.from_bytes(header[:3], "big")
    if size > LARGEST_FRAME_BYTES:
        raise MalformedFrame(f"a frame of {size} bytes; at most {LARGEST_FRAME_BYTES} are read")
    kind, flags, stream = struct.unpack(">BBI", header[3:])
    return Http2Frame(kind, flags, stream & 0x7FFFFFFF, recv_exactly(size))
