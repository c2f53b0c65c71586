"""From places in a history and relative differences to places in a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from reporters.alarms.window import Window

WIDTH: Final = 760
HEIGHT: Final = 320
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 50, 46

_INSET: Final = 10
"""Free pixels beside the first and the last point."""
_TICKS: Final = 7
"""About so many lines of the grid."""
_NARROWEST: Final = 0.005
"""The picture is at least as high as half a percent: noise should look like noise."""


@dataclass(frozen=True, slots=True)
class Axes:
    """The frame of a picture.

    Attributes:
        first: Place in the history at its left.
        last: At its right.
        low: Relative difference at its bottom.
        high: At its top.
    """

    first: int
    last: int
    low: float
    high: float

    def x(self, order: int) -> float:
        """Pixels from the left; what is beyond the picture lies on its edge."""
        inside = min(max(order, self.first), self.last)
        share = (inside - self.first) / (self.last - self.first) if self.last > self.first else 0.5
        return LEFT + _INSET + share * (WIDTH - LEFT - RIGHT - 2 * _INSET)

    def y(self, share: float) -> float:
        """Pixels from the top, in the same way."""
        inside = min(max(share, self.low), self.high)
        return TOP + (self.high - inside) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)

    def holds(self, share: float) -> bool:
        """Whether it is inside."""
        return self.low <= share <= self.high

    def ticks(self) -> Iterator[float]:
        """Round differences for a grid."""
        rough = (self.high - self.low) / _TICKS
        size = 10.0 ** math.floor(math.log10(rough))
        step = next(size * factor for factor in (1, 2, 5, 10, 20) if size * factor >= rough)
        return (number * step for number in range(math.ceil(self.low / step), math.floor(self.high / step) + 1))


def axes(window: Window) -> Axes:
    """Zero, all but the most extreme points, and their intervals as far as these are not much wider."""
    ordered = sorted(dot.difference for dot in window.dots) or [0.0]
    rank = len(ordered) // 20
    central = [0.0, ordered[rank], ordered[-1 - rank], *(level.difference for level in window.levels)]
    bottom, top = min(central), max(central)
    room = max(_NARROWEST, top - bottom) / 2
    ends = [end for dot in window.dots for end in (dot.low, dot.high) if end is not None]
    low = max(bottom - room, min([bottom, *ends]))
    high = min(top + room, max([top, *ends]))
    pad = max(0.05 * (high - low), (_NARROWEST - (high - low)) / 2)
    return Axes(window.first, window.last, low - pad, high + pad)
