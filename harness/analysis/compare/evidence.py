"""Evidence that grows pair by pair and may be looked at after each: e-processes on log ratios.

Before each pair a coin decides which build is launched first. If every launch of the treatment takes exp(m) times what
the control would have taken in its place, then, given everything before and given |d - m|, the sign of d - m is that
coin's, whatever the machine does meanwhile. So nobody can get rich by betting on the sign: capital that starts at 1 and
is multiplied by

    exp(k z) / cosh(k z),   z = clip((d - m) / scale, -c, c),   scale known before the pair

is a martingale of mean 1, and the probability that it ever reaches 1 / alpha is at most alpha (Ville 1939). No
independence, normality or stationarity is used. The factor grows with d, so capital refutes "at most m" as well as
"exactly m". Means of such capitals, over bets k and over statistics of the same launches, are such capitals again.
d is the log ratio without what the order of its pair explains, which keeps all of this
(see `harness.analysis.compare.slot`).

The bets, the clip and the prior scale were tuned on simulated normal and Student t (3) noise; validity does not depend
on them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from operator import add
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.core.effect import LARGEST_LOG

Floats = NDArray[np.float64]

BETS: Final = (0.3, 0.8, 2.0)
"""Sizes of the bets: 0.3 gains from small differences in many pairs, 2 from large ones in few."""

CLIP: Final = 2.5
"""Largest score of a single pair, in scales: a burst on one launch must not ruin a capital."""


_BETS: Final = np.asarray(BETS)
_EQUAL_SHARES: Final = np.full(len(BETS), 1 / len(BETS))

_MOST: Final = 1e300
"""Largest capital that is told apart."""


class Refutes(IntEnum):
    """Side of the hypothesis that large capital speaks against."""

    AT_MOST = 1
    AT_LEAST = -1


class EProcess:
    """Evidence against "the effect is at most (at least) m", in the mean of some statistics of a launch.

    Capital is kept in logarithms: a hundred pairs against a bold bet leave the range of doubles.

    Args:
        refutes: Which side of `effect` the hypothesis is on.
        effect: m, as a log ratio.
        statistics: Positions of the statistics that bet.

    Attributes:
        log_value: ln of the evidence after the last pair.
        log_largest: ln of the largest evidence so far.
    """

    __slots__ = ("_effect", "_logs", "_refutes", "_statistics", "log_largest", "log_value")

    def __init__(self, refutes: Refutes, effect: float, statistics: Sequence[int]) -> None:
        self._refutes = int(refutes)
        self._effect = effect
        self._statistics = tuple(statistics)
        self._logs = [0.0] * (len(self._statistics) * len(BETS))
        self.log_value = 0.0
        self.log_largest = 0.0

    @property
    def log_strongest(self) -> float:
        """Logarithm of the evidence of the strongest statistic by itself, after the last pair."""
        bets = len(BETS)
        alone = [self._logs[first : first + bets] for first in range(0, len(self._logs), bets)]
        return max(_log_mean(logs) for logs in alone)

    def add(self, log_ratios: Sequence[float], scales: Sequence[float]) -> None:
        """Bet on one more pair.

        Args:
            log_ratios: ln(treatment / control) of every statistic of the pair.
            scales: The scale of each, known before the pair.
        """
        tanh, log1p = math.tanh, math.log1p
        scores = [
            min(CLIP, max(-CLIP, self._refutes * (log_ratios[index] - self._effect) / scales[index]))
            for index in self._statistics
        ]
        gains = [log1p(tanh(bet * score)) for score in scores for bet in BETS]  # exp(x) / cosh(x) = 1 + tanh(x)
        self._logs = logs = list(map(add, self._logs, gains))
        self.log_value = _log_mean(logs)
        self.log_largest = max(self.log_largest, self.log_value)


class EProcesses:
    """Evidence against several hypotheses by the same pairs, of each statistic by itself: `EProcess`, all at once.

    Capital that leaves the range of doubles at its lower end is lost: a thousand pairs could not bring it back. At the
    upper end it grows no more.

    Args:
        refutes: Which side of its effect each hypothesis is on.
        effects: m of each hypothesis, as a log ratio.
        statistics: Number of statistics of a launch.
    """

    __slots__ = ("_capital", "_effects", "_refutes")

    def __init__(self, refutes: Sequence[Refutes], effects: Sequence[float], statistics: int) -> None:
        self._refutes = np.asarray(refutes, dtype=np.float64)[:, None]
        self._effects = np.asarray(effects, dtype=np.float64)[:, None]
        self._capital = np.ones((len(effects), statistics, len(BETS)))

    def add(self, log_ratios: Sequence[float], scales: Sequence[float]) -> Floats:
        """Bet on one more pair.

        Args:
            log_ratios: Of each statistic of the pair.
            scales: The scale of each, known before the pair.

        Returns:
            The evidence, shape (hypotheses, statistics).
        """
        scores = (np.array(log_ratios) - self._effects) * (self._refutes / np.array(scales))
        self._capital *= _gains(scores)
        np.minimum(self._capital, _MOST, out=self._capital)
        return np.asarray(self._capital @ _EQUAL_SHARES)


def _gains(scores: Floats) -> Floats:
    """Return the factors by which each bet moves with each score: one more axis, of the bets."""
    clipped = np.minimum(CLIP, np.maximum(-CLIP, scores))
    return np.asarray(1.0 + np.tanh(clipped[..., None] * _BETS))  # exp(x) / cosh(x)


def log_gains(scores: Floats) -> Floats:
    """Return the logarithms of the factors by which each bet moves with each score: one more axis, of the bets."""
    return np.log(_gains(scores))


def _log_mean(logs: Sequence[float]) -> float:
    """Return the logarithm of the mean of the exponentials."""
    top = max(logs)
    return top + math.log(sum([math.exp(log - top) for log in logs]) / len(logs))


def fewest_pairs(level: float) -> int:
    """Return the fewest pairs that can refute anything at a level: 5 at 5 %, 8 at 1 %.

    Args:
        level: Largest probability of refuting what is true, above 0 and below 1.
    """
    process = EProcess(Refutes.AT_MOST, 0.0, [0])
    pairs = 0
    while not reaches(process.log_value, level):
        process.add([CLIP], [1.0])
        pairs += 1
    return pairs


def reaches(log_evidence: float, level: float) -> bool:
    """Return whether evidence refutes at a level."""
    return log_evidence >= -math.log(level)


def finite_evidence(log_evidence: float) -> float:
    """Return evidence as a finite number."""
    return math.exp(min(log_evidence, LARGEST_LOG))
