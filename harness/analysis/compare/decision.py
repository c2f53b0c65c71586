"""Control against treatment, decided after every pair."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from harness.analysis.compare.counts import CountTest
from harness.analysis.compare.evidence import Refutes, finite_evidence
from harness.analysis.compare.hypotheses import ChangeTest, EquivalenceTest, PairObservation
from harness.analysis.compare.inversion import FinalTest, Inversion, Statement
from harness.analysis.compare.reasons import (
    explain_contradiction,
    explain_figures,
    explain_missing_verdict,
    explain_undecided,
    explain_verdict,
)
from harness.analysis.compare.resolution import Resolution
from harness.analysis.compare.slot import PredictableSlotEffect, side_of
from harness.analysis.compare.statistics import PredictableScale, log_ratios, statistics_of
from harness.core.comparison import ESTIMATED_STATISTIC, STATISTICS, Evidence, Pair, Parameters
from harness.core.effect import relative_change
from harness.core.levels import levels_of
from harness.core.verdict import Verdict

RelativeInterval = tuple[float | None, float | None]
"""Lower and upper end, as relative differences; None where nothing is excluded on that side."""


class SequentialTest:
    """Test that takes pairs one by one and says after each whether they suffice. A verdict, once given, stays.

    Only where pairs go on for the precision of the interval, a change that they prove replaces `no change`.

    A regression is always for the worse: of a metric whose larger values are better the log ratios are negated for the
    hypotheses, and its pairs have the mirrored statistics (`GAIN_STATISTICS`) in the same places. Difference and
    interval are of treatment / control - 1 in any case.

    Args:
        parameters: When to decide.
        higher_is_better: Whether larger values of the metric are better.
        exact: Whether the metric is counted, and not read off a clock: then figures that never vary are compared
            exactly (`harness.analysis.compare.counts`).
    """

    def __init__(self, parameters: Parameters, higher_is_better: bool, *, exact: bool = False) -> None:
        self._parameters = parameters
        self._higher_is_better = higher_is_better
        self._harm_sign = -1 if higher_is_better else 1
        self._slots = tuple(PredictableSlotEffect() for _ in STATISTICS)
        self._scales = tuple(PredictableScale() for _ in STATISTICS)
        self._change = ChangeTest(parameters)
        self._equivalence = EquivalenceTest(parameters, exact=exact)
        self._counts = CountTest(parameters, higher_is_better=higher_is_better) if exact else None
        self._added: list[PairObservation] = []
        self._harm_ratios: list[float] = []
        self._sides: list[int] = []
        self._final: FinalTest | None = None
        self._statement: Statement | None = None
        self._pairs_s = self._overhead_s = 0.0
        self._decided: Verdict | None = None
        self._decided_after = 0
        self._is_final = False

    @property
    def parameters(self) -> Parameters:
        """When it decides."""
        return self._parameters

    @property
    def decided(self) -> Verdict | None:
        """The verdict so far; pairs may still be wanted for the precision of the interval."""
        return self._decided

    @property
    def pairs(self) -> int:
        """Number of pairs that were added."""
        return len(self._added)

    @property
    def seconds(self) -> float:
        """Device time of the pairs, and of the launches that are part of none."""
        return self._pairs_s + self._overhead_s

    @property
    def observations(self) -> Sequence[PairObservation]:
        """Contributions of the pairs, in order."""
        return self._added

    @property
    def resolution(self) -> Resolution:
        """Step between the figures, as far as the pairs show it."""
        return self._equivalence.resolution

    @property
    def log_step(self) -> float:
        """Largest rounding error of a log ratio, as far as the pairs show it; infinite where they do not."""
        return self._equivalence.log_step

    @property
    def is_budget_spent(self) -> bool:
        """True if the budget in pairs or in device time is spent."""
        limit = self._parameters.max_seconds
        return self.pairs >= self._parameters.max_pairs or (limit is not None and self.seconds >= limit)

    @property
    def is_unsteady(self) -> bool:
        """True if the pairs refute every single difference, so that there is no interval."""
        statement = self._current_statement()
        return statement is not None and statement.is_unsteady

    @property
    def figure(self) -> str:
        """Name of the statistic that changed most, where not all share one difference; empty where they do."""
        statement = self._current_statement()
        if statement is None or statement.statistic is None:
            return ""
        return self._statistics()[statement.statistic]

    def add(self, pair: Pair) -> None:
        """Take the evidence of one more pair.

        Raises:
            ValueError: The pair does not have five finite statistics above zero on each side; nothing was taken.
        """
        harm_ratios = [self._harm_sign * ratio for ratio in log_ratios(pair)]
        side = side_of(pair)
        scales = [scale.next() for scale in self._scales]
        unslotted = [ratio - side * slot.next() for ratio, slot in zip(harm_ratios, self._slots, strict=True)]
        observation = PairObservation(unslotted, scales)
        self._change.add(observation)
        self._equivalence.add(pair, observation)
        for scale, slot, ratio, rest in zip(self._scales, self._slots, harm_ratios, unslotted, strict=True):
            scale.add(rest)
            slot.add(ratio, side)
        self._added.append(observation)
        self._harm_ratios.append(harm_ratios[ESTIMATED_STATISTIC])
        self._sides.append(side)
        self._statement = None
        if self._counts is not None:
            self._counts.add(pair)
        self._pairs_s += pair.seconds
        self._decide()

    def update_overhead(self, total_s: float) -> None:
        """Replace the device time of all launches so far that are part of no pair: of warm-up and discarded pairs."""
        self._overhead_s = total_s
        if self.is_budget_spent:
            self._decide()

    def verdict(self) -> Verdict | None:
        """Return the verdict; None asks for another pair."""
        return self._decided if self._is_final else None

    def reason(self) -> str:
        """Explain the verdict, or why there is none."""
        if self._decided is None:
            return explain_missing_verdict(self.pairs)
        if (counts := self._deciding_counts()) is not None:
            return counts.reason()
        if self._decided is Verdict.UNDECIDED:
            reason = explain_undecided(
                self._decided_after,
                self._parameters,
                excludes_change=self._equivalence.excludes_change(),
                excludes_tail=self._equivalence.excludes_tail(),
            )
            detail = self._explain_undecided()
        else:
            reason = explain_verdict(self._decided, self._decided_after, self._parameters)
            detail = self.explain_figures()
        return f"{reason}; {detail}" if detail else reason

    def explain_figures(self) -> str | None:
        """Explain what difference and interval describe where the figures do not share one; None where they do."""
        figure = self.figure
        if not figure:
            return None
        names = self._statistics()
        medians = zip(names, (scale.median() for scale in self._scales), strict=True)
        changes = {name: relative_change(self._harm_sign * median) for name, median in medians if median is not None}
        return explain_figures(changes, figure)

    def evidence(self) -> Evidence:
        """Return the evidence after the last pair."""
        counts = self._constant_counts()
        return Evidence(
            regression=self._change.regression if counts is None else finite_evidence(counts.log_regression),
            improvement=self._change.improvement if counts is None else finite_evidence(counts.log_improvement),
            not_worse=self._equivalence.not_worse,
            not_better=self._equivalence.not_better,
            tail=self._equivalence.tail,
        )

    def difference(self) -> float | None:
        """Return the estimate of treatment / control - 1, within the interval; None without pairs."""
        if (counts := self._deciding_counts()) is not None:
            return counts.relative_change()
        statement = self._current_statement()
        return None if statement is None else relative_change(self._oriented(statement).log_ratio)

    def interval(self) -> RelativeInterval:
        """Return the 95 % interval of the difference, valid whenever it is looked at.

        It excludes 0 exactly where the verdict is a change, and lies within the margins where it is `no change`. None
        where nothing is excluded on a side, and on both where every single difference is (`is_unsteady`). Both ends are
        the difference itself where counts that do not vary have decided.
        """
        if (counts := self._deciding_counts()) is not None:
            return counts.relative_change(), counts.relative_change()
        statement = self._current_statement()
        if statement is None:
            return None, None
        low, high = self._oriented(statement)[1:3]
        return (None if low is None else relative_change(low)), (None if high is None else relative_change(high))

    def _oriented(self, statement: Statement) -> Statement:
        return statement.mirrored() if self._harm_sign < 0 else statement

    def _current_statement(self) -> Statement | None:
        """Return what the evidence says of the size: computed once per pair, and only where somebody asks."""
        if self._deciding_counts() is not None:
            return None
        if self._statement is None and self._added:
            self._statement = self._state()
        return self._statement

    def _state(self) -> Statement:
        ratios, scales = (np.array(column) for column in zip(*self._added, strict=True))
        inversion = Inversion(ratios, scales, levels_of(self._parameters), self._final)
        margin = math.log1p(self._parameters.margin) if self._equivalence.is_equivalent() else math.inf
        return inversion.state(self._decided, self.log_step, margin, gate=self._parameters.gate)

    def _decide(self) -> None:
        if self.is_budget_spent and self._final is None and self._added:
            self._final = FinalTest(tuple(self._harm_ratios), tuple(self._sides), self._parameters.alpha)
            self._change.stake_reserve(*map(self._final.payoff, (Refutes.AT_MOST, Refutes.AT_LEAST)))
        if not self._is_final:
            before = self._decided
            self._update_decision()
            if self._decided is not before:
                self._statement = None
            self._is_final = self._decided is not None and (self.is_budget_spent or self._is_precise())

    def _update_decision(self) -> None:
        """Take the verdict that is due: the first one, or a change that replaces `no change`."""
        if self._decided not in {None, Verdict.NO_CHANGE}:
            return
        counts = self._constant_counts()
        verdict = self._change.verdict() if counts is None else counts.verdict()
        if self._decided is None:
            verdict = verdict or self._verdict_without_change()
        if verdict is not None and verdict is not self._decided:
            self._decided, self._decided_after = verdict, self.pairs

    def _verdict_without_change(self) -> Verdict | None:
        is_open = self._constant_counts() is None and not self._change.suspects_change()
        if is_open and self._equivalence.is_equivalent():
            return Verdict.NO_CHANGE
        return Verdict.UNDECIDED if self.is_budget_spent else None

    def _explain_undecided(self) -> str | None:
        if self._equivalence.is_equivalent():
            return explain_contradiction()
        return self.resolution.explain_coarseness(self._parameters)

    def _constant_counts(self) -> CountTest | None:
        """Return the test of counts, as long as they do not vary."""
        return self._counts if self._counts is not None and self._counts.is_constant else None

    def _deciding_counts(self) -> CountTest | None:
        """Return the test of counts where it gave the verdict, and they still do not vary."""
        counts = self._constant_counts()
        return counts if counts is not None and self._decided is counts.verdict() is not None else None

    def _statistics(self) -> tuple[str, ...]:
        return statistics_of(higher_is_better=self._higher_is_better)

    def _is_precise(self) -> bool:
        if self._parameters.precision is None:
            return True
        low, high = self.interval()
        return low is not None and high is not None and high - low < 2 * self._parameters.precision
