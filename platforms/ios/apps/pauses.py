"""Pauses between two looks for what an app leaves on a phone: each look wakes the phone for a moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_FIRST_S: Final = 0.3
_LONGEST_S: Final = 5.0
_GROWTH: Final = 1.5


def growing_pauses() -> Iterator[float]:
    """Yield the pauses, in seconds, without end."""
    pause_s = _FIRST_S
    while True:
        yield pause_s
        pause_s = min(_LONGEST_S, pause_s * _GROWTH)
