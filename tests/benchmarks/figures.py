"""Output of benchmarks: a claim, the figure, and the result of the check."""

from __future__ import annotations

import random
import resource
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.core.launch_interval import compute_interval


def claim(text: str, figure: float, limit: float, unit: str = "") -> None:
    """Print one figure beside its limit; a claim that does not hold fails the benchmark."""
    holds = figure <= limit
    print(f"\n{'holds' if holds else 'BROKEN'}: {text}: {figure:.3g}{unit} (limit {limit:g}{unit})")
    assert holds, text


def spread(values: Sequence[float]) -> str:
    """Format median and range."""
    return f"{statistics.median(values):.4g} [{min(values):.4g} .. {max(values):.4g}], n = {len(values)}"


def children_cpu_s() -> float:
    """Return the CPU seconds of all finished children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def in_random_order(first: Callable[[], float], second: Callable[[], float]) -> tuple[float, float]:
    """Return both figures, taken back to back; a coin decides which comes first, so that drift favours neither."""
    if random.random() < 0.5:
        first_figure = first()
        return first_figure, second()
    second_figure = second()
    return first(), second_figure


@dataclass(frozen=True)
class RatioOfPairs:
    """Median of the ratios of pairs, and its 95 % interval by order statistics, of any distribution."""

    median: float
    low: float
    high: float
    pairs: int

    @staticmethod
    def of(pairs: Sequence[tuple[float, float]]) -> RatioOfPairs:
        """Return first by second of at least `FEWEST_PAIRS` pairs."""
        assert len(pairs) >= FEWEST_PAIRS, "fewer pairs have no such interval"
        ratios = [first / second for first, second in pairs]
        center = statistics.median(ratios)
        interval = compute_interval(ratios, center)
        assert interval is not None
        return RatioOfPairs(center, interval.low, interval.high, len(ratios))

    def holds(self, limit: float) -> bool | None:
        """Return whether the ratio is within `limit` of 1; None where the interval reaches to both sides of that."""
        if 1 - limit <= self.low and self.high <= 1 + limit:
            return True
        return False if self.high < 1 - limit or self.low > 1 + limit else None

    def __str__(self) -> str:
        return f"{self.median:.4f} [{self.low:.4f} .. {self.high:.4f}], {self.pairs} pairs"


FEWEST_PAIRS = 7
"""Below, no interval between two of the values has 97.5 %, which is what `compute_interval` asks for."""
