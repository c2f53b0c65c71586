"""One benchmark on many devices: the difference on each, with its interval, on one scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from harness.core.comparison import Comparison
from harness.core.result import Result
from harness.presentation.fleets import Fleet, summarise_fleet
from harness.presentation.numbers import format_change, format_interval
from harness.presentation.text import make_printable
from harness.presentation.verdicts import categorise, name_verdict, stated_interval
from reporters.document.axis import Axis, fit_axis
from reporters.document.picture import Circle, Label, Mark, Path, Picture, draw_upright_grid

WIDTH: Final = 640
LEFT, RIGHT, TOP, BOTTOM = 10, 24, 4, 26
_ROW: Final = 40
_MOST: Final = 40
"""Most rows of a picture: the most severe; the others are in the table."""
_NAME: Final = 44
"""Characters of a name."""
_ROOM: Final = 4.0
"""An interval is cut where it is so many times as far from zero as margins and differences."""


def draw_fleet(fleet: Fleet, name: str) -> Picture:
    """Draw a row for each device, the most severe first, with its difference and interval, or the words without one.

    Args:
        fleet: The devices.
        name: Name of the picture, unique on its page.
    """
    shown = fleet.members[:_MOST]
    comparisons = [member.comparison for member in shown if member.comparison is not None and member.ok]
    height = TOP + _ROW * len(shown) + BOTTOM
    along = _fit(comparisons)
    marks: list[Mark] = [*draw_upright_grid(along, TOP, height - BOTTOM, WIDTH, along.ticks(signed=True, unit="%"))]
    margins = {comparison.parameters.margin for comparison in comparisons}
    marks += [
        Path("margin", f"M{along.place(100 * end):.1f} {TOP}V{height - BOTTOM}")
        for margin in sorted(margins)
        for end in (-margin, margin)
    ]
    for number, member in enumerate(shown):
        marks += _row(member, TOP + _ROW * number, along)
    description = "; ".join(f"{_name(member)}: {_words(member)}" for member in shown)
    return Picture(name, WIDTH, height, f"{make_printable(fleet.title)}: {summarise_fleet(fleet)}", description, marks)


def _fit(comparisons: Sequence[Comparison]) -> Axis:
    margin = max((comparison.parameters.margin for comparison in comparisons), default=0.01)
    differences = [comparison.difference for comparison in comparisons if comparison.difference is not None]
    room = _ROOM * max([margin, *map(abs, differences)])
    ends = [end for comparison in comparisons for end in (comparison.low, comparison.high) if end is not None]
    inside = [min(max(end, -room), room) for end in ends]
    values = [100 * value for value in (-margin, margin, *differences, *inside)]
    return fit_axis(values, LEFT, WIDTH - RIGHT, padding=0.05)


def _row(member: Result, top: float, along: Axis) -> Iterator[Mark]:
    middle, comparison = top + 28, member.comparison
    category = categorise(member)
    doubt = "" if not member.ok or member.trusted else "! "
    yield Label(f"{category.mark} {doubt}{_clip(_name(member))}", LEFT + 2, top + 16, kind="name")
    yield Label(_words(member), WIDTH - RIGHT, top + 16, "end")
    if comparison is None or comparison.difference is None or not member.ok:
        return
    yield from _interval(comparison, middle, along)
    kind = "center" if member.trusted else "doubtful center"
    yield Circle(kind, along.place(100 * comparison.difference), middle, 5)


def _interval(comparison: Comparison, middle: float, along: Axis) -> Iterator[Mark]:
    if (ends := stated_interval(comparison)) is None:
        return
    low, high = (None if end is None else 100 * end for end in ends)
    left = along.start if low is None else along.place(low)
    right = along.end if high is None else along.place(high)
    drawn = f"M{left:.1f} {middle:g}H{right:.1f}"
    for end, place, sign in ((low, left, 1), (high, right, -1)):
        if end is None or not along.contains(end):
            drawn += (
                f"M{place + 6 * sign:.1f} {middle - 5:g}L{place:.1f} {middle:g}L{place + 6 * sign:.1f} {middle + 5:g}"
            )
        else:
            drawn += f"M{place:.1f} {middle - 5:g}V{middle + 5:g}"
    yield Path("whisker", drawn)


def _words(member: Result) -> str:
    comparison, category = member.comparison, categorise(member)
    if comparison is None or comparison.difference is None or not member.ok:
        return category.word
    ends = stated_interval(comparison)
    interval = f" ({format_interval(*ends)})" if ends is not None and format_interval(*ends) else ""
    return f"{format_change(comparison.difference)}{interval} {name_verdict(member)}"


def _name(member: Result) -> str:
    return member.device.name if member.device is not None else "no device"


def _clip(name: str) -> str:
    line = make_printable(name)
    return line if len(line) <= _NAME else f"{line[: _NAME - 1]}…"
