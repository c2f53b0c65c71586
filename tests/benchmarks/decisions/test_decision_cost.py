"""CPU cost of decisions: one pair of each of a thousand comparisons."""

from __future__ import annotations

import statistics
import time

import pytest

from harness.analysis.compare.decision import SequentialTest
from harness.core.comparison import Parameters
from tests.analysis.compare.simulated_launches import BURSTY, Change, simulated_pairs
from tests.benchmarks.figures import claim, spread

JUDGES = 1000
PAIRS = 100
pytestmark = pytest.mark.benchmark


def test_a_pair_of_a_thousand_comparisons_is_cheap() -> None:
    pairs = simulated_pairs(BURSTY, Change(), seed=1, pairs=PAIRS)
    judges = [SequentialTest(Parameters(seed=1), higher_is_better=False) for _ in range(JUDGES)]
    spent = []
    for pair in pairs:
        begin = time.process_time()
        for test in judges:
            test.add(pair)
            test.verdict()
        spent.append(time.process_time() - begin)
    print(f"\nCPU s of one pair of {JUDGES} comparisons {spread(spent)}")
    claim(f"CPU of one pair of {JUDGES} comparisons", statistics.median(spent), 0.1, " s")
    claim(f"CPU of the last pair of {JUDGES} comparisons, whose budget it spends", spent[-1], 0.3, " s")


def test_an_interval_is_cheap() -> None:
    """Measure one call per test, because the interval is cached until the next pair."""
    pairs = simulated_pairs(BURSTY, Change(), seed=1, pairs=100)
    spent = []
    for _ in range(20):
        test = SequentialTest(Parameters(seed=1), higher_is_better=False)
        for pair in pairs:
            test.add(pair)
        begin = time.process_time()
        test.interval()
        spent.append(time.process_time() - begin)
    claim("CPU of an interval over 100 pairs", 1000 * statistics.median(spent), 10, " ms")
