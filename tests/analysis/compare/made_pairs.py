"""Synthetic pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from harness.analysis.compare.decision import SequentialTest
from harness.core.comparison import STATISTICS, Pair, Parameters
from harness.running.pairs import control_goes_first

PARAMETERS = Parameters(seed=1)


def pair(
    log_ratios: Sequence[float],
    *,
    index: int = 0,
    seconds: float = 1.0,
    control: float = 8.0,
    control_first: bool | None = None,
) -> Pair:
    """Return a pair with given log ratios of its five statistics. No two figures are equal, as with a fine clock.

    Its order is that of a coin with a seed, unless it is given.
    """
    level = control * (1 + 1e-8 * index)
    return Pair(
        index=index,
        control_first=control_goes_first(1, "", index) if control_first is None else control_first,
        control=(level,) * len(STATISTICS),
        treatment=tuple(level * math.exp(ratio) for ratio in log_ratios),
        control_launch=index,
        treatment_launch=index,
        seconds=seconds,
    )


def flat(log_ratios: Iterable[float]) -> list[Pair]:
    """Return pairs whose five statistics all have the same log ratio."""
    return [pair((ratio,) * len(STATISTICS), index=index) for index, ratio in enumerate(log_ratios)]


def tossed(signs: Iterable[int], slots: Iterable[Sequence[float]]) -> list[Pair]:
    """Return pairs of equal builds under given tosses.

    Args:
        signs: +1 where the treatment is launched second.
        slots: ln(second launch / first launch) of the statistics of each pair, whatever the toss.
    """
    return [
        pair([sign * ratio for ratio in slot], index=index, control_first=sign > 0)
        for index, (sign, slot) in enumerate(zip(signs, slots, strict=True))
    ]


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
    exchanged = {"control": original.treatment, "treatment": original.control}
    return original.model_copy(update={**exchanged, "control_first": not original.control_first})
