"""Levels of verdicts and of the interval, chosen so that the two cannot contradict each other.

The 95 % interval may miss the true effect in 5 % of all comparisons. How these are divided is free, and may differ from
effect to effect: an effect above 0 is excluded as too small at level `near`, as too large at level `far`; one below 0
in the mirror. 0 itself is excluded where a change is proven, and only there. So

- an interval excludes 0 exactly if the verdict is a regression or an improvement (`near` is no stricter than alpha);
- an interval lies within the margins if the verdict is `no change` (which is decided at `far`, or more strictly);
- each effect pays for one distant side only, since it can exceed one margin and not both: evidence of 30 instead of 40
  excludes it there (Hsu, Hwang, Liu and Ruberg, "Confidence intervals associated with tests for bioequivalence",
  Biometrika 81, 1994).

docs/decisions/0020 has the argument.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from harness.core.comparison import Parameters

RESERVE: Final = 0.3
"""Share of the capital, and of alpha, that is kept for the final test (`harness.analysis.compare.final_test`)."""

_MISSES: Final = 0.05
"""Probability that the interval ever leaves out the true effect."""

_NEAR: Final = 1.3
"""`near` over alpha: the end of the interval next to 0 is then visibly apart from 0 as soon as a change is proven."""


class Levels(Struct, frozen=True):
    """Levels at which evidence excludes.

    Attributes:
        change: "Not worse", and "not better".
        near: An effect as smaller than the true one, in absolute value.
        far: An effect as larger than the true one, or of the other sign.
        equivalence: A change of the margin or more, for `no change`.
    """

    change: float
    near: float
    far: float
    equivalence: float

    @property
    def is_usual(self) -> bool:
        """True if the interval is one of 95 %."""
        return self.near + self.far + RESERVE * self.change <= _MISSES + 1e-12

    @property
    def confidence(self) -> float:
        """Confidence of the interval: 0.95, or less if alpha is above 0.0217.

        The last bet against 0 may exclude what evidence on the way does not: it is a part of the misses of its own.
        """
        return 1 - self.near - self.far - RESERVE * self.change


def levels_of(parameters: Parameters) -> Levels:
    """Return the levels of a comparison: 0.013 near and 0.034 far at the default alpha of 0.01."""
    alpha = parameters.alpha
    room = _MISSES - RESERVE * alpha
    near = _NEAR * alpha if 2 * _NEAR * alpha <= room else alpha
    far = max(room - near, alpha)
    return Levels(change=alpha, near=near, far=far, equivalence=min(parameters.beta, far))
