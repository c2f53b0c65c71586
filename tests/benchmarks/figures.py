"""Output of benchmarks: a claim, the figure, and the result of the check."""

from __future__ import annotations

import resource
import statistics
from collections.abc import Sequence


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
