"""The two questions of a comparison, each with its own evidence: did anything change, and is the rest equivalent?

Log ratios are oriented towards harm here: above zero the treatment is worse, whichever way the metric is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Final, NamedTuple

from harness.analysis.compare.evidence import EProcesses, Floats, Refutes
from harness.analysis.compare.final_test import add_reserve
from harness.analysis.compare.resolution import Resolution, add_pair
from harness.core.comparison import ESTIMATED_STATISTIC, STATISTICS, Pair, Parameters
from harness.core.levels import levels_of
from harness.core.verdict import Verdict

TYPICAL: Final = slice(STATISTICS.index("min"), STATISTICS.index("median") + 1)
"""Statistics that rule out a change of the margin or more: of them at least one is quiet on nearly every machine. The
others also depend on what disturbs some iterations, and so could rule out a change that all others have: a mean does
where the control has outliers that a slower treatment lacks (docs/decisions/0015, 0020)."""

_TAIL: Final = STATISTICS.index("p90")
"""Must be no worse for `no change` as well. It moves too much to be held within as narrow a margin."""

_QUARTILE_EVIDENCE: Final = 12.0
"""Evidence of p25 by itself that `no change` needs: one quiet statistic does not outvote it (docs/decisions/0021)."""

CONTRADICTION: Final = 3.0
"""Evidence of a single statistic for a change that `no change` does not override (docs/decisions/0015, 0021)."""


class PairObservation(NamedTuple):
    """What a pair contributes.

    Attributes:
        log_ratios: ln(treatment / control) of each statistic, larger is worse, without the slot effect.
        scales: The scale of each, known before the pair.
    """

    log_ratios: Sequence[float]
    scales: Sequence[float]


class ChangeTest:
    """Evidence for a regression and for an improvement, from all statistics of all pairs.

    Args:
        parameters: When the evidence suffices.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._processes = EProcesses((Refutes.AT_MOST, Refutes.AT_LEAST), (0.0, 0.0), len(STATISTICS))
        self._values = self._strongest = (1.0, 1.0)
        self._payoffs = (0.0, 0.0)

    def add(self, observation: PairObservation) -> None:
        """Bet on one more pair."""
        worse, better = self._processes.add(*observation).tolist()
        self._values = (fmean(worse), fmean(better))
        self._strongest = (max(worse), max(better))

    def stake_reserve(self, payoff_worse: float, payoff_better: float) -> None:
        """Add what the reserve pays that was put on the final test (see `harness.analysis.compare.final_test`)."""
        self._payoffs = (payoff_worse, payoff_better)

    @property
    def regression(self) -> float:
        """Evidence against "not worse"."""
        return add_reserve(self._values[0], self._payoffs[0])

    @property
    def improvement(self) -> float:
        """Evidence against "not better"."""
        return add_reserve(self._values[1], self._payoffs[1])

    def verdict(self) -> Verdict | None:
        """Return the change that is proven; None where none is."""
        if self.regression >= 1 / self._parameters.alpha:
            return Verdict.REGRESSION
        if not self._parameters.gate and self.improvement >= 1 / self._parameters.alpha:
            return Verdict.IMPROVEMENT
        return None

    def suspects_change(self) -> bool:
        """Return whether any single statistic indicates a change: then equivalence of others is not the whole truth."""
        worse, better = self._strongest
        return (worse if self._parameters.gate else max(worse, better)) >= CONTRADICTION


class EquivalenceTest:
    """Evidence that the builds are alike, reduced by what rounding may have hidden.

    Args:
        parameters: The margins, and when the evidence suffices.
        exact: Whether the metric is counted, so that figures that never vary are equal.
    """

    def __init__(self, parameters: Parameters, *, exact: bool) -> None:
        self._parameters = parameters
        self._enough = 1 / levels_of(parameters).equivalence
        self._resolution = Resolution(exact=exact)
        self._added: list[PairObservation] = []
        self._start()

    @property
    def resolution(self) -> Resolution:
        """Step between the figures, as far as the pairs show it."""
        return self._resolution

    @property
    def log_step(self) -> float:
        """Largest rounding error of a log ratio, as far as the pairs show it; infinite where they do not."""
        return self._resolution.log_step

    def add(self, pair: Pair, observation: PairObservation) -> None:
        """Bet on one more pair; on all of them again where it showed a finer resolution."""
        self._added.append(observation)
        add_pair(self._resolution, pair)
        if self.log_step == self._assumed_step:
            self._keep_largest(self._processes.add(*observation))
            return
        self._start()
        for earlier in self._added:
            self._keep_largest(self._processes.add(*earlier))

    @property
    def not_worse(self) -> float:
        """Largest evidence against "worse by the margin or more"."""
        return self._not_worse.combined(self._enough)

    @property
    def not_better(self) -> float:
        """Largest evidence against "better by the margin or more"."""
        return self._not_better.combined(self._enough)

    @property
    def tail(self) -> float:
        """Largest evidence against "the tail worse by its margin or more"."""
        return self._tail

    def is_equivalent(self) -> bool:
        """Return whether a difference of the margin or more is ruled out, and a tail that is worse by its own."""
        return self.excludes_change() and self.excludes_tail()

    def excludes_change(self) -> bool:
        """Return whether a difference of the margin or more is ruled out."""
        return self.not_worse >= self._enough and (self._parameters.gate or self.not_better >= self._enough)

    def excludes_tail(self) -> bool:
        """Return whether a tail that is worse by its margin or more is ruled out."""
        return self.tail >= 1 / self._parameters.beta

    def _start(self) -> None:
        """Begin without bets, at the resolution known now."""
        margin, tail_margin = math.log1p(self._parameters.margin), math.log1p(self._parameters.tail_margin)
        self._assumed_step = step = self.log_step
        self._processes = EProcesses(
            (Refutes.AT_LEAST, Refutes.AT_MOST, Refutes.AT_LEAST),
            (margin - step, step - margin, tail_margin - step),
            len(STATISTICS),
        )
        self._not_worse, self._not_better, self._tail = _Largest(), _Largest(), 1.0

    def _keep_largest(self, evidence: Floats) -> None:
        not_worse, not_better, tail = evidence.tolist()
        self._not_worse = self._not_worse.with_pair(not_worse)
        self._not_better = self._not_better.with_pair(not_better)
        self._tail = max(self._tail, tail[_TAIL])


class _Largest(NamedTuple):
    """Largest evidence so far against a change of the margin in one direction."""

    typical: float = 1.0
    quartile: float = 1.0

    def with_pair(self, evidence: Sequence[float]) -> _Largest:
        return _Largest(max(self.typical, fmean(evidence[TYPICAL])), max(self.quartile, evidence[ESTIMATED_STATISTIC]))

    def combined(self, enough: float) -> float:
        """Return evidence that is `enough` only if both are what is asked of them."""
        return min(self.typical, self.quartile * enough / min(enough, _QUARTILE_EVIDENCE))
