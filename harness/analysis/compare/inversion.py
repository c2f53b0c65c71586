"""Size of a difference and its interval, from the evidence that gives the verdict: by asking it of every effect.

The evidence against "at most m" and "at least m" is the mean of the e-processes of all statistics, with the same coin
and the same bets as that against "not worse" and "not better", which are the same questions at m = 0. Its size falls
(rises) with m, because every factor does and scales and slot effects do not depend on m; so what is refuted is
everything below one limit and everything above another, and bisection finds both. Valid whenever it is looked at.

Log ratios are oriented towards harm, and every effect is a log ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from harness.analysis.compare.evidence import CLIP, Floats, Refutes, log_gains
from harness.analysis.compare.final_test import final_payoff
from harness.analysis.compare.hypotheses import CONTRADICTION, TYPICAL
from harness.analysis.compare.slot import remove_slot_effect
from harness.core.effect import LARGEST_LOG
from harness.core.levels import RESERVE, Levels
from harness.core.verdict import Verdict

_RESOLUTION: Final = 1e-6
"""Limits are found to this log ratio: a ten-thousandth of a percent."""

_EQUAL: Final = 1e-9
"""Evidence of two directions that differs by less, as a logarithm, is equal."""

_ABOVE_ZERO: Final = 1e-9
"""What an end is drawn to that is known to be above 0, and that rounding may have hidden beside it."""


class FinalTest(NamedTuple):
    """Figures of the final test, made once when the budget was spent.

    Attributes:
        log_ratios: Of the estimated statistic, as measured, larger is worse.
        sides: The order of each pair: `harness.analysis.compare.slot.side_of`.
        alpha: Level of the comparison.
    """

    log_ratios: Sequence[float]
    sides: Sequence[int]
    alpha: float

    def payoff(self, refutes: Refutes, effect: float = 0.0) -> float:
        """Return what it pays against an effect."""
        moved = [refutes * (ratio - effect) for ratio in self.log_ratios]
        return final_payoff(remove_slot_effect(moved, self.sides).tolist(), self.alpha)


class Statement(NamedTuple):
    """Size of a difference, as a log ratio, and the limits that it lies between.

    Attributes:
        log_ratio: The effect against which the evidence of both directions is equal, within the limits.
        low: Lower limit; None where nothing is excluded on that side.
        high: Upper limit.
        statistic: Place of the statistic that changed most, where the statistics do not share one effect: then all of
            this describes that largest change. None where it describes all.
        is_unsteady: Whether the pairs refute every effect, so that there are no limits: it changed meanwhile.
    """

    log_ratio: float
    low: float | None
    high: float | None
    statistic: int | None = None
    is_unsteady: bool = False

    def mirrored(self) -> Statement:
        """Return the statement about the other direction."""
        low, high = (None if end is None else -end for end in (self.high, self.low))
        return self._replace(log_ratio=-self.log_ratio + 0.0, low=low, high=high)


class Inversion:
    """All evidence of a comparison, asked of every effect.

    Args:
        log_ratios: Of each pair and statistic, without the slot effect: shape (pairs, statistics), at least one pair.
        scales: The scale of each, known before the pair.
        levels: At which evidence excludes.
        final: The final test, once its stake is spent.
        reserve: Share of the capital that is kept for it.
    """

    def __init__(
        self,
        log_ratios: Floats,
        scales: Floats,
        levels: Levels,
        final: FinalTest | None = None,
        *,
        reserve: float = RESERVE,
    ) -> None:
        self._log_ratios, self._scales = log_ratios, scales
        self._all = range(log_ratios.shape[1])
        self._typical = self._all[TYPICAL]
        self._levels = levels
        self._final, self._reserve = final, reserve
        reach = CLIP * float(scales.max())  # beyond it every pair says all that it can
        self._bottom, self._top = float(log_ratios.min()) - reach, float(log_ratios.max()) + reach

    def state(self, verdict: Verdict | None, log_step: float, margin: float, *, gate: bool = False) -> Statement:
        """Return the size of a difference that agrees with the verdict.

        Args:
            verdict: That of the same evidence; None is the same as undecided.
            log_step: Largest rounding error of each log ratio; the limits are further out by so much.
            margin: Change that `no change` rules out, as a log ratio.
            gate: Whether it rules out a change for the worse only.
        """
        match verdict:
            case Verdict.REGRESSION:
                return self.state_regression(log_step)
            case Verdict.IMPROVEMENT:
                return self.mirrored().state_regression(log_step).mirrored()
            case Verdict.NO_CHANGE:
                return self._state_around_zero(log_step, -math.inf if gate else -margin, margin)
            case _:
                return self._state_around_zero(log_step)

    def state_regression(self, log_step: float) -> Statement:
        """Return the size of a change for the worse that is proven: its limits are above 0."""
        low = _last(self._excess_near, 0.0, max(self._top, 0.0)) or 0.0
        high = self.upper_limit(self._typical)
        shown_low = max(low - log_step, _ABOVE_ZERO)
        statistic, log_ratio = self._odd_statistic(high), self.balance()
        if high is not None and statistic is not None:  # they do not share one effect: what of the largest?
            log_ratio = float(np.median(self._log_ratios[:, statistic]))
            highs = [self.upper_limit([place]) for place in self._all]
            largest = None if None in highs else max(end for end in highs if end is not None)
            high = None if largest is None else largest if high <= low else max(largest, high)
        if high is not None and high <= low:
            return Statement(max(log_ratio, shown_low), None, None, is_unsteady=True)
        shown_high = None if high is None or math.isinf(log_step) else high + log_step
        return Statement(_within(log_ratio, shown_low, shown_high), shown_low, shown_high, statistic)

    def _odd_statistic(self, high: float | None) -> int | None:
        """Return the statistic that changed most, where the statistics do not share one effect.

        Some refute by themselves what limits them together, or none of the typical ones shows a change.
        """
        if high is None or len(self._all) == 1:
            return None
        odd = self._alone(high).max(axis=0) * self._levels.far >= len(self._all)
        shown = self._alone(0.0)[-1] >= CONTRADICTION
        if not odd.any():
            if shown[TYPICAL].any() or not shown.any():
                return None
            odd = shown
        return int(np.where(odd, np.median(self._log_ratios, axis=0), -math.inf).argmax())

    def _alone(self, effect: float) -> Floats:
        """Return the evidence of each statistic against "at most this effect": shape (pairs, statistics)."""
        gains = log_gains((self._log_ratios - effect) / self._scales)
        return np.asarray(np.exp(np.minimum(np.cumsum(gains, axis=0), LARGEST_LOG)).mean(axis=-1))

    def _state_around_zero(self, log_step: float, least: float = -math.inf, most: float = math.inf) -> Statement:
        """Return the size of a difference that is not proven: 0 is within its limits.

        Args:
            log_step: Largest rounding error of each log ratio.
            least: Effect that is excluded already, with all below it.
            most: The same, with all above it.
        """
        high, mirrored = self.upper_limit(self._typical), self.mirrored().upper_limit(self._typical)
        if math.isinf(log_step):
            high = mirrored = None
        shown_low = None if mirrored is None else max(-(mirrored + log_step), least)
        shown_high = None if high is None else min(high + log_step, most)
        return Statement(_within(self.balance(), shown_low, shown_high), shown_low, shown_high)

    def balance(self) -> float:
        """Return the effect against which the evidence of both directions is equal after the last pair."""
        lowest, highest = float(self._log_ratios.min()), float(self._log_ratios.max())
        if lowest == highest:
            return lowest

        def imbalance(effect: float) -> float:
            more = self._log_evidence(Refutes.AT_MOST, effect, slice(-1, None))
            return float(more[0] - self._log_evidence(Refutes.AT_LEAST, effect, slice(-1, None))[0])

        below = _last(lambda effect: imbalance(effect) - _EQUAL, lowest, highest)
        above = _last(lambda effect: -imbalance(-effect) - _EQUAL, -highest, -lowest)
        balanced = 0.5 * ((lowest if below is None else below) + (highest if above is None else -above))
        return 0.0 if abs(balanced) <= _RESOLUTION else balanced

    def upper_limit(self, statistics: Sequence[int]) -> float | None:
        """Return the least effect, 0 or more, that is excluded as too large, by some statistics."""
        columns = list(statistics)

        def excess(negated: float) -> float:
            logs = self._log_evidence(Refutes.AT_LEAST, -negated, slice(None), columns)
            return float(logs.max()) + math.log(self._levels.far)

        limit = _last(excess, -max(self._top, 0.0), 0.0)
        return None if limit is None else -limit

    def _excess_near(self, effect: float) -> float:
        """Return by how much evidence excludes that the effect is as small as this, or smaller."""
        if self._final is not None and self._final.payoff(Refutes.AT_MOST, effect) > 0:
            return 1.0
        largest = float(self._log_evidence(Refutes.AT_MOST, effect, slice(None)).max())
        return largest + math.log1p(-self._reserve) + math.log(self._levels.near)

    def _log_evidence(
        self, refutes: Refutes, effect: float, pairs: slice, statistics: Sequence[int] | None = None
    ) -> Floats:
        """Return the logarithm of the evidence, in the mean of statistics, after each of some pairs."""
        log_ratios, scales = self._log_ratios, self._scales
        if statistics is not None:
            log_ratios, scales = log_ratios[:, statistics], scales[:, statistics]
        gains = log_gains(refutes * (log_ratios - effect) / scales).reshape(len(log_ratios), -1)
        logs = gains.sum(axis=0, keepdims=True) if pairs == slice(-1, None) else np.cumsum(gains, axis=0)[pairs]
        top = logs.max(axis=1)
        return np.asarray(top + np.log(np.exp(logs - top[:, None]).mean(axis=1)))

    def mirrored(self) -> Inversion:
        """Return the same evidence with control and treatment exchanged."""
        final = self._final
        if final is not None:
            final = final._replace(log_ratios=[-ratio for ratio in final.log_ratios])
        return Inversion(-self._log_ratios, self._scales, self._levels, final, reserve=self._reserve)


def _within(effect: float, low: float | None, high: float | None) -> float:
    """Return the effect, or the limit that it is beyond."""
    above = effect if low is None else max(effect, low)
    return above if high is None else min(above, high)


def _last(excess: Callable[[float], float], start: float, end: float) -> float | None:
    """Return how far from `start` up to `end` an excess that falls is 0 or more; None if nowhere.

    By the secant (regula falsi), and by bisection where that is slow: each evaluation asks all pairs.
    """
    at_start = excess(start)
    if at_start < 0 or start >= end:
        return None if at_start < 0 else start
    at_end = excess(end)
    if at_end >= 0:
        return end
    bisect = False
    while (width := end - start) > _RESOLUTION:
        guess = start + (0.5 if bisect else at_start / (at_start - at_end)) * width
        nudged = min(max(guess, start + 0.4 * _RESOLUTION), end - 0.4 * _RESOLUTION)
        middle = nudged + (0.4 * _RESOLUTION if at_start < -at_end else -0.4 * _RESOLUTION)
        if not start < middle < end:
            break
        value = excess(middle)
        if value >= 0:
            start, at_start = middle, value
        else:
            end, at_end = middle, value
        bisect = end - start > 0.5 * width
    return start
