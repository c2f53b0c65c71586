"""Comparisons as pictures: the pairs in order, and the interval as a line in a table.

Both draw the difference and the interval that the words beside them state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from harness.core.comparison import Comparison
from harness.presentation.numbers import format_change, format_interval, format_percent
from harness.presentation.trajectory import PairPoint, trace_comparison
from harness.presentation.verdicts import stated_interval
from reporters.document.axis import Axis, fit_axis
from reporters.document.picture import Circle, Label, Mark, Path, Picture, Rectangle, draw_grid

WIDTH: Final = 640
HEIGHT: Final = 220
LEFT, RIGHT, TOP, BOTTOM = 92, 8, 10, 26

_MIDDLE: Final = 72
_REACH: Final = 66
"""Half of the length of the line of an interval; arrows lie beyond it."""


def draw_pairs(comparison: Comparison, name: str) -> Picture | None:
    """Draw a dot for each pair in order, their running median, the stated difference, its interval, and the margins.

    Args:
        comparison: The comparison; without pairs there is no picture.
        name: Name of the picture, unique on its page.
    """
    points = list(trace_comparison(comparison))
    if not points:
        return None
    margin = comparison.parameters.margin
    across = Axis(-0.5, len(points) - 0.5, LEFT, WIDTH - RIGHT)
    along = _fit_changes(points, comparison)
    marks: list[Mark] = [
        *draw_grid(along, LEFT, WIDTH - RIGHT, signed=True, unit="%"),
        *_band(along, comparison),
        *(_line("margin", along.place(100 * change)) for change in (-margin, margin)),
        _line("zero", along.place(0)),
        Path("trace", _trace(points, across, along)),
        *([_line("stated", along.place(100 * comparison.difference))] if comparison.difference is not None else []),
        *_dots(points, across, along),
        Label("pair 1", LEFT, HEIGHT - 6),
        Label(f"pair {len(points)}", WIDTH - RIGHT, HEIGHT - 6, anchor="end"),
    ]
    return Picture(
        name,
        WIDTH,
        HEIGHT,
        f"differences of {len(points)} pair{'' if len(points) == 1 else 's'}",
        f"Difference {format_change(comparison.difference)}{_describe_interval(comparison)}; "
        f"margins ± {format_percent(margin)}.",
        marks,
    )


def draw_interval(comparison: Comparison, reach: float, name: str) -> Picture | None:
    """Draw the interval on a short line that ends at ± reach, with zero in its middle and its two margins.

    An end beyond the line, or one that is unbounded, is an arrow.
    """
    if not comparison.pairs or stated_interval(comparison) is None:
        return None
    along = Axis(-reach, reach, _MIDDLE - _REACH, _MIDDLE + _REACH)
    margin, middle = comparison.parameters.margin, comparison.difference or 0.0
    low = along.start if comparison.low is None else along.place(comparison.low)
    high = along.end if comparison.high is None else along.place(comparison.high)
    if high - low < 1:
        low, high = max(low - 0.5, along.start), min(high + 0.5, along.end)
    marks: list[Mark] = [
        Path("margin", f"M{along.place(-margin):.1f} 1V15M{along.place(margin):.1f} 1V15"),
        Path("zero", f"M{_MIDDLE} 1V15"),
        Path("whole", f"M{low:.1f} 8H{high:.1f}"),
    ]
    if comparison.low is None or comparison.low < -reach:
        marks.append(Path("end", f"M{along.start:g} 4L{along.start - 5:g} 8L{along.start:g} 12"))
    if comparison.high is None or comparison.high > reach:
        marks.append(Path("end", f"M{along.end:g} 4L{along.end + 5:g} 8L{along.end:g} 12"))
    marks.append(Circle("mid", along.place(middle), 8, 4))
    words = format_interval(comparison.low, comparison.high) or "unbounded"
    return Picture(name, 2 * _MIDDLE, 16, "interval", words, marks, kind="span")


def _describe_interval(comparison: Comparison) -> str:
    if (ends := stated_interval(comparison)) is None:
        return ""
    return f", interval {format_interval(*ends) or 'unbounded'}"


def interval_reach(comparisons: Sequence[Comparison]) -> float:
    """Return the reach of `draw_interval` that suits all comparisons: the farthest end, with margins still visible."""
    margin = max((comparison.parameters.margin for comparison in comparisons), default=0.01)
    changes = (change for each in comparisons for change in (each.low, each.high, each.difference))
    ends = [abs(change) for change in changes if change is not None]
    return min(max([1.5 * margin, *(1.05 * end for end in ends)]), 8 * margin)


def _fit_changes(points: Sequence[PairPoint], comparison: Comparison) -> Axis:
    """Make room for margins, difference, interval and all but the most extreme tenth of the dots, in percent."""
    ordered = sorted(point.relative_change for point in points)
    rank = len(ordered) // 20
    margin = 1.2 * comparison.parameters.margin
    central = [ordered[rank], ordered[-1 - rank]]
    central += [] if comparison.difference is None else [comparison.difference]
    room = 3 * max(margin, *(abs(change) for change in central))
    ends = [min(max(end, -room), room) for end in (comparison.low, comparison.high) if end is not None]
    shown = [100 * change for change in (-margin, margin, *central, *ends)]
    return fit_axis(shown, HEIGHT - BOTTOM, TOP, padding=0.06)


def _band(along: Axis, comparison: Comparison) -> Iterator[Mark]:
    if stated_interval(comparison) is None:
        return
    top = TOP if comparison.high is None else along.place(100 * comparison.high)
    bottom = HEIGHT - BOTTOM if comparison.low is None else along.place(100 * comparison.low)
    yield Rectangle("band", LEFT, top, WIDTH - LEFT - RIGHT, max(bottom - top, 1))


def _line(kind: str, y: float) -> Mark:
    return Path(kind, f"M{LEFT} {y:.1f}H{WIDTH - RIGHT}")


def _trace(points: Sequence[PairPoint], across: Axis, along: Axis) -> str:
    places = (
        f"{across.place(number):.1f} {along.place(100 * point.median):.1f}" for number, point in enumerate(points)
    )
    return f"M{'L'.join(places)}"


def _dots(points: Sequence[PairPoint], across: Axis, along: Axis) -> Iterator[Mark]:
    """Draw dots filled where the control was first, and small on the edge where they lie beyond it."""
    for number, point in enumerate(points):
        change = 100 * point.relative_change
        radius = 3.2 if along.contains(change) else 1.8
        yield Circle("first" if point.control_first else "second", across.place(number), along.place(change), radius)
