"""The series of an alarm as SVG: a dot with its interval for each commit, and where the change lies.

It stands for itself: no script, no address, its own colours for bright screens and dark ones, and its own background,
because a page may be dark where the system is not.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from harness.core.alarm import AlarmReport, Effect
from harness.core.comparison import Verdict
from harness.core.trend import ChangeKind
from harness.presentation.numbers import format_change, format_interval
from reporters.alarms.axes import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axes, axes
from reporters.alarms.dots import Dot
from reporters.alarms.headline import clipped, short
from reporters.alarms.window import Window, window

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


def picture(report: AlarmReport) -> str:
    """The whole file, also where there are no points."""
    seen = window(report)
    frame = axes(seen)
    tone = "better" if report.kind is ChangeKind.IMPROVEMENT else "worse"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {_SIZE} role="img" class="{tone}">',
        f"<title>{_escaped(report.metric)} of {len(seen.dots)} commits</title><style>{_STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
        *_grid(frame),
        *_band(seen, frame),
        *_controls(seen, frame),
        *_intervals(seen, frame),
        *_levels(seen, frame),
        *_culprits(seen, frame),
        *(_drawn(dot, frame, 3.4 if len(seen.dots) < _CROWDED else 2.4) for dot in seen.dots),
        *_legend(seen),
        *_ends(seen),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def caption(report: AlarmReport) -> str:
    """What a reader of the picture must know, beside what stands in it."""
    better = "higher" if report.higher_is_better else "lower"
    told = (
        f"{clipped(report.metric)}, {better} is better. Each dot is a commit, its height the difference to the first "
        "control, its line the 95 % interval. The change lies in the shaded part."
    )
    if len({point.control for point in report.series}) == 1:
        return told
    return (
        f"{told} At a dashed line another control begins, drawn where the commits around it stood; "
        "colours tell how each commit compares with its own."
    )


def _escaped(text: str) -> str:
    return html.escape(clipped(text, _NAME))


def _text(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "") -> str:
    """A text that has been escaped."""
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


def _band(seen: Window, frame: Axes) -> Iterator[str]:
    if seen.after is not None:
        left = frame.x(seen.before) if seen.before is not None else float(LEFT)
        width = max(frame.x(seen.after) - left, 2.0)
        yield f'<rect class="band" x="{left:.1f}" y="{TOP}" width="{width:.1f}" height="{HEIGHT - TOP - BOTTOM}"/>'


def _controls(seen: Window, frame: Axes) -> Iterator[str]:
    """The name of each control below its first dot, where there is room, and a line between two."""
    free = 0.0
    for number, (control, run) in enumerate(groupby(seen.dots, key=lambda dot: dot.point.control)):
        x = frame.x(next(run).point.order)
        if number:
            yield _upright("switch", x - 3)
        name = f"control {clipped(control, _NAME)}"
        end = x + _CHARACTER * len(name)
        if x >= free and end <= WIDTH:
            yield _text(x, HEIGHT - 10, html.escape(name))
            free = end + 12


def _intervals(seen: Window, frame: Axes) -> Iterator[str]:
    """All of them in one path; an end that nothing excludes is that of the picture."""
    lines = (
        f"M{frame.x(dot.point.order):.1f} {frame.y(frame.low if dot.low is None else dot.low):.1f}"
        f"V{frame.y(frame.high if dot.high is None else dot.high):.1f}"
        for dot in seen.dots
    )
    yield f'<path class="spans" d="{"".join(lines)}"/>'


def _levels(seen: Window, frame: Axes) -> Iterator[str]:
    for level in seen.levels:
        y = frame.y(level.difference)
        yield f'<path class="level" d="M{frame.x(level.first):.1f} {y:.1f}H{frame.x(level.last):.1f}"/>'


def _culprits(seen: Window, frame: Axes) -> Iterator[str]:
    """A line for each, and its name above it where there is room."""
    free = 0.0
    for commit, order in seen.culprits:
        x = frame.x(order)
        yield _upright("mark", x)
        name = clipped(short(commit), _NAME)
        half = _CHARACTER * len(name) / 2
        middle = min(max(x, LEFT + half), WIDTH - RIGHT - half)
        if middle - half >= free:
            yield _text(middle, TOP - 6, html.escape(name), anchor="middle", kind="name")
            free = middle + half + 8


def _drawn(dot: Dot, frame: Axes, size: float) -> str:
    """Small on the edge where it lies beyond it. What was measured is shown where the picture is opened for itself."""
    x, y = frame.x(dot.point.order), frame.y(dot.difference)
    place = f'cx="{x:.1f}" cy="{y:.1f}" r="{size if frame.holds(dot.difference) else 1.6}"'
    said = f"{_escaped(dot.point.commit)} {_figures(dot.point.effect)}"
    return f'<circle class="{_slug(dot.point.verdict)}" {place}><title>{said}</title></circle>'


def _figures(effect: Effect | None) -> str:
    if effect is None:
        return ""
    ends = format_interval(effect.low, effect.high)
    return f"{format_change(effect.difference)} [{ends}]" if ends else format_change(effect.difference)


def _legend(seen: Window) -> Iterator[str]:
    """The verdicts that there are."""
    x = float(LEFT)
    found = {dot.point.verdict for dot in seen.dots}
    for verdict in (one for one in Verdict if one in found):
        yield f'<circle class="{_slug(verdict)}" cx="{x + 4:.1f}" cy="16" r="3.4"/>'
        yield _text(x + 13, 20, verdict.value)
        x += 34 + _CHARACTER * len(verdict.value)


def _ends(seen: Window) -> Iterator[str]:
    """The first and the last commit."""
    if not seen.dots:
        yield _text(WIDTH / 2, HEIGHT / 2, "no points", anchor="middle")
        return
    yield _text(LEFT, HEIGHT - 28, _escaped(seen.dots[0].point.commit))
    yield _text(WIDTH - RIGHT, HEIGHT - 28, _escaped(seen.dots[-1].point.commit), anchor="end")


def _slug(verdict: Verdict) -> str:
    return verdict.value.replace(" ", "-")
