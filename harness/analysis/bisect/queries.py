"""Values of a search that can be stored: its configuration, its queries, their answers, and who is suspected."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, NonNegativeInt

from harness.core.comparison import ESTIMATED_STATISTIC
from harness.core.values import Share, Value


class SearchConfig(Value):
    """When a search ends, and how much it may measure.

    Attributes:
        confidence: Probability at which a commit is taken for a culprit, or at which there is none.
        alpha: Largest probability of confirming a culprit that changed nothing.
        confirm_pairs: Fresh pairs that a confirmation may take; 0 leaves it out.
        batch: Pairs asked for at a time.
        max_pairs: Pairs that the whole search may take.
        smallest: Share of the total difference that a commit must account for to be looked for.
    """

    confidence: Share = 0.99
    alpha: Share = 0.01
    confirm_pairs: NonNegativeInt = 100
    batch: Annotated[int, Field(ge=1)] = 4
    max_pairs: Annotated[int, Field(ge=1)] = 1000
    smallest: Share = 0.25


class Purpose(StrEnum):
    """Why pairs are measured: to find where a change is, or to prove one between neighbours."""

    LOCATE = "locate"
    CONFIRM = "confirm"


class Query(Value):
    """Pairs that a search wants next.

    Attributes:
        control: The commit to compare with.
        treatment: The commit in question.
        pairs: Number of pairs.
        purpose: Why they are wanted.
    """

    control: str
    treatment: str
    pairs: int
    purpose: Purpose


class Answer(Value):
    """Pairs that were measured; or none, because both commits give the same program.

    Attributes:
        control: The commit that was compared with.
        treatment: The commit in question.
        purpose: Why they were measured.
        log_ratios: ln(treatment / control) of the better quartile, pair by pair.
        figures: The same of each of the five figures of a launch; empty where an earlier harness measured.
        same: Whether both programs are the same bytes, which is known without a pair.
    """

    control: str
    treatment: str
    purpose: Purpose
    log_ratios: tuple[float, ...] = ()
    figures: tuple[tuple[float, ...], ...] = ()
    same: bool = False


class Suspect(Value):
    """One commit and the probability that it is the next to change the metric."""

    commit: str
    probability: float


class Posterior(Value):
    """Probabilities after the pairs so far.

    Attributes:
        after: The commit behind which the search looks: the good one, or the last culprit that was found.
        suspects: Every commit behind it, oldest first. Commits that do not build share their probability evenly with
            the next that builds.
        unchanged: Probability that no commit behind `after` changed the metric.
        none: Probability that no commit at all did.
        several: Probability that more than one did.
        figure: Place of the figure that is searched, in `harness.core.comparison.STATISTICS`.
        smallest_log_ratio: Smallest change that is looked for: all probabilities are of changes of that size or more.
    """

    after: str
    suspects: tuple[Suspect, ...]
    unchanged: float
    none: float
    several: float
    figure: int = ESTIMATED_STATISTIC
    smallest_log_ratio: float = 0.0

    def likeliest(self, share: float = 0.95) -> tuple[Suspect, ...]:
        """Return the fewest suspects that hold this share of the probability, the likeliest first."""
        ranked = sorted(self.suspects, key=lambda suspect: -suspect.probability)
        total, count = 0.0, 0
        for suspect in ranked:
            if total >= share:
                break
            total, count = total + suspect.probability, count + 1
        return tuple(ranked[:count])
