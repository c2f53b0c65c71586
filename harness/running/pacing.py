"""Time of launches whose iterations do not follow each other back to back: pauses belong to it."""

from __future__ import annotations

import math
from typing import Final

from harness.core.benchmark import Benchmark
from harness.core.scenario import Pattern

_USUAL_ITERATIONS: Final = 50
"""Iterations where a benchmark leaves their number to the runner: no runner of ours makes more."""


def paced_iteration_s(benchmark: Benchmark, latency_s: float) -> float:
    """Return the seconds from one iteration to the next.

    Args:
        benchmark: What is measured.
        latency_s: What an iteration takes.
    """
    return latency_s if benchmark.arrival is None else max(latency_s, benchmark.arrival.interval_s)


def longest_pauses_s(benchmark: Benchmark) -> float:
    """Return what the time limit of a launch must have for its pauses; random ones last longer once in 10,000 launches.

    A long run ends by itself, and has been given its time.
    """
    if benchmark.arrival is None or benchmark.long_run_s is not None:
        return 0.0
    intervals = benchmark.iterations if benchmark.iterations >= 0 else _USUAL_ITERATIONS
    beyond_mean = 4 * math.sqrt(intervals) if benchmark.arrival.pattern is Pattern.POISSON else 0.0
    return benchmark.arrival.interval_s * (intervals + beyond_mean)
