"""The last bet: part of the capital is kept for one exact test when the budget is spent.

Evidence that may be looked at after every pair needs more pairs than a test at an agreed end. So a share `RESERVE` of
the capital does not bet on the way. If the budget is spent, it is put on Wilcoxon's signed-rank test of all pairs at
level RESERVE * alpha, all or nothing: it pays 1 / alpha or is lost. Whoever stops earlier goes without it. Betting and
reserve together start at 1 and are expected to end at 1 or less without a difference, so evidence of 1 / alpha is still
seen in at most alpha of the comparisons: alpha (1 - RESERVE) on the way and alpha RESERVE at the end (the idea is
Haybittle's, British Journal of Radiology 44, 1971, and Peto's).

The signs are the coin's, so the test is exact whatever the machine does; and as their rank sum rises with every
difference, it refutes "not worse" as well as "equal".

A share of 0.3 leaves the fewest pairs that show a change at 1 % at 8. It makes the way to a proven change 6 to 7 %
longer and costs nothing where there is none. Of the changes of 1 % that a hundred pairs left undecided on noisy
machines it finds three in five: in all, 88 % instead of 75 % are found on simulated bursts, 96 % instead of 93 % on
recorded ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.core.levels import RESERVE

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_FINEST: Final = 40_000
"""If the square of the number of pairs is more, ranks are coarsened, for the sake of time: steps of 25 for 1,000."""


def level_on_the_way(alpha: float) -> float:
    """Return the level that is left for stopping early."""
    return (1 - RESERVE) * alpha


def add_reserve(evidence: float, payoff: float) -> float:
    """Return evidence including the reserve.

    Args:
        evidence: Of the capital that bets on the way.
        payoff: Payoff of the final bet; 0 if it was lost or not made.
    """
    return (1 - RESERVE) * evidence + payoff


def final_payoff(log_ratios: Sequence[float], alpha: float) -> float:
    """Return what the final bet pays: 1 / alpha if the pairs refute "not above zero", else nothing.

    Args:
        log_ratios: ln(treatment / control) of one statistic of every pair, larger is worse, without the slot effect.
        alpha: Level of the comparison.
    """
    return 1 / alpha if signed_rank_p(log_ratios) <= RESERVE * alpha else 0.0


def signed_rank_p(differences: Sequence[float]) -> float:
    """Return the share of all choices of signs whose positive ranks have at least this sum.

    Wilcoxon 1945, from the exact distribution: the normal approximation is off where it matters. Zeros, and ties
    between the two signs, count against it. So every rank occurs once, the sum counts the pairs of differences whose
    sum is above zero, and no difference that rises can raise the result.
    """
    values = np.asarray(differences, dtype=np.float64)
    ascending = values[np.lexsort((values <= 0, np.abs(values)))]
    scores, reached = _exact_distribution(len(values))
    return float(reached[int(scores[ascending > 0].sum())])


@lru_cache(maxsize=16)
def _exact_distribution(count: int) -> tuple[Integers, Floats]:
    """Return the scores of this many ranks, and for every sum of some of them the share of choices that reach it.

    Any scores that grow with the rank make an exact test. It depends on the number of pairs alone, and a thousand
    benchmarks end with the same one.
    """
    scores: Integers = -(-np.arange(1, count + 1) // math.ceil(count**2 / _FINEST))
    likely: Floats = np.zeros(int(scores.sum()) + 1)
    likely[0] = 1.0
    for score in scores.tolist():
        likely *= 0.5
        likely[score:] += likely[: len(likely) - score].copy()
    return scores, np.cumsum(likely[::-1])[::-1]
