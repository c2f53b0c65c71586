"""Proof that two neighbours differ: exact for any noise, because a coin decided the order of each pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.compare.estimate import crossed, limits
from harness.analysis.compare.evidence import EProcess, Refutes, finite_evidence
from harness.analysis.compare.statistics import PredictableScale
from harness.core.effect import Effect


@dataclass(frozen=True, slots=True)
class Proof:
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


def prove(log_ratios: Sequence[float]) -> Proof:
    """Evaluate fresh pairs of two neighbours.

    Args:
        log_ratios: ln(treatment / control) of one statistic, in the order of measurement.
    """
    more, less = EProcess(Refutes.AT_MOST, 0.0, [0]), EProcess(Refutes.AT_LEAST, 0.0, [0])
    scale, scales, largest = PredictableScale(), [], 0.0
    for ratio in log_ratios:
        scales.append(scale.next())
        for side in (more, less):
            side.add([ratio], scales[-1:])
        scale.add(ratio)
        largest = max(largest, float(np.logaddexp(more.log_value, less.log_value)) - math.log(2))
    low, high = limits(log_ratios, scales)
    if crossed(low, high):
        low = high = None
    median = scale.median()
    return Proof(
        pairs=len(log_ratios),
        evidence=finite_evidence(largest),
        effect=None if median is None else Effect(log_ratio=median, low_log_ratio=low, high_log_ratio=high),
    )
