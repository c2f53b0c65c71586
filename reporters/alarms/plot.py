"""The series of an alarm as SVG: a dot with its interval for each commit, and where the change lies.

It is complete in itself: no script, no address, its own colours for bright screens and dark ones, and its own
background, because a page may be dark where the system is not.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from harness.core.alarm import AlarmReport
from harness.core.change import ChangeKind
from harness.core.commit import short_id
from harness.core.comparison import Verdict
from harness.presentation.alarm_headlines import clip, format_effect
from harness.presentation.numbers import format_change
from reporters.alarms.window import Dot, Window, window

WIDTH: Final = 760
HEIGHT: Final = 320
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 50, 46

_INSET: Final = 10
"""Free pixels beside the first and the last point."""
_TICKS: Final = 7
"""About so many lines of the grid."""
_NARROWEST: Final = 0.005
"""The picture is at least as high as half a percent: noise should look like noise."""

_STYLE: Final = """
.paper{fill:#fff}text{fill:#5d6772;font:11px system-ui,sans-serif}.grid{stroke:#e3e7eb}.zero{stroke:#5d6772}
.switch{stroke:#98a3ae;stroke-dasharray:3 4}.spans{stroke:#98a3ae;fill:none}.level{stroke:#1c2126;stroke-width:2}
.worse .band{fill:#c22f22}.better .band{fill:#1f7f45}.band{opacity:.13}
.worse .mark{stroke:#c22f22}.better .mark{stroke:#1f7f45}.mark{stroke-width:1.6}
text.name{fill:#1c2126;font-weight:600}
.regression{fill:#c22f22}.improvement{fill:#1f7f45}.no-change{fill:#5d6772}
.undecided{fill:#fff;stroke:#5d6772;stroke-width:1.4}
@media(prefers-color-scheme:dark){.paper{fill:#14181c}text{fill:#98a3ae}.grid{stroke:#2b3239}.zero{stroke:#98a3ae}
.switch,.spans{stroke:#5d6772}.level{stroke:#e4e8ec}.worse .band{fill:#ff7b6e}.better .band{fill:#5fcf8b}
.worse .mark{stroke:#ff7b6e}.better .mark{stroke:#5fcf8b}text.name{fill:#e4e8ec}
.regression{fill:#ff7b6e}.improvement{fill:#5fcf8b}.no-change{fill:#98a3ae}.undecided{fill:#14181c;stroke:#98a3ae}}
"""

_SIZE: Final = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
_NAME: Final = 24
"""Characters of a name in the picture."""
_CHARACTER: Final = 6.6
"""About so many pixels wide at the size of the text."""
_CROWDED: Final = 80
"""From so many dots on they are drawn smaller."""


@dataclass(frozen=True, slots=True)
class Axes:
    """The frame of a picture.

    Attributes:
        first: Place in the history at its left.
        last: Place in the history at its right.
        low: Relative change at its bottom.
        high: Relative change at its top.
    """

    first: int
    last: int
    low: float
    high: float

    def x(self, order: int) -> float:
        """Return pixels from the left; what is beyond the picture lies on its edge."""
        inside = min(max(order, self.first), self.last)
        share = (inside - self.first) / (self.last - self.first) if self.last > self.first else 0.5
        return LEFT + _INSET + share * (WIDTH - LEFT - RIGHT - 2 * _INSET)

    def y(self, share: float) -> float:
        """Return pixels from the top; what is beyond the picture lies on its edge."""
        inside = min(max(share, self.low), self.high)
        return TOP + (self.high - inside) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)

    def contains(self, share: float) -> bool:
        """Return whether a relative change is inside."""
        return self.low <= share <= self.high

    def ticks(self) -> Iterator[float]:
        """Yield round relative changes for a grid."""
        rough = (self.high - self.low) / _TICKS
        size = 10.0 ** math.floor(math.log10(rough))
        step = next(size * factor for factor in (1, 2, 5, 10, 20) if size * factor >= rough)
        return (number * step for number in range(math.ceil(self.low / step), math.floor(self.high / step) + 1))


def fit_axes(shown: Window) -> Axes:
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
    return Axes(shown.first, shown.last, low - pad, high + pad)


def picture(report: AlarmReport) -> str:
    """Return the whole file, also where there are no points."""
    shown = window(report)
    frame = fit_axes(shown)
    change = report.alarm.change
    tone = "better" if change.kind is ChangeKind.IMPROVEMENT else "worse"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {_SIZE} role="img" class="{tone}">',
        f"<title>{_escape(change.metric.name)} of {len(shown.dots)} commits</title><style>{_STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
        *_grid(frame),
        *_band(shown, frame),
        *_controls(shown, frame),
        *_intervals(shown, frame),
        *_levels(shown, frame),
        *_culprits(shown, frame),
        *(_draw_dot(dot, frame, 3.4 if len(shown.dots) < _CROWDED else 2.4) for dot in shown.dots),
        *_legend(shown),
        *_ends(shown),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


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


def _escape(text: str) -> str:
    return html.escape(clip(text, _NAME))


def _text(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "") -> str:
    """Draw a text that has been escaped."""
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    what = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{where}{what}>{text}</text>'


def _upright(kind: str, x: float) -> str:
    return f'<path class="{kind}" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'


def _grid(frame: Axes) -> Iterator[str]:
    for share in frame.ticks():
        y = frame.y(share)
        kind = "grid" if round(share, 12) else "zero"
        yield f'<path class="{kind}" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
        yield _text(LEFT - 8, y + 4, format_change(share), anchor="end")


def _band(shown: Window, frame: Axes) -> Iterator[str]:
    if shown.after is not None:
        left = frame.x(shown.before) if shown.before is not None else float(LEFT)
        width = max(frame.x(shown.after) - left, 2.0)
        yield f'<rect class="band" x="{left:.1f}" y="{TOP}" width="{width:.1f}" height="{HEIGHT - TOP - BOTTOM}"/>'


def _controls(shown: Window, frame: Axes) -> Iterator[str]:
    """The name of each control below its first dot, where there is room, and a line between two."""
    free = 0.0
    for number, (control, run) in enumerate(groupby(shown.dots, key=lambda dot: dot.point.control)):
        x = frame.x(next(run).point.order)
        if number:
            yield _upright("switch", x - 3)
        name = f"control {clip(short_id(control), _NAME)}"
        end = x + _CHARACTER * len(name)
        if x >= free and end <= WIDTH:
            yield _text(x, HEIGHT - 10, html.escape(name))
            free = end + 12


def _intervals(shown: Window, frame: Axes) -> Iterator[str]:
    """All of them in one path; an end that nothing excludes is that of the picture."""
    lines = (
        f"M{frame.x(dot.point.order):.1f} {frame.y(frame.low if dot.low is None else dot.low):.1f}"
        f"V{frame.y(frame.high if dot.high is None else dot.high):.1f}"
        for dot in shown.dots
    )
    yield f'<path class="spans" d="{"".join(lines)}"/>'


def _levels(shown: Window, frame: Axes) -> Iterator[str]:
    for level in shown.levels:
        y = frame.y(level.change)
        yield f'<path class="level" d="M{frame.x(level.first):.1f} {y:.1f}H{frame.x(level.last):.1f}"/>'


def _culprits(shown: Window, frame: Axes) -> Iterator[str]:
    """A line for each, and its name above it where there is room."""
    free = 0.0
    for commit, order in shown.culprits:
        x = frame.x(order)
        yield _upright("mark", x)
        name = clip(short_id(commit), _NAME)
        half = _CHARACTER * len(name) / 2
        middle = min(max(x, LEFT + half), WIDTH - RIGHT - half)
        if middle - half >= free:
            yield _text(middle, TOP - 6, html.escape(name), anchor="middle", kind="name")
            free = middle + half + 8


def _draw_dot(dot: Dot, frame: Axes, size: float) -> str:
    """Small on the edge where it lies beyond it. What was measured is shown where the picture is opened for itself."""
    x, y = frame.x(dot.point.order), frame.y(dot.change)
    place = f'cx="{x:.1f}" cy="{y:.1f}" r="{size if frame.contains(dot.change) else 1.6}"'
    text = f"{_escape(short_id(dot.point.commit))} {format_effect(dot.point.effect)}"
    return f'<circle class="{_slug(dot.point.verdict)}" {place}><title>{text}</title></circle>'


def _legend(shown: Window) -> Iterator[str]:
    """The verdicts that there are."""
    x = float(LEFT)
    verdicts = {dot.point.verdict for dot in shown.dots}
    for verdict in (verdict for verdict in Verdict if verdict in verdicts):
        yield f'<circle class="{_slug(verdict)}" cx="{x + 4:.1f}" cy="16" r="3.4"/>'
        yield _text(x + 13, 20, verdict.value)
        x += 34 + _CHARACTER * len(verdict.value)


def _ends(shown: Window) -> Iterator[str]:
    """The first and the last commit."""
    if not shown.dots:
        yield _text(WIDTH / 2, HEIGHT / 2, "no points", anchor="middle")
        return
    yield _text(LEFT, HEIGHT - 28, _escape(short_id(shown.dots[0].point.commit)))
    yield _text(WIDTH - RIGHT, HEIGHT - 28, _escape(short_id(shown.dots[-1].point.commit)), anchor="end")


def _slug(verdict: Verdict) -> str:
    return verdict.value.replace(" ", "-")
