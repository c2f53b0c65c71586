"""The two questions of a comparison, each with its own evidence: did anything change, and is the rest equivalent?

Log ratios are oriented towards harm here: above zero the treatment is worse, whichever way the metric is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from harness.analysis.compare.evidence import EProcess, Refutes, reaches
from harness.analysis.compare.final_test import add_reserve, log_final_payoff
from harness.analysis.compare.resolution import Resolution, add_pair
from harness.core.comparison import ESTIMATED_STATISTIC, STATISTICS, Pair, Parameters, Verdict

_ALL: Final = range(len(STATISTICS))

_TAIL: Final = STATISTICS.index("p90")
"""Must be no worse for `no change` as well. It moves too much to be held within as narrow a margin."""

_CONTRADICTION: Final = 8.0
"""Evidence of a single statistic for a change that `no change` does not override: docs/decisions/0015."""


class ChangeTest:
    """Evidence for a regression and for an improvement, from all statistics of all pairs.

    Args:
        parameters: When the evidence suffices.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._regression = EProcess(Refutes.AT_MOST, 0.0, _ALL)
        self._improvement = EProcess(Refutes.AT_LEAST, 0.0, _ALL)
        self._final_payoffs: dict[Refutes, float] = {}

    def add(self, harm_ratios: Sequence[float], scales: Sequence[float]) -> None:
        """Bet on the statistics of one more pair."""
        self._regression.add(harm_ratios, scales)
        self._improvement.add(harm_ratios, scales)

    def stake_reserve(self, harm_ratios: Sequence[float]) -> None:
        """Bet the reserve on the final test of all pairs; only the first call does.

        Args:
            harm_ratios: Of the estimated statistic, pair by pair.
        """
        if self._final_payoffs:
            return
        for refutes in Refutes:
            oriented = [refutes * ratio for ratio in harm_ratios]
            self._final_payoffs[refutes] = log_final_payoff(oriented, self._parameters.alpha)

    @property
    def log_regression(self) -> float:
        """Logarithm of the evidence against "not worse"."""
        return add_reserve(self._regression.log_value, self._final_payoffs.get(Refutes.AT_MOST, -math.inf))

    @property
    def log_improvement(self) -> float:
        """Logarithm of the evidence against "not better"."""
        return add_reserve(self._improvement.log_value, self._final_payoffs.get(Refutes.AT_LEAST, -math.inf))

    def verdict(self) -> Verdict | None:
        """Return the change that is proven; None where none is."""
        if reaches(self.log_regression, self._parameters.alpha):
            return Verdict.REGRESSION
        if not self._parameters.gate and reaches(self.log_improvement, self._parameters.alpha):
            return Verdict.IMPROVEMENT
        return None

    def suspects_change(self) -> bool:
        """Return whether any single statistic indicates a change, so that equivalence of one is not the whole truth."""
        processes = (self._regression,) if self._parameters.gate else (self._regression, self._improvement)
        return any(process.log_strongest >= math.log(_CONTRADICTION) for process in processes)


class EquivalenceTest:
    """Evidence that the builds are alike, reduced by what rounding may have hidden.

    Args:
        parameters: The margins, and when the evidence suffices.
        exact: Whether the metric is counted, so that figures that never vary are equal.
    """

    def __init__(self, parameters: Parameters, *, exact: bool) -> None:
        self._parameters = parameters
        self._resolution = Resolution(exact=exact)
        self._added: list[tuple[Sequence[float], Sequence[float]]] = []
        self._start()

    @property
    def log_step(self) -> float:
        """Largest rounding error of a log ratio, as far as the pairs show it; infinite where they do not."""
        return self._resolution.log_step

    def add(self, pair: Pair, harm_ratios: Sequence[float], scales: Sequence[float]) -> None:
        """Bet on one more pair; on all of them again where it showed a finer resolution."""
        self._added.append((harm_ratios, scales))
        add_pair(self._resolution, pair)
        if self.log_step == self._assumed_step:
            self._bet(harm_ratios, scales)
            return
        self._start()
        for earlier_ratios, earlier_scales in self._added:
            self._bet(earlier_ratios, earlier_scales)

    @property
    def log_not_worse(self) -> float:
        """Logarithm of the largest evidence against "worse by the margin or more"."""
        return self._not_worse.log_largest

    @property
    def log_not_better(self) -> float:
        """Logarithm of the largest evidence against "better by the margin or more"."""
        return self._not_better.log_largest

    @property
    def log_tail(self) -> float:
        """Logarithm of the largest evidence against "the tail worse by its margin or more"."""
        return self._tail.log_largest

    def is_equivalent(self) -> bool:
        """Return whether a difference of the margin or more is ruled out."""
        beta = self._parameters.beta
        no_worse = reaches(self.log_not_worse, beta) and reaches(self.log_tail, beta)
        return no_worse and (self._parameters.gate or reaches(self.log_not_better, beta))

    def _start(self) -> None:
        """Begin without bets, at the resolution known now."""
        margin, tail_margin = math.log1p(self._parameters.margin), math.log1p(self._parameters.tail_margin)
        self._assumed_step = step = self.log_step
        self._not_worse = EProcess(Refutes.AT_LEAST, margin - step, [ESTIMATED_STATISTIC])
        self._not_better = EProcess(Refutes.AT_MOST, step - margin, [ESTIMATED_STATISTIC])
        self._tail = EProcess(Refutes.AT_LEAST, tail_margin - step, [_TAIL])

    def _bet(self, harm_ratios: Sequence[float], scales: Sequence[float]) -> None:
        for process in (self._not_worse, self._not_better, self._tail):
            process.add(harm_ratios, scales)
