"""Verdicts on a treatment: on its speed, and on its outputs."""

from enum import StrEnum
from typing import Final

NOT_WORSE: Final = "not worse"
"""No change in the words of a gate: a large improvement may stand beside it."""


class Verdict(StrEnum):
    """Verdict on the treatment."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    NO_CHANGE = "no change"
    UNDECIDED = "undecided"

    @property
    def is_change(self) -> bool:
        """True if the treatment is worse or better."""
        return self in {Verdict.REGRESSION, Verdict.IMPROVEMENT}

    def name_after(self, *, gate: bool) -> str:
        """Return it in words; a gate, which looks for no improvement, finds no more than `not worse`."""
        return NOT_WORSE if gate and self is Verdict.NO_CHANGE else self.value


class OutputVerdict(StrEnum):
    """Whether treatment and control compute the same from the same inputs."""

    IDENTICAL = "identical"
    WITHIN_TOLERANCE = "within_tolerance"
    DIFFERENT = "different"
    NOT_COMPARED = "not_compared"
