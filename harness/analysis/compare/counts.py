"""Comparison of counts: figures that are not read off a clock, and that never vary from launch to launch.

Instructions, allocations and bytes can be compared exactly. If every launch of the control reported one count in every
iteration and every launch of the treatment another, nothing is left to estimate. Equal counts need one pair.

A difference needs a few more, because launches can differ in what iterations share: a count that is 1,000 in half of
the launches and 1,001 in the others, whatever the build, puts the two sides apart in one pair of four. So a difference
is evidence, too: half of 4 ** n after n pairs. If the builds are equal and launches independent, each pair that repeats
both counts has a probability of p q <= 1/4, and the first is a coin toss; so these are e-values at any time, like the
others (`harness.analysis.compare.evidence`). At the 1 % level four pairs prove a difference of any size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from harness.core.comparison import Pair, Parameters
from harness.core.verdict import Verdict

_LOG_FIRST: Final = math.log(2.0)
"""Gain of the first pair whose counts differ: which side has the larger one is a coin toss."""

_LOG_REPEATED: Final = math.log(4.0)
"""Gain of each further pair with the same two counts."""


class CountTest:
    """Test of counts, as long as they do not vary: from then on it says nothing.

    Args:
        parameters: When to decide.
        higher_is_better: Whether larger counts are better.
    """

    def __init__(self, parameters: Parameters, *, higher_is_better: bool) -> None:
        self._parameters = parameters
        self._harm_sign = -1 if higher_is_better else 1
        self._counts: tuple[float, float] | None = None
        self._pairs = 0
        self._vary = False

    def add(self, pair: Pair) -> None:
        """Add one more pair: it is constant if the five statistics of a side are one number."""
        self._pairs += 1
        counts = (_only_value(pair.control), _only_value(pair.treatment))
        if counts[0] is None or counts[1] is None or (self._counts or counts) != counts:
            self._vary = True
        else:
            self._counts = (counts[0], counts[1])

    @property
    def is_constant(self) -> bool:
        """True if every launch of a side reported the same count in every iteration."""
        return self._counts is not None and not self._vary

    @property
    def log_regression(self) -> float:
        """Logarithm of the evidence against "not worse"; none where counts vary, or are better."""
        return self._log_evidence(1)

    @property
    def log_improvement(self) -> float:
        """Logarithm of the evidence against "not better"."""
        return self._log_evidence(-1)

    def verdict(self) -> Verdict | None:
        """Return the verdict of constant counts; None where they vary, or do not suffice yet."""
        if not self.is_constant:
            return None
        change = self._change()
        if change == 0 or (change < 0 and self._parameters.gate):
            return Verdict.NO_CHANGE
        if max(self.log_regression, self.log_improvement) < -math.log(self._parameters.alpha):
            return None
        return Verdict.REGRESSION if change > 0 else Verdict.IMPROVEMENT

    def reason(self) -> str:
        """Explain the verdict."""
        control, treatment = (f"{count:,.15g}" for count in self._counts or (math.nan, math.nan))
        if control == treatment:
            return f"every launch of both sides counted {control}"
        return f"every launch of the control counted {control}, and every one of the treatment {treatment}"

    def relative_change(self) -> float:
        """Return treatment / control - 1 of constant counts."""
        control, treatment = self._counts or (1.0, 1.0)
        return treatment / control - 1

    def _change(self) -> int:
        """Return 1 where the treatment's count is worse, -1 where it is better, and 0 where it is the same."""
        control, treatment = self._counts or (0.0, 0.0)
        return self._harm_sign * ((treatment > control) - (treatment < control))

    def _log_evidence(self, direction: int) -> float:
        if not self.is_constant or self._change() != direction:
            return -math.inf
        return _LOG_FIRST + (self._pairs - 1) * _LOG_REPEATED


def _only_value(statistics: Iterable[float]) -> float | None:
    values = set(statistics)
    return values.pop() if len(values) == 1 else None
