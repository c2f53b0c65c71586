"""Benchmarks that did the same work, side by side: a bar for each median, with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from harness.presentation.estimates import Estimate
from harness.presentation.numbers import choose_scale, format_quantity
from harness.presentation.text import make_printable
from reporters.document.axis import Axis, Tick, fit_axis
from reporters.document.picture import Circle, Label, Mark, Path, Picture, Rectangle, draw_upright_grid

WIDTH: Final = 640
LEFT, RIGHT, TOP, BOTTOM = 10, 24, 4, 26
_ROW: Final = 46
_MOST: Final = 40
"""Most bars of a picture; the others are in the table."""
_SPREAD: Final = 25.0
"""Ratio of the largest to the smallest median from which on bars would be too short to see."""
_NAME: Final = 34
"""Characters of a name."""


class Bar(Struct, frozen=True):
    """Bar of a picture.

    Attributes:
        name: Name of the benchmark.
        metric: Name of the metric.
        unit: Unit of its figures.
        median: Its length.
        low: Lower end of its interval; None where there is none.
        high: Upper end.
        words: Median and interval in words.
        basis: What the interval is; empty without one.
        trusted: Whether nothing speaks against it.
    """

    name: str
    metric: str
    unit: str
    median: float
    low: float | None
    high: float | None
    words: str
    basis: str
    trusted: bool = True


def bar_of(estimate: Estimate) -> Bar:
    """Return the bar of a median."""
    return Bar(
        estimate.result.benchmark.identifier,
        estimate.metric.name,
        estimate.metric.unit,
        estimate.median,
        estimate.low,
        estimate.high,
        estimate.words,
        estimate.basis,
        estimate.result.trusted,
    )


def draw_bars(bars: Sequence[Bar], model: str, name: str) -> Picture:
    """Draw a bar from zero to each median, or dots on a logarithmic scale where the medians differ too much for that.

    Args:
        bars: Two or more of one metric, in one unit.
        model: Name of the model.
        name: Name of the picture, unique on its page.
    """
    shown = bars[:_MOST]
    ends = [end for each in shown for end in (each.low, each.median, each.high) if end is not None]
    positive = [abs(each.median) for each in shown if each.median]
    logarithmic = min(ends) > 0 and max(positive) > _SPREAD * min(positive)
    factor, unit = choose_scale(min(positive) if logarithmic else max(positive, default=0.0), shown[0].unit)
    height = TOP + _ROW * len(shown) + BOTTOM
    values = [factor * end for end in ends]
    along = fit_axis(
        values if logarithmic else [0.0, *values],
        LEFT,
        WIDTH - RIGHT,
        logarithmic=logarithmic,
        padding=0.05 if logarithmic else 0.0,
    )
    ticks = along.ticks(unit=unit)
    if logarithmic:
        ticks = tuple(Tick(tick.value, format_quantity(tick.value / factor, shown[0].unit)) for tick in ticks)
    marks: list[Mark] = [*draw_upright_grid(along, TOP, height - BOTTOM, WIDTH, ticks)]
    for number, each in enumerate(shown):
        marks += _row(each, TOP + _ROW * number, factor, along)
    return Picture(
        name,
        WIDTH,
        height,
        f"{shown[0].metric} of {model}",
        "; ".join(f"{each.name}: {each.words}" for each in shown),
        marks,
    )


def explain_bars(bars: Sequence[Bar]) -> str:
    """Return what a reader of the picture must know: what the lines are, and which scale it has."""
    bases = sorted({each.basis for each in bars if each.basis})
    parts = [f"Lines: {' or '.join(bases)}." if bases else "No intervals: each program was launched once."]
    medians = [each.median for each in bars[:_MOST] if each.median > 0]
    if medians and max(medians) > _SPREAD * min(medians):
        parts.append("The scale is logarithmic.")
    if any(not each.trusted for each in bars[:_MOST]):
        parts.append("An exclamation mark stands for numbers that should not be trusted.")
    if len(bars) > _MOST:
        parts.append(f"{len(bars) - _MOST} more are in the table.")
    return " ".join(parts)


def _row(bar: Bar, top: float, factor: float, along: Axis) -> Iterator[Mark]:
    trusted = bar.trusted
    kind = "" if trusted else "doubtful "
    middle, end = top + 31, along.place(factor * bar.median)
    yield Label(f"{'' if trusted else '! '}{_clip(bar.name)}", LEFT + 2, top + 17, kind="name")
    yield Label(bar.words, WIDTH - RIGHT, top + 17, "end")
    if along.logarithmic:
        yield Circle(f"{kind}center", end, middle, 5)
    else:
        zero = along.place(0.0)
        yield Rectangle(f"{kind}bar", min(zero, end), middle - 7, max(abs(end - zero), 1), 14)
    if bar.low is not None and bar.high is not None:
        low, high = along.place(factor * bar.low), along.place(factor * bar.high)
        ends = f"M{low:.1f} {middle - 5:g}V{middle + 5:g}M{high:.1f} {middle - 5:g}V{middle + 5:g}"
        yield Path("whisker", f"M{low:.1f} {middle:g}H{high:.1f}{ends}")


def _clip(name: str) -> str:
    line = make_printable(name)
    return line if len(line) <= _NAME else f"{line[: _NAME - 1]}…"
