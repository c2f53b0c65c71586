"""Size of a difference between two builds: a log ratio inside the harness, a relative change where a person reads it.

Log ratios add up over commits and are symmetric (twice as slow is ln 2, twice as fast -ln 2); relative changes do not
and are not. Names say which is meant: `log_ratio`, `relative_change`.
"""

import math
from typing import Final

from harness.core.values import Value

LARGEST_LOG: Final = 700.0
"""exp of more leaves the range of doubles."""


def relative_change(log_ratio: float) -> float:
    """Return treatment / control - 1 for ln(treatment / control): 0.02 is 2 % more; at most about 1e304."""
    return math.expm1(min(log_ratio, LARGEST_LOG))


def log_ratio_of(relative: float) -> float:
    """Return ln(treatment / control) for treatment / control - 1; changes of -100 % or less count as nearly that."""
    return max(math.log1p(relative), -LARGEST_LOG) if relative > -1 else -LARGEST_LOG


class Effect(Value):
    """Size of a difference, with its 95 % interval.

    Attributes:
        log_ratio: ln(treatment / control).
        low_log_ratio: Lower end of the interval; None where nothing is excluded.
        high_log_ratio: Upper end.
    """

    log_ratio: float
    low_log_ratio: float | None = None
    high_log_ratio: float | None = None

    @property
    def relative_change(self) -> float:
        """Return the difference as a share: 0.02 is 2 % more."""
        return relative_change(self.log_ratio)

    @property
    def low_relative_change(self) -> float | None:
        """Return the lower end of the interval as a share."""
        return None if self.low_log_ratio is None else relative_change(self.low_log_ratio)

    @property
    def high_relative_change(self) -> float | None:
        """Return the upper end of the interval as a share."""
        return None if self.high_log_ratio is None else relative_change(self.high_log_ratio)


def effect_of(relative: float, low: float | None = None, high: float | None = None) -> Effect:
    """Return the effect of a relative change with its interval; an end at -100 % or below excludes nothing."""
    ends = [None if end is None or end <= -1 else log_ratio_of(end) for end in (low, high)]
    return Effect(log_ratio=log_ratio_of(relative), low_log_ratio=ends[0], high_log_ratio=ends[1])
