"""Comparisons drawn as SVG: the pairs in order, and the interval as a line in a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.core.comparison import Comparison
from harness.presentation.numbers import format_change
from harness.presentation.trajectory import PairPoint, trace_pairs

_WIDTH: Final = 760
_HEIGHT: Final = 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 8, 8, 20

_TICKS: Final = 5
"""Approximate number of lines of the grid."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """Mapping of pairs and relative changes to coordinates of the picture."""

    pairs: int
    low: float
    high: float

    def x(self, number: int) -> float:
        return _LEFT + (number + 0.5) / self.pairs * (_WIDTH - _LEFT - _RIGHT)

    def y(self, change: float) -> float:
        """Return the ordinate of a change; changes beyond the picture lie on its edge."""
        inside = min(max(change, self.low), self.high)
        return _TOP + (self.high - inside) / (self.high - self.low) * (_HEIGHT - _TOP - _BOTTOM)


def draw_comparison(comparison: Comparison) -> str:
    """Draw a dot for each pair in order, the running median, the interval as a band, and the margins.

    Empty without pairs.
    """
    points = list(trace_pairs(comparison.pairs))
    if not points:
        return ""
    margin = comparison.parameters.margin
    frame = _fit_frame(points, comparison)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="differences of {len(points)} pairs">',
        *_grid(frame),
        _band(frame, comparison),
        *(_line("margin", frame.y(change)) for change in (-margin, margin)),
        _line("zero", frame.y(0)),
        f'<polyline class="estimate" points="{" ".join(_estimates(points, frame))}"/>',
        *_dots(points, frame),
        f'<text x="{_LEFT}" y="{_HEIGHT - 5}">pair 1</text>',
        f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 5}" text-anchor="end">pair {len(points)}</text>',
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


def draw_interval(comparison: Comparison, reach: float) -> str:
    """Draw the interval on a short line that ends at ± reach, with zero in its middle and its two margins."""
    if not comparison.pairs:
        return ""

    def x(change: float) -> float:
        return 72 + 70 * max(-1.0, min(1.0, change / reach))

    margin, middle = comparison.parameters.margin, comparison.difference or 0.0
    low = 2.0 if comparison.low is None else x(comparison.low)
    high = 142.0 if comparison.high is None else x(comparison.high)
    return (
        '<svg class="span" viewBox="0 0 144 16" aria-hidden="true">'
        f'<path class="margin" d="M{x(-margin):.1f} 1V15M{x(margin):.1f} 1V15"/><path class="zero" d="M72 1V15"/>'
        f'<path class="whole" d="M{low:.1f} 8H{max(high, low + 1):.1f}"/>'
        f'<circle class="mid" cx="{x(middle):.1f}" cy="8" r="4"/></svg>'
    )


def interval_reach(comparisons: Sequence[Comparison]) -> float:
    """Return the reach of `draw_interval` that suits all comparisons: the farthest end, with margins still visible."""
    margin = max((comparison.parameters.margin for comparison in comparisons), default=0.01)
    changes = (change for each in comparisons for change in (each.low, each.high, each.difference))
    ends = [abs(change) for change in changes if change is not None]
    return min(max([1.5 * margin, *(1.05 * end for end in ends)]), 8 * margin)


def _fit_frame(points: Sequence[PairPoint], comparison: Comparison) -> _Frame:
    """Make room for margins, interval and all but the most extreme tenth of the dots."""
    ordered = sorted(point.relative_change for point in points)
    rank = len(ordered) // 20
    margin = 1.2 * comparison.parameters.margin
    central = [ordered[rank], ordered[-1 - rank]]
    room = 3 * max(margin, *(abs(change) for change in central))
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
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{format_change(number * step)}</text>'


def _band(frame: _Frame, comparison: Comparison) -> str:
    top = _TOP if comparison.high is None else frame.y(comparison.high)
    bottom = _HEIGHT - _BOTTOM if comparison.low is None else frame.y(comparison.low)
    width = _WIDTH - _LEFT - _RIGHT
    return f'<rect class="band" x="{_LEFT}" y="{top:.1f}" width="{width}" height="{max(bottom - top, 1):.1f}"/>'


def _line(kind: str, y: float) -> str:
    return f'<path class="{kind}" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>'


def _estimates(points: Sequence[PairPoint], frame: _Frame) -> Iterator[str]:
    return (f"{frame.x(number):.1f},{frame.y(point.median):.1f}" for number, point in enumerate(points))


def _dots(points: Sequence[PairPoint], frame: _Frame) -> Iterator[str]:
    """Draw dots filled where the control was first, and small on the edge where they lie beyond it."""
    for number, point in enumerate(points):
        kind = "first" if point.control_first else "second"
        x, y = frame.x(number), frame.y(point.relative_change)
        radius = 3.2 if frame.low <= point.relative_change <= frame.high else 1.8
        yield f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'
