"""Place of a result among those that do the same work, and what the pairs of launches say of it."""

from typing import Annotated

from pydantic import Field, PositiveFloat

from harness.core.values import Share, Value


class RankingParameters(Value):
    """How a ranking is decided. Stored with it.

    Attributes:
        alpha: Largest probability that a ranking calls any of its programs faster than another, wrongly: over all its
            pairs and both directions together.
        beta: Largest probability, for each pair, of calling a difference of `margin` or more equivalent.
        margin: Relative difference that `equivalent` rules out.
        max_rounds: Budget in rounds, in each of which every program is launched once.
        max_seconds: Budget of device time of each ranking, in seconds; None is no limit.
        seed: Of the coin that tosses the order of every round.
        tolerance: Difference between outputs that is rounding, where the specification names none.
    """

    alpha: Share = 0.05
    beta: Share = 0.05
    margin: PositiveFloat = 0.01
    max_rounds: Annotated[int, Field(ge=1)] = 60
    max_seconds: PositiveFloat | None = None
    seed: int
    tolerance: Share = 1e-3


class Rank(Value):
    """Place of one result in its ranking.

    Attributes:
        ranking: Name of the ranking: the model, and what else its programs have in common.
        best: The best rank that the pairs leave possible; null where it is not ranked.
        worst: The worst rank that they leave possible: equal to `best` where it is known.
        ranked: Number of programs that are ranked.
        reason: Why it is not ranked; null where it is.
        fastest: Identifier of the benchmark that the ratio is relative to.
        ratio: How many times as long it takes as the fastest, from pairs of launches of the same round.
        low: Lower end of the 95 % interval of the ratio, valid at any stopping time; null where nothing is excluded.
        high: Upper end.
        rounds: Rounds in which it was launched.
        equivalent: Benchmarks that differ from it by less than the margin.
        undecided: Its neighbours, and the fastest, that the pairs show to be neither faster nor slower nor equivalent.
        parameters: How it was decided.
    """

    ranking: str
    best: int | None = None
    worst: int | None = None
    ranked: int = 0
    reason: str | None = None
    fastest: str = ""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    rounds: int = 0
    equivalent: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    parameters: RankingParameters

    @property
    def words(self) -> str:
        """The rank as a table shows it: `2`, `2-3`; empty where it is not ranked."""
        if self.best is None:
            return ""
        return str(self.best) if self.best == self.worst else f"{self.best}-{self.worst}"
