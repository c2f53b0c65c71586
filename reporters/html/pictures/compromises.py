"""Compromises of speed, size and fidelity: a dot for each program, those that another one dominates hollow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from harness.presentation.evaluation_table import format_statistic
from harness.presentation.numbers import format_quantity
from harness.presentation.pareto import ACCURACY, Compromise, find_dominated, rank_statistic
from harness.presentation.text import make_printable
from reporters.document.axis import Tick, fit_axis
from reporters.document.picture import CHARACTER, Circle, Label, Mark, Path, Picture, draw_grid, draw_upright_grid

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 84, 24, 30, 44
_SMALLEST_DOT, _LARGEST_DOT = 5.0, 16.0
_LINE: Final = 20.0
"""Height of a line of text, also of the larger ones on narrow screens."""
_LETTER: Final = 1.4 * CHARACTER
"""Width of a character of a name there."""
_ROWS: Final = 12


def draw_compromises(compromises: Sequence[Compromise], name: str) -> Picture | None:
    """Draw latency to the right, fidelity upwards and size as the area of a dot; None for fewer than two programs.

    Programs with outputs identical to the reference have no finite fidelity and are left out.

    Args:
        compromises: The programs.
        name: Name of the picture, unique on its page.
    """
    shown = [item for item in compromises if math.isfinite(item.costs[2].value) and item.costs[0].value > 0]
    if len(shown) < 2:
        return None
    accurate = all((quality := rank_statistic(item.result)) and quality.name == ACCURACY for item in shown)
    scale, unit = (-100.0, " %") if accurate else (-1.0, " dB")
    heights = [scale * cost for item in shown for cost in (item.costs[2].value, item.costs[2].low, item.costs[2].high)]
    upwards = fit_axis(heights, HEIGHT - BOTTOM, TOP, padding=0.12)
    times = [cost for item in shown for cost in (item.costs[0].value, item.costs[0].low, item.costs[0].high)]
    logarithmic = min(times) > 0 and max(times) > 5 * min(times)
    along = fit_axis(times, LEFT, WIDTH - RIGHT, logarithmic=logarithmic, padding=0.08)
    ticks = [Tick(tick.value, format_quantity(tick.value, "ns")) for tick in along.ticks(4)]
    marks: list[Mark] = [
        *draw_grid(upwards, LEFT, WIDTH - RIGHT, unit=unit.strip()),
        *draw_upright_grid(along, TOP, HEIGHT - BOTTOM, WIDTH, ticks),
        Label("accuracy" if accurate else "SQNR against the eager model", 4, 14, kind="name"),
        Label("latency", WIDTH - RIGHT, HEIGHT - 9, "end", kind="name"),
    ]
    dominated = find_dominated([item for item in compromises if item.result.trusted])
    largest = max(item.costs[1].value for item in shown)
    names = _Names()
    for item in sorted(shown, key=lambda item: item.costs[0].value):
        x, y = along.place(item.costs[0].value), upwards.place(scale * item.costs[2].value)
        radius = max(_LARGEST_DOT * math.sqrt(item.costs[1].value / largest), _SMALLEST_DOT)
        is_dominated = item.result.uid in dominated
        low, high = along.place(item.costs[0].low), along.place(item.costs[0].high)
        bottom, top = upwards.place(scale * item.costs[2].high), upwards.place(scale * item.costs[2].low)
        marks += [
            Path("whisker", f"M{x:.1f} {bottom:.1f}V{top:.1f}M{low:.1f} {y:.1f}H{high:.1f}"),
            Circle("hollow" if is_dominated else "center", x, y, radius, _describe(item)),
            names.place(item.result.benchmark.identifier, x, y + 4, radius + 6, "label" if is_dominated else "name"),
        ]
    return Picture(
        name,
        WIDTH,
        HEIGHT,
        f"Speed, size and fidelity of {make_printable(shown[0].result.benchmark.model)}",
        "; ".join(_describe(item) for item in shown),
        marks,
    )


class _Names:
    """Names beside dots, each in the nearest free row."""

    def __init__(self) -> None:
        self._taken: list[tuple[float, float, float]] = []

    def place(self, name: str, x: float, y: float, gap: float, kind: str) -> Label:
        """Return the label of a dot: right of it, or left at the edge; above or below where another is."""
        text = make_printable(name)
        width = _LETTER * len(text)
        is_left = x + gap + width > WIDTH
        start = x - gap - width if is_left else x + gap
        rows = (y + sign * _LINE * step for step in range(_ROWS) for sign in (-1, 1))
        row = next((row for row in rows if TOP < row < HEIGHT - BOTTOM and self._is_free(start, start + width, row)), y)
        self._taken.append((start, start + width, row))
        return Label(text, x - gap if is_left else start, row, "end" if is_left else "start", kind)

    def _is_free(self, start: float, end: float, y: float) -> bool:
        return not any(
            abs(y - row) < _LINE and start < taken_end and taken_start < end
            for taken_start, taken_end, row in self._taken
        )


def _describe(item: Compromise) -> str:
    latency, size, _ = item.costs
    quality = format_statistic(rank_statistic(item.result))
    name = make_printable(item.result.benchmark.identifier)
    return f"{name}: {format_quantity(latency.value, 'ns')}, {format_quantity(size.value, 'bytes')}, {quality}"
