"""Synthetic pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from harness.analysis.compare.decision import SequentialTest
from harness.core.comparison import STATISTICS, Pair, Parameters

PARAMETERS = Parameters(seed=1)


def pair(log_ratios: Sequence[float], *, index: int = 0, seconds: float = 1.0, control: float = 8.0) -> Pair:
    """Return a pair with given log ratios of its five statistics. No two figures are equal, as with a fine clock."""
    level = control * (1 + 1e-8 * index)
    return Pair(
        index=index,
        control_first=index % 2 == 0,
        control=(level,) * len(STATISTICS),
        treatment=tuple(level * math.exp(ratio) for ratio in log_ratios),
        control_launch=index,
        treatment_launch=index,
        seconds=seconds,
    )


def flat(log_ratios: Iterable[float]) -> list[Pair]:
    """Return pairs whose five statistics all have the same log ratio."""
    return [pair((ratio,) * len(STATISTICS), index=index) for index, ratio in enumerate(log_ratios)]


def feed_pairs(
    pairs: Iterable[Pair], parameters: Parameters = PARAMETERS, *, higher_is_better: bool = False
) -> SequentialTest:
    """Return a test after all pairs, including those after its verdict."""
    test = SequentialTest(parameters, higher_is_better)
    for sample in pairs:
        test.add(sample)
    return test


def swapped(original: Pair) -> Pair:
    """Return the pair with control and treatment exchanged."""
    return original.model_copy(update={"control": original.treatment, "treatment": original.control})
