"""What a search asks for, hears and believes: values that can be stored."""

from __future__ import annotations

from enum import StrEnum

from harness.core.values import Value


class Purpose(StrEnum):
    """Why pairs are measured."""

    LOCATE = "locate"
    CONFIRM = "confirm"


class Query(Value):
    """Pairs that the search wants next.

    Attributes:
        control: The commit that is held against.
        treatment: The commit that is asked about.
        pairs: How many pairs.
        purpose: To find where a change is, or to prove one between neighbours.
        price_s: What they cost, in seconds, with the builds that are missing.
    """

    control: str
    treatment: str
    pairs: int
    purpose: Purpose
    price_s: float


class Heard(Value):
    """Pairs that were measured, or that there are none to measure.

    Attributes:
        control: The commit that was held against.
        treatment: The commit that was asked about.
        purpose: Why.
        log_ratios: ln(treatment / control) of one statistic, pair by pair.
        same: Whether both are the same bytes: known without a pair.
    """

    control: str
    treatment: str
    purpose: Purpose
    log_ratios: tuple[float, ...] = ()
    same: bool = False


class Suspect(Value):
    """One commit and the probability that it is the next to change the number."""

    commit: str
    probability: float


class Posterior(Value):
    """What is believed after the pairs so far.

    Attributes:
        after: The commit behind which is looked: the good one, or the last culprit that was found.
        suspects: Every commit behind it, oldest first. Commits that do not build share evenly what is known of them
            and of the next that builds.
        unchanged: Probability that no commit behind `after` changed the number.
        none: Probability that no commit at all did.
        several: Probability that more than one did.
    """

    after: str
    suspects: tuple[Suspect, ...]
    unchanged: float
    none: float
    several: float

    def likeliest(self, share: float = 0.95) -> tuple[Suspect, ...]:
        """The fewest suspects that hold this share of the probability, the likeliest first."""
        ranked = sorted(self.suspects, key=lambda suspect: -suspect.probability)
        total, held = 0.0, 0
        for suspect in ranked:
            if total >= share:
                break
            total, held = total + suspect.probability, held + 1
        return tuple(ranked[:held])
