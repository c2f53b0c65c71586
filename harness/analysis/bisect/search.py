"""The search for the commits behind a difference, as a state machine: ask, measure, tell it, ask again.

Plain bisection takes each answer for the truth, and one wrong answer sends it the wrong way for good. Here every pair
shifts probabilities, and the next commit asked is the one of which it is least known whether the number has changed by
then (Horstein, IEEE Trans. Inf. Theory 9, 1963; Waeber, Frazier and Henderson, SIAM J. Control Optim. 51, 2013), for
what the answer costs. A commit that seems certain is then held against the one before it, in fresh pairs: their e-value
proves the change whatever the model assumed. What the step leaves of the difference is searched for behind it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import Annotated, Self

from pydantic import Field, model_validator

from harness.analysis.bisect.policy import believed, blamed, stand, tell
from harness.analysis.bisect.posterior import Belief
from harness.analysis.bisect.queries import Heard, Posterior, Purpose, Query, Suspect
from harness.analysis.bisect.search_config import Aims, Costs
from harness.core.culprit import Culprit, SearchResult
from harness.core.values import Value


class Search(Value):
    """Everything that a search was told; each step gives a new one. Stored as JSON, it goes on where it stood.

    Attributes:
        commits: Identities, oldest first: the good one, those between, the bad one.
        costs: What answers cost.
        aims: When it is content.
        heard: Every answer, in order.
        skipped: Commits that do not build.
    """

    commits: Annotated[tuple[str, ...], Field(min_length=2)]
    costs: Costs = Costs()
    aims: Aims = Aims()
    heard: tuple[Heard, ...] = ()
    skipped: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _has_each_commit_once(self) -> Self:
        if len(set(self.commits)) < len(self.commits):
            raise ValueError("a commit is twice in the history that is searched")
        return self

    @classmethod
    def begin(
        cls,
        commits: Sequence[str],
        endpoints: Sequence[float] = (),
        *,
        costs: Costs | None = None,
        aims: Aims | None = None,
    ) -> Search:
        """A search between two commits.

        Args:
            commits: Identities, oldest first: the good one, those between, the bad one.
            endpoints: ln(bad / good) of pairs that were measured already, such as those of the comparison that raised
                the alarm; step and scale are estimated from them, and the search asks for what is missing.
            costs: What answers cost.
            aims: When it is content.

        Raises:
            ValueError: There are less than two commits, one is there twice, or an endpoint is not a finite number.
        """
        search = cls(commits=tuple(commits), costs=costs or Costs(), aims=aims or Aims())
        return search.learn(search.commits[0], search.commits[-1], endpoints) if endpoints else search

    @property
    def pairs(self) -> int:
        """Pairs that were heard."""
        return sum(len(heard.log_ratios) for heard in self.heard)

    def learn(
        self, control: str, treatment: str, log_ratios: Sequence[float], purpose: Purpose = Purpose.LOCATE
    ) -> Search:
        """Hear pairs.

        Args:
            control: The good commit, or the one before the treatment among those that build.
            treatment: The commit that was held against it.
            log_ratios: ln(treatment / control) of one statistic, such as the lower quartile, pair by pair.
            purpose: As the query had it. Only fresh pairs, asked for to confirm, count as proof.

        Raises:
            ValueError: There is no pair, one is not a finite number, or these two cannot be held against one another.
        """
        if not log_ratios or not all(map(math.isfinite, log_ratios)):
            raise ValueError("what is learnt are log ratios of pairs, finite numbers")
        return self._hear(Heard(control=control, treatment=treatment, purpose=purpose, log_ratios=tuple(log_ratios)))

    def learn_same(self, control: str, treatment: str, purpose: Purpose = Purpose.LOCATE) -> Search:
        """Learn that two commits are the same bytes. That is certain, costs no pair, and says nothing about noise.

        Args:
            control: As of `learn`.
            treatment: The commit that was to be held against it.
            purpose: As the query had it.

        Raises:
            ValueError: These two cannot be held against one another.
        """
        return self._hear(Heard(control=control, treatment=treatment, purpose=purpose, same=True))

    def skip(self, commit: str) -> Search:
        """Learn that a commit does not build, or does not run.

        Raises:
            ValueError: It was measured, it is not in the history, or it is one of the two that the search is between.
        """
        if self._number(commit) in (0, len(self.commits) - 1):
            raise ValueError(f"without {commit} there is nothing to search between")
        if any(commit in (heard.control, heard.treatment) for heard in self.heard):
            raise ValueError(f"{commit} was measured, so it builds")
        return self if commit in self.skipped else self.model_copy(update={"skipped": (*self.skipped, commit)})

    def next(self) -> Query | SearchResult:
        """What to measure now, or what was found. The same answer until something is learnt."""
        belief = self._belief
        standing = stand(belief, self.aims)
        if standing.wants is None or self.pairs >= self.aims.max_pairs:
            return tell(belief, standing, self.pairs)
        if standing.wants is Purpose.CONFIRM:
            return self._query(*standing.step, Purpose.CONFIRM)
        if not standing.start and standing.more < self.aims.confidence:  # is there anything to look for?
            return self._query(0, belief.last, Purpose.LOCATE)
        return self._query(0, self._worthiest(belief, standing.start), Purpose.LOCATE)

    def posterior(self) -> Posterior:
        """What is believed now of the commits behind the last culprit."""
        belief = self._belief
        return believed(belief, stand(belief, self.aims).start)

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        """Those that are settled, oldest first."""
        return stand(self._belief, self.aims).culprits

    def suspects(self) -> tuple[Suspect, ...]:
        """Every commit, oldest first, with the probability that it is the next to change the number.

        That is behind the culprit before it; behind the good commit where there is none.
        """
        belief = self._belief
        return blamed(belief, stand(belief, self.aims))

    def _hear(self, heard: Heard) -> Search:
        before, end = self._number(heard.control), self._number(heard.treatment)
        belief = self._belief
        if (before, end) not in {*belief.neighbours(0), *((0, other) for other in belief.askable[1:])}:
            raise ValueError(f"{heard.control} is neither the good commit nor the one before {heard.treatment}")
        return self.model_copy(update={"heard": (*self.heard, heard)})

    @property
    def _belief(self) -> Belief:
        return Belief(self.commits, self.heard, self.skipped, self.aims.smallest)

    def _number(self, commit: str) -> int:
        if commit not in self.commits:
            raise ValueError(f"{commit} is not in the history that is searched")
        return self.commits.index(commit)

    def _worthiest(self, belief: Belief, start: int) -> int:
        """The commit of which it is least known whether the number has changed by then, for what the answer costs."""
        unchanged, built = belief.unchanged(start), self._built
        asked = [number for number in belief.askable if number > start and not belief.is_same((0, number))]
        return max(asked, key=lambda number: _doubt(float(unchanged[number])) / self._price_s({number}, built))

    def _query(self, control: int, treatment: int, purpose: Purpose) -> Query:
        return Query(
            control=self.commits[control],
            treatment=self.commits[treatment],
            pairs=min(self.aims.batch, self.aims.max_pairs - self.pairs),
            purpose=purpose,
            price_s=self._price_s({control, treatment}, self._built),
        )

    @property
    def _built(self) -> Set[int]:
        measured = {commit for heard in self.heard for commit in (heard.control, heard.treatment)}
        built = {*self.costs.built, *measured, self.commits[0], self.commits[-1]}
        return {number for number, commit in enumerate(self.commits) if commit in built}

    def _price_s(self, asked: Set[int], built: Set[int]) -> float:
        return self.aims.batch * self.costs.pair_s + len(asked - built) * self.costs.build_s


def _doubt(probability: float) -> float:
    """How open a question is which is answered yes with this probability.

    What a few noisy pairs can tell about it is proportional to its variance, not to its entropy.
    """
    return probability * (1.0 - probability)
