"""The state of a stand-in phone's cable: what is wrong with it, and what went through. Pure; used by one event loop."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Link:
    """What the proxy does to packets.

    Attributes:
        authorised: Whether the phone lets this machine in.
        delay_s: Seconds that a packet to the phone needs.
        bytes_per_s: How much goes through each way; None for as much as can.
        cut_after_bytes: After so many more bytes the connection breaks, once.
        streams: How many streams were opened: each is a round trip at least.
    """

    authorised: bool = True
    delay_s: float = 0.0
    bytes_per_s: float | None = None
    cut_after_bytes: int | None = None
    streams: int = 0

    def allowed(self, size: int) -> int:
        """How many of these bytes go through before the connection breaks; they are counted."""
        if self.cut_after_bytes is None:
            return size
        passed = min(size, self.cut_after_bytes)
        self.cut_after_bytes -= passed
        return passed
