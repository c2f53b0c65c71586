"""Comparisons drawn as SVG: the pairs of one, and the interval of one as a line of a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.core.comparison import Comparison
from harness.presentation.shares import signed
from harness.presentation.trajectory import Point, trajectory

_WIDTH: Final = 760
_HEIGHT: Final = 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 8, 8, 20

_TICKS: Final = 5
"""About so many lines of the grid."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """From pairs and differences to places in the picture."""

    pairs: int
    low: float
    high: float

    def x(self, number: int) -> float:
        return _LEFT + (number + 0.5) / self.pairs * (_WIDTH - _LEFT - _RIGHT)

    def y(self, share: float) -> float:
        """What is beyond the picture lies on its edge."""
        inside = min(max(share, self.low), self.high)
        return _TOP + (self.high - inside) / (self.high - self.low) * (_HEIGHT - _TOP - _BOTTOM)


def picture(comparison: Comparison) -> str:
    """A dot for each pair in order, the estimate as it went, the interval as a band, the margins; empty without."""
    points = list(trajectory(comparison.pairs))
    if not points:
        return ""
    margin = comparison.parameters.margin
    frame = _framed(points, comparison)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="differences of {len(points)} pairs">',
        *_grid(frame),
        _band(frame, comparison),
        *(_line("margin", frame.y(share)) for share in (-margin, margin)),
        _line("zero", frame.y(0)),
        f'<polyline class="estimate" points="{" ".join(_estimates(points, frame))}"/>',
        *_dots(points, frame),
        f'<text x="{_LEFT}" y="{_HEIGHT - 5}">pair 1</text>',
        f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 5}" text-anchor="end">pair {len(points)}</text>',
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


def span(comparison: Comparison, reach: float) -> str:
    """The interval on a short line that ends at ± reach, with zero in its middle and its two margins."""
    if not comparison.pairs:
        return ""

    def x(share: float) -> float:
        return 72 + 70 * max(-1.0, min(1.0, share / reach))

    margin, middle = comparison.parameters.margin, comparison.difference or 0.0
    low = 2.0 if comparison.low is None else x(comparison.low)
    high = 142.0 if comparison.high is None else x(comparison.high)
    return (
        '<svg class="span" viewBox="0 0 144 16" aria-hidden="true">'
        f'<path class="margin" d="M{x(-margin):.1f} 1V15M{x(margin):.1f} 1V15"/><path class="zero" d="M72 1V15"/>'
        f'<path class="whole" d="M{low:.1f} 8H{max(high, low + 1):.1f}"/>'
        f'<circle class="mid" cx="{x(middle):.1f}" cy="8" r="4"/></svg>'
    )


def reach(comparisons: Sequence[Comparison]) -> float:
    """How far `span` should reach for all of these: to the farthest end, but never so far that margins are not seen."""
    margin = max((one.parameters.margin for one in comparisons), default=0.01)
    ends = [abs(end) for one in comparisons for end in (one.low, one.high, one.difference) if end is not None]
    return min(max([1.5 * margin, *(1.05 * end for end in ends)]), 8 * margin)


def _framed(points: Sequence[Point], comparison: Comparison) -> _Frame:
    """Margins, interval and all but the most extreme tenth of the dots are seen."""
    ordered = sorted(point.difference for point in points)
    rank = len(ordered) // 20
    margin = 1.2 * comparison.parameters.margin
    central = [ordered[rank], ordered[-1 - rank]]
    room = 3 * max(margin, *(abs(share) for share in central))
    ends = [min(max(end, -room), room) for end in (comparison.low, comparison.high) if end is not None]
    shown = [-margin, margin, *central, *ends]
    low, high = min(shown), max(shown)
    return _Frame(len(points), low - 0.06 * (high - low), high + 0.06 * (high - low))


def _grid(frame: _Frame) -> Iterator[str]:
    rough = (frame.high - frame.low) / _TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough)
    for number in range(math.ceil(frame.low / step), math.floor(frame.high / step) + 1):
        y = frame.y(number * step)
        yield _line("grid", y)
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{signed(number * step)}</text>'


def _band(frame: _Frame, comparison: Comparison) -> str:
    top = _TOP if comparison.high is None else frame.y(comparison.high)
    bottom = _HEIGHT - _BOTTOM if comparison.low is None else frame.y(comparison.low)
    width = _WIDTH - _LEFT - _RIGHT
    return f'<rect class="band" x="{_LEFT}" y="{top:.1f}" width="{width}" height="{max(bottom - top, 1):.1f}"/>'


def _line(kind: str, y: float) -> str:
    return f'<path class="{kind}" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>'


def _estimates(points: Sequence[Point], frame: _Frame) -> Iterator[str]:
    return (f"{frame.x(number):.1f},{frame.y(point.estimate):.1f}" for number, point in enumerate(points))


def _dots(points: Sequence[Point], frame: _Frame) -> Iterator[str]:
    """Filled where the control was first; small on the edge where they lie beyond it."""
    for number, point in enumerate(points):
        kind = "first" if point.control_first else "second"
        radius = 3.2 if frame.low <= point.difference <= frame.high else 1.8
        yield f'<circle class="{kind}" cx="{frame.x(number):.1f}" cy="{frame.y(point.difference):.1f}" r="{radius}"/>'
