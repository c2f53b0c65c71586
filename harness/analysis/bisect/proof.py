"""Proof that two neighbours differ: exact for any noise, because a coin decided the order of each pair."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from harness.analysis.compare.estimate import crossed, limits
from harness.analysis.compare.evidence import EProcess, Refutes, finite_evidence
from harness.analysis.compare.statistics import PredictableScale
from harness.core.effect import Effect


class Proof(Struct, frozen=True):
    """Evidence of fresh pairs of two neighbours.

    Attributes:
        pairs: Number of pairs.
        evidence: E-value against "no difference", the largest so far: the mean of those against "not more" and "not
            less", so that the direction need not be known beforehand.
        effect: The difference, its interval valid whenever it is looked at; without ends where the pairs refute every
            single difference (docs/decisions/0015). None without pairs.
    """

    pairs: int
    evidence: float
    effect: Effect | None


def prove(pairs: Sequence[Sequence[float]], figure: int = 0) -> Proof:
    """Evaluate fresh pairs of two neighbours.

    All figures bet, as in a comparison, so the choice of the figure in which the difference is stated costs
    nothing.

    Args:
        pairs: ln(treatment / control) of each figure, in the order of measurement.
        figure: Place of the figure in which the difference is stated.
    """
    places = range(len(pairs[0]) if pairs else figure + 1)
    more, less = EProcess(Refutes.AT_MOST, 0.0, places), EProcess(Refutes.AT_LEAST, 0.0, places)
    scales = [PredictableScale() for _ in places]
    known: list[float] = []
    largest = 0.0
    for ratios in pairs:
        now = [scale.next() for scale in scales]
        known.append(now[figure])
        for side in (more, less):
            side.add(ratios, now)
        for scale, ratio in zip(scales, ratios, strict=True):
            scale.add(ratio)
        largest = max(largest, float(np.logaddexp(more.log_value, less.log_value)) - math.log(2))
    low, high = limits([ratios[figure] for ratios in pairs], known)
    if crossed(low, high):
        low = high = None
    median = scales[figure].median()
    return Proof(
        pairs=len(pairs),
        evidence=finite_evidence(largest),
        effect=None if median is None else Effect(log_ratio=median, low_log_ratio=low, high_log_ratio=high),
    )
