"""A comparison drawn with characters: its pairs in order, and its interval beside the margins."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from harness.core.comparison import Comparison
from harness.presentation.shares import signed
from harness.presentation.trajectory import trajectory

_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_WIDTH: Final = 50
"""Characters of a line: what a comment on GitHub shows without scrolling, with the words around it."""


def picture(comparison: Comparison) -> str:
    """Two lines: every pair's difference as a bar, and the interval on a ruler. Empty without pairs."""
    points = [point.difference for point in trajectory(comparison.pairs)]
    if not points:
        return ""
    shown = _thinned(points, _WIDTH)
    low, high = min(shown), max(shown)
    step = (high - low) / (len(_BLOCKS) - 1) or 1.0
    bars = "".join(_BLOCKS[round((point - low) / step)] for point in shown)
    return f"pairs     {bars}  {signed(low)} to {signed(high)}\ninterval  {_ruler(comparison)}"


def _ruler(comparison: Comparison) -> str:
    """`|` is no difference, `:` are the margins, `├──●──┤` is the interval, and arrows lead beyond the ruler."""
    margin = comparison.parameters.margin
    ends = [abs(end) for end in (comparison.low, comparison.high, comparison.difference) if end is not None]
    reach = min(max(1.5 * margin, 1.1 * max(ends, default=0.0)), 10 * margin)
    half = _WIDTH // 2

    def place(share: float) -> int:
        return half + round(half * max(-1.0, min(1.0, share / reach)))

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
    return f"{''.join(cells)}  {signed(-reach)} to {signed(reach)}"


def _thinned(points: Sequence[float], most: int) -> list[float]:
    """At most so many, in order: medians of neighbours where there are more."""
    if len(points) <= most:
        return list(points)
    edges = [len(points) * number // most for number in range(most + 1)]
    return [median(points[start:end]) for start, end in pairwise(edges)]
