"""Curve of a long run: the median and the outer tenths of short windows, the levels, and where the device throttled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.core.long_run import EARLY_S, LongRun
from harness.presentation.numbers import choose_scale, format_change, format_quantity
from reporters.document.axis import Axis, fit_axis
from reporters.document.picture import Circle, Label, Mark, Path, Picture, draw_grid, draw_upright_grid

WIDTH: Final = 640
HEIGHT: Final = 266
LEFT, RIGHT, TOP, BOTTOM = 112, 8, 42, 44
_NARROWEST: Final = 0.1
"""Distance from the steady state that is shown in any case, relative to it."""


def draw_long_run(run: LongRun, name: str) -> Picture | None:
    """Draw the figure over the seconds of a long run.

    Args:
        run: The run.
        name: Name of the picture, unique on its page.

    Returns:
        The picture; None where all executions began at once.
    """
    if run.end_s <= 0 or len(run.windows) < 2:
        return None
    factor, unit = choose_scale(max(window.median for window in run.windows), run.unit)
    across = Axis(0.0, run.windows[-1].end_s, LEFT, WIDTH - RIGHT)
    along = _fit_values(run, factor)
    marks: list[Mark] = [
        *draw_grid(along, LEFT, WIDTH - RIGHT, unit=unit),
        *draw_upright_grid(across, HEIGHT - BOTTOM, HEIGHT - BOTTOM, WIDTH, across.ticks(8)),
        Label(_summarise(run), LEFT, 12, kind="name"),
        Label("seconds since the run began", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "middle"),
        *_curve(run, factor, across, along),
        *_levels(run, factor, across, along),
        *_throttling(run, across),
        *_early(run, factor, across, along),
    ]
    title = f"{run.metric} over {run.end_s:.0f} seconds, {run.count:,} samples"
    return Picture(name, WIDTH, HEIGHT, title, _describe(run), marks)


def _fit_values(run: LongRun, factor: float) -> Axis:
    """Make room for the medians of all windows, and the outer tenths unless they lie far away; noise looks small."""
    medians = [window.median for window in run.windows]
    low, high = min(*medians, (1 - _NARROWEST) * run.steady), max(*medians, (1 + _NARROWEST) * run.steady)
    room = max(high - low, 0.05 * high)
    ends = [
        max(low - room, min(window.p10 for window in run.windows)),
        min(high + room, max(window.p90 for window in run.windows)),
    ]
    return fit_axis([factor * end for end in ends], HEIGHT - BOTTOM, TOP, padding=0.06)


def _curve(run: LongRun, factor: float, across: Axis, along: Axis) -> Iterator[Mark]:
    def place(middle_s: float, value: float) -> str:
        return f"{across.place(middle_s):.1f} {along.place(factor * value):.1f}"

    middles = [(window.start_s + window.end_s) / 2 for window in run.windows]
    windows = list(zip(middles, run.windows, strict=True))
    upper = [place(middle_s, window.p90) for middle_s, window in windows]
    lower = [place(middle_s, window.p10) for middle_s, window in reversed(windows)]
    yield Path("range", f"M{'L'.join([*upper, *lower])}Z")
    yield Path("course", f"M{'L'.join(place(middle_s, window.median) for middle_s, window in windows)}")


def _levels(run: LongRun, factor: float, across: Axis, along: Axis) -> Iterator[Mark]:
    """Draw the level of each part in which nothing changed."""
    for level in run.levels:
        y = along.place(factor * level.value)
        text = f"{format_quantity(level.value, run.unit)} from {level.start_s:.3g} to {level.end_s:.3g} s"
        yield Path("level", f"M{across.place(level.start_s):.1f} {y:.1f}H{across.place(level.end_s):.1f}", title=text)


def _throttling(run: LongRun, across: Axis) -> Iterator[Mark]:
    if run.throttled_after_s is not None:
        x = across.place(run.throttled_after_s)
        is_left = x > (LEFT + WIDTH) / 2
        word = "beside other programs" if run.contention else "throttled"
        text = f"{word} after {run.throttled_after_s:.0f} s, {format_change(run.change)}"
        yield Path("switch", f"M{x:.1f} {TOP - 12}V{HEIGHT - BOTTOM}")
        yield Label(text, x - 5 if is_left else x + 5, TOP - 8, "end" if is_left else "start")


def _early(run: LongRun, factor: float, across: Axis, along: Axis) -> Iterator[Mark]:
    """Mark the figure at ten seconds."""
    if run.early is not None:
        x, y = across.place(EARLY_S), along.place(factor * run.early)
        yield Circle("hollow", x, y, 4, title=f"{format_quantity(run.early, run.unit)} at {EARLY_S:g} s")


def _summarise(run: LongRun) -> str:
    """Return the figures above the picture, where they hide nothing of the curve."""
    early = [f"{format_quantity(run.early, run.unit)} at {EARLY_S:g} s"] if run.early is not None else []
    return " · ".join([*early, f"steady {format_quantity(run.steady, run.unit)} from {run.steady_since_s:.0f} s on"])


def _describe(run: LongRun) -> str:
    early = f"{format_quantity(run.early, run.unit)} at {EARLY_S:g} seconds, " if run.early is not None else ""
    steady = f"{format_quantity(run.steady, run.unit)} in the steady state from {run.steady_since_s:.0f} seconds on."
    if run.throttled_after_s is None:
        return f"{early}{steady} It did not throttle."
    end = " and recovered later" if run.recovered else ""
    return f"{early}{steady} It throttled after {run.throttled_after_s:.0f} seconds ({format_change(run.change)}){end}."
