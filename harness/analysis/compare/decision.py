"""Control against treatment, decided after every pair."""

from __future__ import annotations

import math
from typing import Final

from harness.analysis.compare.estimate import CONFIDENCE_ALPHA, Interval, Limits, between, crossed, limits, relative
from harness.analysis.compare.evidence import EProcess, Refutes
from harness.analysis.compare.final_test import log_payment, with_reserve
from harness.analysis.compare.reasons import contradicted, reason_for_more, reason_of, unshown
from harness.analysis.compare.resolution import Resolution, add_pair, too_coarse
from harness.analysis.compare.scale import PredictableScale
from harness.analysis.compare.statistics import log_ratios, statistics_of
from harness.core.comparison import STATISTICS, Evidence, Pair, Parameters, Verdict
from harness.core.errors import UsageError

_ALL: Final = range(len(STATISTICS))
_ESTIMATED: Final = STATISTICS.index("p25")
"""The difference is estimated from the better quartile: steadier than median and mean, less extreme than the best.
It is also what has to be alike for `no change`."""

_TAIL: Final = STATISTICS.index("p90")
"""What else has to be no worse for `no change`. It moves too much to be held within as narrow a margin."""

_CONTRADICTION: Final = 8.0
"""Evidence of a single statistic for a change that `no change` does not override: docs/decisions/0015."""

_CHANGED: Final = frozenset({Verdict.REGRESSION, Verdict.IMPROVEMENT})

_LARGEST_LOG: Final = 700.0
"""Evidence beyond exp of this is told as exp of this: it has to be a finite number."""


class SequentialTest:
    """Gathers pairs and says, after each, whether they have said enough. A verdict, once given, stays.

    Only where pairs go on for the precision of the interval, a change that they prove replaces `no change`.

    A regression is always for the worse: of a metric whose larger values are better the log ratios are turned for the
    hypotheses, and its pairs have the mirrored statistics (`GAIN_STATISTICS`) in the same places. Difference and
    interval are of treatment / control - 1 in any case.

    Attributes:
        parameters: When it decides.
        decided: The verdict so far; pairs may still be wanted for the precision of the interval.

    Args:
        parameters: When to decide.
        higher_is_better: Whether larger values of the metric are better.
        exact: Whether the metric is counted, and not read off a clock: then figures that never vary are equal.

    Raises:
        UsageError: A parameter is outside the range in which it means something.
    """

    def __init__(self, parameters: Parameters, higher_is_better: bool, *, exact: bool = False) -> None:
        _check(parameters)
        self.parameters = parameters
        self._pairs_s = self._lost_s = 0.0
        self._worse = -1 if higher_is_better else 1
        self._regression = EProcess(Refutes.AT_MOST, 0.0, _ALL)
        self._improvement = EProcess(Refutes.AT_LEAST, 0.0, _ALL)
        self._resolution = Resolution(exact=exact)
        self._alike = EquivalenceTest(parameters, self._resolution.log_step)
        self._scales = tuple(PredictableScale() for _ in STATISTICS)
        self._turned: list[tuple[list[float], list[float]]] = []
        self._estimated: list[float] = []
        self._estimated_scales: list[float] = []
        self._limits: Limits | None = None
        self._paid: dict[Refutes, float] = {}
        self.decided: Verdict | None = None
        self._decided_after = 0
        self._final = False

    @property
    def pairs(self) -> int:
        """How many pairs were added."""
        return len(self._estimated)

    @property
    def seconds(self) -> float:
        """Device time of the pairs, and of the launches that do not count."""
        return self._pairs_s + self._lost_s

    @property
    def log_step(self) -> float:
        """What rounding may have done to a log ratio, as far as the pairs show; infinite where they do not."""
        return self._resolution.log_step

    @property
    def spent(self) -> bool:
        """Whether the budget in pairs or in device time is spent."""
        limit = self.parameters.max_seconds
        return self.pairs >= self.parameters.max_pairs or (limit is not None and self.seconds >= limit)

    def add(self, pair: Pair) -> None:
        """Learn what one more pair says.

        Raises:
            ValueError: The pair does not have five finite statistics above zero on each side; nothing was learnt.
        """
        ratios = log_ratios(pair)
        scales = [scale.next() for scale in self._scales]
        turned = [self._worse * ratio for ratio in ratios]
        for process in (self._regression, self._improvement):
            process.add(turned, scales)
        self._turned.append((turned, scales))
        add_pair(self._resolution, pair)
        self._hear_alike()
        for scale, ratio in zip(self._scales, ratios, strict=True):
            scale.add(ratio)
        self._estimated.append(ratios[_ESTIMATED])
        self._estimated_scales.append(scales[_ESTIMATED])
        self._limits = None
        self._pairs_s += pair.seconds
        self._conclude()

    def update_overhead(self, total_s: float) -> None:
        """Learn how long, in all, launches took that are part of no pair: of warming up, and of voided pairs."""
        self._lost_s = total_s
        if self.spent:
            self._conclude()

    def _conclude(self) -> None:
        if self.spent and not self._paid:
            self._make_last_bets()
        if not self._final:
            self._decide()
        self._final = self._final or (self.decided is not None and (self.spent or self._is_precise()))

    def verdict(self) -> Verdict | None:
        """What the pairs say; None asks for another pair."""
        return self.decided if self._final else None

    def reason(self) -> str:
        """What made the verdict, or why there is none."""
        if self.decided is None:
            return reason_for_more(self.pairs)
        reason = reason_of(self.decided, self._decided_after, self.parameters)
        why = self._why_undecided() if self.decided is Verdict.UNDECIDED else self.unshown()
        return f"{reason}; {why}" if why else reason

    def _why_undecided(self) -> str | None:
        if self._is_equivalent():
            return contradicted(statistics_of(higher_is_better=self._worse < 0)[_ESTIMATED])
        return too_coarse(self.log_step, self.parameters)

    def unshown(self) -> str | None:
        """Why the interval does not show the change that is proven, in words; None where it does, or none is proven."""
        if self.decided not in _CHANGED:
            return None
        names = statistics_of(higher_is_better=self._worse < 0)
        medians = zip(names, (scale.median() for scale in self._scales), strict=True)
        changes = {name: relative(median) for name, median in medians if median is not None}
        upwards = (self.decided is Verdict.REGRESSION) == (self._worse > 0)
        why = unshown(self.interval(), changes, names[_ESTIMATED], upwards=upwards)
        wider = too_coarse(self.log_step, self.parameters)
        return f"{why}; {wider}" if why and wider else why

    def evidence(self) -> Evidence:
        """The evidence after the last pair."""
        return Evidence(
            regression=_bounded(self._log_regression),
            improvement=_bounded(self._log_improvement),
            not_worse=_bounded(self._alike.not_worse.log_largest),
            not_better=_bounded(self._alike.not_better.log_largest),
            tail=_bounded(self._alike.tail.log_largest),
        )

    def difference(self) -> float | None:
        """Median of treatment / control - 1 of the better quartiles of the launches; None without pairs."""
        median = self._scales[_ESTIMATED].median()
        return None if median is None else relative(median)

    def interval(self) -> Interval:
        """The 95 % interval of the difference, valid whenever it is looked at.

        None where nothing is excluded on a side, and on both where every single difference is (`unsteady`).
        """
        return between(*self._told_limits())

    def _decide(self) -> None:
        found = self._changed()
        if self.decided is None:
            found = found or self._unchanged()
        elif self.decided is not Verdict.NO_CHANGE:
            return
        if found is not None:
            self.decided, self._decided_after = found, self.pairs

    def _changed(self) -> Verdict | None:
        alpha = self.parameters.alpha
        if _reaches(self._log_regression, alpha):
            return Verdict.REGRESSION
        if not self.parameters.gate and _reaches(self._log_improvement, alpha):
            return Verdict.IMPROVEMENT
        return None

    def _unchanged(self) -> Verdict | None:
        if self._is_equivalent() and not self._is_contradicted():
            return Verdict.NO_CHANGE
        return Verdict.UNDECIDED if self.spent else None

    @property
    def _log_regression(self) -> float:
        return with_reserve(self._regression.log_value, self._paid.get(Refutes.AT_MOST, -math.inf))

    @property
    def _log_improvement(self) -> float:
        return with_reserve(self._improvement.log_value, self._paid.get(Refutes.AT_LEAST, -math.inf))

    def _hear_alike(self) -> None:
        """The last pair; or all of them again, where it showed that the figures are told more finely."""
        if self._alike.log_step == self.log_step:
            self._alike.add(*self._turned[-1])
            return
        self._alike = EquivalenceTest(self.parameters, self.log_step)
        for turned, scales in self._turned:
            self._alike.add(turned, scales)

    def _make_last_bets(self) -> None:
        for refutes in Refutes:
            turned = [refutes * self._worse * ratio for ratio in self._estimated]
            self._paid[refutes] = log_payment(turned, self.parameters.alpha)

    def _is_equivalent(self) -> bool:
        beta = self.parameters.beta
        no_worse = _reaches(self._alike.not_worse.log_largest, beta) and _reaches(self._alike.tail.log_largest, beta)
        return no_worse and (self.parameters.gate or _reaches(self._alike.not_better.log_largest, beta))

    def _is_contradicted(self) -> bool:
        """Whether other figures speak for a change, so that likeness of the estimated one is not the whole truth."""
        processes = (self._regression,) if self.parameters.gate else (self._regression, self._improvement)
        return any(process.log_strongest >= math.log(_CONTRADICTION) for process in processes)

    @property
    def unsteady(self) -> bool:
        """Whether the pairs refute every single difference, so that there is no interval."""
        return crossed(*self._told_limits())

    def _told_limits(self) -> Limits:
        if self._limits is None:  # a board shows every comparison after each pair of one of them
            self._limits = limits(self._estimated, self._estimated_scales, CONFIDENCE_ALPHA, log_step=self.log_step)
        return self._limits

    def _is_precise(self) -> bool:
        if self.parameters.precision is None:
            return True
        low, high = self.interval()
        return low is not None and high is not None and high - low < 2 * self.parameters.precision


class EquivalenceTest:
    """The evidence that the builds are alike, after giving away what rounding may have hidden.

    Attributes:
        log_step: What is given away of each log ratio.
    """

    __slots__ = ("log_step", "not_better", "not_worse", "tail")

    def __init__(self, parameters: Parameters, log_step: float) -> None:
        margin, tail_margin = math.log1p(parameters.margin), math.log1p(parameters.tail_margin)
        self.log_step = log_step
        self.not_worse = EProcess(Refutes.AT_LEAST, margin - log_step, [_ESTIMATED])
        self.not_better = EProcess(Refutes.AT_MOST, log_step - margin, [_ESTIMATED])
        self.tail = EProcess(Refutes.AT_LEAST, tail_margin - log_step, [_TAIL])

    def add(self, turned: list[float], scales: list[float]) -> None:
        """Bet on one more pair."""
        for process in (self.not_worse, self.not_better, self.tail):
            process.add(turned, scales)


def _check(parameters: Parameters) -> None:
    """Refuse what would make every verdict wrong, or none possible."""
    for name, level in (("alpha", parameters.alpha), ("beta", parameters.beta), ("fdr", parameters.fdr)):
        if not 0 < level < 1:
            raise UsageError(f"{name} is a probability above 0 and below 1, not {level:g}", hint=f"{name} 0.05 is 5 %")
    for name, size in (("margin", parameters.margin), ("tail_margin", parameters.tail_margin)):
        if size <= 0:
            raise UsageError(f"{name} is a relative change above 0, not {size:g}", hint=f"{name} 0.01 is 1 %")
    if parameters.precision is not None and parameters.precision <= 0:
        raise UsageError(f"precision is a relative size above 0, not {parameters.precision:g}", hint="0.003 is 0.3 %")
    if parameters.max_pairs < 1 or (parameters.max_seconds is not None and parameters.max_seconds <= 0):
        raise UsageError("there is no budget for a single pair", hint="raise max_pairs or max_seconds")


def _reaches(log_evidence: float, level: float) -> bool:
    return log_evidence >= -math.log(level)


def _bounded(log_evidence: float) -> float:
    return math.exp(min(log_evidence, _LARGEST_LOG))
