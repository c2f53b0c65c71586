"""Plain bisection, as people do it: each answer is taken for the truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.analysis.compare.evidence import EProcess, Refutes
from harness.analysis.compare.statistics import PredictableScale
from tests.analysis.bisect.noisy_history import NoisyHistory

_MOST = 100
"""Pairs of a step at most."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result and cost of a search."""

    culprits: tuple[int, ...]
    pairs: int
    builds: int


Step = Callable[[NoisyHistory, int, float], tuple[bool, int]]
"""Callable that decides from the size of the whole step if a commit is bad, and counts the pairs that it took."""


def bisect(history: NoisyHistory, whole: list[float], is_bad: Step) -> Outcome:
    """Halve the range between good and bad until they are neighbours."""
    good, bad, pairs, builds = 0, len(history.levels) - 1, len(whole), 0
    while bad - good > 1:
        middle = (good + bad) // 2
        answer, cost = is_bad(history, middle, float(np.median(whole)))
        pairs, builds = pairs + cost, builds + 1
        good, bad = (good, middle) if answer else (middle, bad)
    return Outcome((bad,), pairs, builds)


def above(threshold: float, pairs: int) -> Step:
    """Call a commit bad when the ratio of means is above a threshold."""

    def is_bad(history: NoisyHistory, commit: int, _: float) -> tuple[bool, int]:
        ratios = history.pairs("c0", f"c{commit}", pairs)
        return float(np.mean(ratios)) > math.log1p(threshold), pairs

    return is_bad


def above_half(pairs: int) -> Step:
    """Call a commit bad when the median is above half of the whole step."""

    def is_bad(history: NoisyHistory, commit: int, whole: float) -> tuple[bool, int]:
        return float(np.median(history.pairs("c0", f"c{commit}", pairs))) > 0.5 * whole, pairs

    return is_bad


def proven(alpha: float) -> Step:
    """Call a commit bad when an e-process refutes "no change", good when one refutes "the whole step"."""

    def is_bad(history: NoisyHistory, commit: int, whole: float) -> tuple[bool, int]:
        more, less = EProcess(Refutes.AT_MOST, 0.0, [0]), EProcess(Refutes.AT_LEAST, whole, [0])
        scale, pairs = PredictableScale(), 0
        while max(more.log_value, less.log_value) < -math.log(alpha) and pairs < _MOST:
            ratio, estimate = history.pairs("c0", f"c{commit}", 1)[0], scale.next()
            more.add([ratio], [estimate])
            less.add([ratio], [estimate])
            scale.add(ratio)
            pairs += 1
        return more.log_value >= less.log_value, pairs

    return is_bad
