"""The series of an alarm as a picture: a dot with its interval for each commit, and where the change lies.

As a file it is complete in itself: no script, no address, colours for bright screens and dark ones, and its own
background, because a page may be dark where the system is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from msgspec import Struct

from harness.core.alarm import AlarmReport
from harness.core.change import ChangeKind
from harness.core.commit import short_id
from harness.core.verdict import Verdict
from harness.presentation.alarm_headlines import clip, describe_change, describe_size, format_effect
from harness.presentation.outputs import OUTPUTS_DIFFER
from reporters.alarms.window import Dot, SeriesWindow, choose_window
from reporters.document.axis import Axis, fit_axis
from reporters.document.picture import CHARACTER, Circle, Label, Mark, Path, Picture, Rectangle, draw_grid
from reporters.document.rendering import render_picture

WIDTH: Final = 640
HEIGHT: Final = 320
LEFT, RIGHT, TOP, BOTTOM = 92, 14, 50, 50

_INSET: Final = 10
"""Free pixels beside the first and the last point."""
_TICKS: Final = 7
"""About so many lines of the grid."""
_NARROWEST: Final = 0.005
"""The picture is at least as high as half a percent: noise should look like noise."""

_NAME: Final = 24
"""Characters of a name in the picture."""
_LEGEND: Final = 64
"""Distance between two names of the legend, so that they do not meet where narrow screens enlarge them."""
_CROWDED: Final = 80
"""From so many dots on they are drawn smaller."""


class Axes(Struct, frozen=True):
    """Axes of a picture.

    Attributes:
        across: Places in the history.
        along: Relative changes, in percent.
    """

    across: Axis
    along: Axis

    def x(self, order: int) -> float:
        """Return the coordinate of a place in the history; what is beyond the picture lies on its edge."""
        return self.across.place(order)

    def y(self, share: float) -> float:
        """Return the coordinate of a relative change; what is beyond the picture lies on its edge."""
        return self.along.place(100 * share)

    def contains(self, share: float) -> bool:
        """Return whether a relative change is inside."""
        return self.along.contains(100 * share)


def fit_axes(shown: SeriesWindow) -> Axes:
    """Fit zero, all but the most extreme points, and their intervals as far as these are not much wider."""
    ordered = sorted(dot.change for dot in shown.dots) or [0.0]
    rank = len(ordered) // 20
    central = [0.0, ordered[rank], ordered[-1 - rank], *(level.change for level in shown.levels)]
    bottom, top = min(central), max(central)
    room = max(_NARROWEST, top - bottom) / 2
    ends = [end for dot in shown.dots for end in (dot.low, dot.high) if end is not None]
    low = max(bottom - room, min([bottom, *ends]))
    high = min(top + room, max([top, *ends]))
    pad = max(0.05 * (high - low), (_NARROWEST - (high - low)) / 2)
    left, right = float(LEFT + _INSET), float(WIDTH - RIGHT - _INSET)
    if shown.last <= shown.first:
        left = right = (left + right) / 2
    across = Axis(shown.first, max(shown.last, shown.first + 1), left, right)
    return Axes(across, fit_axis([100 * (low - pad), 100 * (high + pad)], HEIGHT - BOTTOM, TOP))


def draw_series(report: AlarmReport, name: str = "series") -> Picture:
    """Draw the series of an alarm, also where there are no points.

    Args:
        report: The alarm.
        name: Name of the picture, unique on its page.
    """
    shown = choose_window(report)
    axes = fit_axes(shown)
    change = report.alarm.change
    marks = [
        *draw_grid(axes.along, LEFT, WIDTH - RIGHT, about=_TICKS, signed=True, unit="%"),
        *_band(shown, axes),
        *_controls(shown, axes),
        *_intervals(shown, axes),
        *_levels(shown, axes),
        *_culprits(shown, axes),
        *(_draw_dot(dot, axes, 3.4 if len(shown.dots) < _CROWDED else 2.4) for dot in shown.dots),
        *_legend(shown),
        *_ends(shown),
    ]
    return Picture(
        name,
        WIDTH,
        HEIGHT,
        f"{clip(change.metric.name, _NAME)} of {len(shown.dots)} commits",
        f"{describe_change(report)}. {describe_size(report)}",
        marks,
        kind="better" if change.kind is ChangeKind.IMPROVEMENT else "worse",
    )


def picture(report: AlarmReport) -> str:
    """Return the picture of an alarm's series as a whole file."""
    return f"{render_picture(draw_series(report), is_file=True)}"


def caption(report: AlarmReport) -> str:
    """Return what a reader of the picture must know beside it."""
    metric = report.alarm.change.metric
    text = (
        f"{clip(metric.name)}, {metric.direction.value} is better. Each dot is a commit, its height the "
        "difference to the first control, its line the 95 % interval. The change lies in the shaded part."
    )
    if len({point.control for point in report.series}) == 1:
        return text
    return (
        f"{text} At a dashed line another control begins, drawn where the commits around it stood; "
        "colours tell how each commit compares with its own."
    )


def _upright(kind: str, x: float) -> Mark:
    return Path(kind, f"M{x:.1f} {TOP}V{HEIGHT - BOTTOM}")


def _band(shown: SeriesWindow, axes: Axes) -> Iterator[Mark]:
    if shown.after is not None:
        left = axes.x(shown.before) if shown.before is not None else float(LEFT)
        width = max(axes.x(shown.after) - left, 2.0)
        yield Rectangle("band", left, TOP, width, HEIGHT - TOP - BOTTOM)


def _controls(shown: SeriesWindow, axes: Axes) -> Iterator[Mark]:
    """Draw the name of each control below its first dot, where there is room, and a line between two."""
    free = 0.0
    for number, (control, run) in enumerate(groupby(shown.dots, key=lambda dot: dot.point.control)):
        x = axes.x(next(run).point.order)
        if number:
            yield _upright("switch", x - 3)
        name = f"control {clip(short_id(control), _NAME)}"
        end = x + CHARACTER * len(name)
        if x >= free and end <= WIDTH:
            yield Label(name, x, HEIGHT - 10)
            free = end + 12


def _intervals(shown: SeriesWindow, axes: Axes) -> Iterator[Mark]:
    """Draw all of them in one path; an end that nothing excludes is that of the picture."""
    bottom, top = axes.along.start, axes.along.end
    lines = (
        f"M{axes.x(dot.point.order):.1f} {bottom if dot.low is None else axes.y(dot.low):.1f}"
        f"V{top if dot.high is None else axes.y(dot.high):.1f}"
        for dot in shown.dots
    )
    yield Path("spans", "".join(lines))


def _levels(shown: SeriesWindow, axes: Axes) -> Iterator[Mark]:
    for level in shown.levels:
        yield Path("level", f"M{axes.x(level.first):.1f} {axes.y(level.change):.1f}H{axes.x(level.last):.1f}")


def _culprits(shown: SeriesWindow, axes: Axes) -> Iterator[Mark]:
    """Draw a line for each, and its name above it where there is room."""
    free = 0.0
    for commit, order in shown.culprits:
        x = axes.x(order)
        yield _upright("mark", x)
        name = clip(short_id(commit), _NAME)
        half = CHARACTER * len(name) / 2
        middle = min(max(x, LEFT + half), WIDTH - RIGHT - half)
        if middle - half >= free:
            yield Label(name, middle, TOP - 6, "middle", "name")
            free = middle + half + 8


def _draw_dot(dot: Dot, axes: Axes, size: float) -> Mark:
    """Small on the edge where it lies beyond it. What was measured is shown where the pointer rests on it."""
    text = f"{clip(short_id(dot.point.commit), _NAME)} {format_effect(dot.point.effect)}"
    text += f", {OUTPUTS_DIFFER}" if dot.point.has_different_outputs else ""
    radius = size if axes.contains(dot.change) else 1.6
    return Circle(_slug(dot.point.verdict), axes.x(dot.point.order), axes.y(dot.change), radius, text)


def _legend(shown: SeriesWindow) -> Iterator[Mark]:
    """Yield the verdicts that there are."""
    x = float(LEFT)
    verdicts = {dot.point.verdict for dot in shown.dots}
    for verdict in (verdict for verdict in Verdict if verdict in verdicts):
        yield Circle(_slug(verdict), x + 4, 16, 3.4)
        yield Label(verdict.value, x + 13, 20)
        x += _LEGEND + CHARACTER * len(verdict.value)


def _ends(shown: SeriesWindow) -> Iterator[Mark]:
    """Draw the first and the last commit."""
    if not shown.dots:
        yield Label("no points", WIDTH / 2, HEIGHT / 2, "middle")
        return
    yield Label(clip(short_id(shown.dots[0].point.commit), _NAME), LEFT, HEIGHT - 28)
    yield Label(clip(short_id(shown.dots[-1].point.commit), _NAME), WIDTH - RIGHT, HEIGHT - 28, "end")


def _slug(verdict: Verdict) -> str:
    return verdict.value.replace(" ", "-")
