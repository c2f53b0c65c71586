"""Control against treatment, decided after every pair."""

from __future__ import annotations

from harness.analysis.compare.counts import CountTest
from harness.analysis.compare.estimate import Estimate, Interval
from harness.analysis.compare.evidence import finite_evidence
from harness.analysis.compare.hypotheses import ChangeTest, EquivalenceTest
from harness.analysis.compare.reasons import (
    explain_contradiction,
    explain_hidden_change,
    explain_missing_verdict,
    explain_verdict,
)
from harness.analysis.compare.resolution import explain_coarseness
from harness.analysis.compare.statistics import PredictableScale, log_ratios, statistics_of
from harness.core.comparison import ESTIMATED_STATISTIC, STATISTICS, Evidence, Pair, Parameters, Verdict
from harness.core.effect import relative_change


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
        self._scales = tuple(PredictableScale() for _ in STATISTICS)
        self._change = ChangeTest(parameters)
        self._equivalence = EquivalenceTest(parameters, exact=exact)
        self._counts = CountTest(parameters, higher_is_better=higher_is_better) if exact else None
        self._estimate = Estimate()
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
        return self._estimate.pairs

    @property
    def seconds(self) -> float:
        """Device time of the pairs, and of the launches that are part of none."""
        return self._pairs_s + self._overhead_s

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
        return self._estimate.is_unsteady(self.log_step)

    def add(self, pair: Pair) -> None:
        """Take the evidence of one more pair.

        Raises:
            ValueError: The pair does not have five finite statistics above zero on each side; nothing was taken.
        """
        ratios = log_ratios(pair)
        scales = [scale.next() for scale in self._scales]
        harm_ratios = [self._harm_sign * ratio for ratio in ratios]
        self._change.add(harm_ratios, scales)
        self._equivalence.add(pair, harm_ratios, scales)
        for scale, ratio in zip(self._scales, ratios, strict=True):
            scale.add(ratio)
        self._estimate.add(ratios[ESTIMATED_STATISTIC], scales[ESTIMATED_STATISTIC])
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
        if (counts := self._constant_counts()) is not None and self._decided is counts.verdict():
            return counts.reason()
        reason = explain_verdict(self._decided, self._decided_after, self._parameters)
        detail = self._explain_undecided() if self._decided is Verdict.UNDECIDED else self.hidden_change()
        return f"{reason}; {detail}" if detail else reason

    def hidden_change(self) -> str | None:
        """Explain why the interval does not show the change that is proven; None where it does, or none is proven."""
        if self._decided is None or not self._decided.is_change:
            return None
        names = self._statistics()
        medians = zip(names, (scale.median() for scale in self._scales), strict=True)
        changes = {name: relative_change(median) for name, median in medians if median is not None}
        upwards = (self._decided is Verdict.REGRESSION) != self._higher_is_better
        reason = explain_hidden_change(self.interval(), changes, names[ESTIMATED_STATISTIC], upwards=upwards)
        coarseness = explain_coarseness(self.log_step, self._parameters)
        return f"{reason}; {coarseness}" if reason and coarseness else reason

    def evidence(self) -> Evidence:
        """Return the evidence after the last pair."""
        change = self._constant_counts() or self._change
        return Evidence(
            regression=finite_evidence(change.log_regression),
            improvement=finite_evidence(change.log_improvement),
            not_worse=finite_evidence(self._equivalence.log_not_worse),
            not_better=finite_evidence(self._equivalence.log_not_better),
            tail=finite_evidence(self._equivalence.log_tail),
        )

    def difference(self) -> float | None:
        """Return the median of treatment / control - 1 of the better quartiles of the launches; None without pairs."""
        median = self._scales[ESTIMATED_STATISTIC].median()
        return None if median is None else relative_change(median)

    def interval(self) -> Interval:
        """Return the 95 % interval of the difference, valid whenever it is looked at.

        None where nothing is excluded on a side, and on both where every single difference is (`is_unsteady`). Both
        ends are the difference itself where counts that do not vary have decided.
        """
        if (counts := self._constant_counts()) is not None and self._decided is counts.verdict():
            return counts.relative_change(), counts.relative_change()
        return self._estimate.interval(self.log_step)

    def _decide(self) -> None:
        if self.is_budget_spent:
            self._change.stake_reserve([self._harm_sign * ratio for ratio in self._estimate.log_ratios])
        if not self._is_final:
            self._update_decision()
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
            return explain_contradiction(self._statistics()[ESTIMATED_STATISTIC])
        return explain_coarseness(self.log_step, self._parameters)

    def _constant_counts(self) -> CountTest | None:
        """Return the test of counts, as long as they do not vary."""
        return self._counts if self._counts is not None and self._counts.is_constant else None

    def _statistics(self) -> tuple[str, ...]:
        return statistics_of(higher_is_better=self._higher_is_better)

    def _is_precise(self) -> bool:
        if self._parameters.precision is None:
            return True
        low, high = self.interval()
        return low is not None and high is not None and high - low < 2 * self._parameters.precision
