"""Comparisons drawn with characters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from harness.core.comparison import Comparison
from harness.presentation.numbers import format_change
from harness.presentation.trajectory import trace_comparison
from harness.presentation.verdicts import stated_interval

_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_WIDTH: Final = 50
"""Characters of a line: what a comment on GitHub shows without scrolling, with the words around it."""


def draw_comparison(comparison: Comparison) -> str:
    """Draw two lines of characters: each pair's change as a bar, and the interval on a ruler. Empty without pairs."""
    changes = [point.relative_change for point in trace_comparison(comparison)]
    if not changes:
        return ""
    shown = _thin(changes, _WIDTH)
    low, high = min(shown), max(shown)
    step = (high - low) / (len(_BLOCKS) - 1) or 1.0
    bars = "".join(_BLOCKS[round((change - low) / step)] for change in shown)
    pairs = f"pairs     {bars}  {format_change(low)} to {format_change(high)}"
    return pairs if stated_interval(comparison) is None else f"{pairs}\ninterval  {_ruler(comparison)}"


def _ruler(comparison: Comparison) -> str:
    """Draw no difference as `|`, the margins as `:`, the interval as `├──●──┤`, and arrows where it is longer."""
    margin = comparison.parameters.margin
    ends = [abs(end) for end in (comparison.low, comparison.high, comparison.difference) if end is not None]
    reach = min(max(1.5 * margin, 1.1 * max(ends, default=0.0)), 10 * margin)
    half = _WIDTH // 2

    def place(change: float) -> int:
        return half + round(half * max(-1.0, min(1.0, change / reach)))

    cells = [" "] * (2 * half + 1)
    start = 0 if comparison.low is None else place(comparison.low)
    end = 2 * half if comparison.high is None else place(comparison.high)
    cells[start : end + 1] = "─" * (end - start + 1)
    cells[place(-margin)] = cells[place(margin)] = ":"
    cells[half] = "|"
    cells[start] = "├" if comparison.low is not None and comparison.low >= -reach else "◄"
    cells[end] = "┤" if comparison.high is not None and comparison.high <= reach else "►"
    if comparison.difference is not None:
        cells[place(comparison.difference)] = "●"
    return f"{''.join(cells)}  {format_change(-reach)} to {format_change(reach)}"


def _thin(changes: Sequence[float], at_most: int) -> list[float]:
    """Return at most so many, in order: medians of neighbours where there are more."""
    if len(changes) <= at_most:
        return list(changes)
    edges = [len(changes) * number // at_most for number in range(at_most + 1)]
    return [median(changes[start:end]) for start, end in pairwise(edges)]
