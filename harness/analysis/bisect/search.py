"""Search for the commits behind a difference, as a state machine: ask, measure, learn, ask again.

Plain bisection takes each answer for the truth, and one wrong answer sends it the wrong way for good. Here every pair
shifts probabilities, and the next commit in question is the one of which it is least known whether the metric has
changed by then (Horstein, IEEE Trans. Inf. Theory 9, 1963; Waeber, Frazier and Henderson, SIAM J. Control Optim. 51,
2013). A commit that seems certain is then compared with the one before it, in fresh pairs: their e-value proves the
change whatever the model assumed. The part of the difference that it leaves is searched for behind it.

A launch has five figures, and a change may be in one alone, such as the tail. The search looks at the figure in which
the two ends differ most clearly, and ends without a culprit only when every figure rules a change out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from harness.analysis.bisect.policy import SearchState, choose, conclude, posterior_behind, rank_all
from harness.analysis.bisect.posterior import Inference
from harness.analysis.bisect.queries import Answer, Posterior, Purpose, Query, SearchConfig, Suspect
from harness.core.comparison import ESTIMATED_STATISTIC, STATISTICS
from harness.core.culprit import Culprit, SearchResult
from harness.core.values import Value

Figures = Sequence[Sequence[float]]
"""ln(treatment / control) of the five figures of a launch, pair by pair."""

_FORMER_NAMES: Final = {"aims": "config", "heard": "answers"}
_FORMER_FIELDS: Final = frozenset({"costs"})
"""Of stored searches: costs of pairs and builds, which were the same in all of them."""


class Search(Value):
    """Everything that a search has learned; each step gives a new one. Stored as JSON, it can be resumed.

    Attributes:
        commits: Ids, oldest first: the good one, those between, the bad one.
        config: When it ends.
        answers: Every answer, in order.
        skipped: Commits that do not build.
        statistics: Names of the five figures of a launch.
        programs: SHA-256 of the program of each commit that was built. Between two neighbouring measured commits with
            the same program nothing is suspected, and the pairs of both tell about their common level.
        run: Identifier of the run that the results of its comparisons are of; empty where each is a run of its own.
    """

    commits: Annotated[tuple[str, ...], Field(min_length=2)]
    config: SearchConfig = SearchConfig()
    answers: tuple[Answer, ...] = ()
    skipped: tuple[str, ...] = ()
    statistics: tuple[str, ...] = STATISTICS
    programs: dict[str, str] = {}
    run: str = ""

    @model_validator(mode="before")
    @classmethod
    def _read_former_names(cls, document: object) -> object:
        if not isinstance(document, dict):
            return document
        return {_FORMER_NAMES.get(key, key): part for key, part in document.items() if key not in _FORMER_FIELDS}

    @model_validator(mode="after")
    def _has_each_commit_once(self) -> Self:
        if len(set(self.commits)) < len(self.commits):
            raise ValueError("a commit appears twice in the history that is searched")
        return self

    @classmethod
    def begin(
        cls,
        commits: Sequence[str],
        endpoints: Sequence[float] = (),
        *,
        figures: Figures = (),
        config: SearchConfig | None = None,
    ) -> Search:
        """Begin a search between two commits.

        Args:
            commits: Ids, oldest first: the good one, those between, the bad one.
            endpoints: ln(bad / good) of pairs that were measured already, such as those of the comparison that raised
                the alarm; difference and scale are estimated from them, and the search asks for what is missing.
            figures: The same in each of the five figures.
            config: When it ends.

        Raises:
            ValueError: There are less than two commits, one appears twice, or an endpoint is not a finite number.
        """
        search = cls(commits=tuple(commits), config=config or SearchConfig())
        ends = search.commits[0], search.commits[-1]
        return search.learn(*ends, endpoints, figures=figures) if endpoints else search

    @property
    def pairs(self) -> int:
        """Number of pairs that were measured."""
        return sum(len(answer.log_ratios) for answer in self.answers)

    def learn(
        self,
        control: str,
        treatment: str,
        log_ratios: Sequence[float],
        purpose: Purpose = Purpose.LOCATE,
        *,
        figures: Figures = (),
    ) -> Search:
        """Learn from measured pairs.

        Args:
            control: The good commit, or the one before the treatment among those that build.
            treatment: The commit that was compared with it.
            log_ratios: ln(treatment / control) of the better quartile, pair by pair.
            purpose: Purpose of the query. Only fresh pairs, asked for to confirm, count as proof.
            figures: The same in each of the five figures of a launch; without them, that one is searched alone.

        Raises:
            ValueError: There is no pair, one is not a finite number or has not all figures, or these two cannot be
                compared.
        """
        if not log_ratios or not all(map(math.isfinite, (*log_ratios, *chain.from_iterable(figures)))):
            raise ValueError("log ratios of pairs must be finite numbers, at least one")
        if figures and [len(pair) for pair in figures] != [len(self.statistics)] * len(log_ratios):
            raise ValueError("each pair must have every figure")
        answer = Answer(
            control=control,
            treatment=treatment,
            purpose=purpose,
            log_ratios=tuple(log_ratios),
            figures=tuple(map(tuple, figures)),
        )
        return self._add(answer)

    def learn_same(self, control: str, treatment: str, purpose: Purpose = Purpose.LOCATE) -> Search:
        """Learn that two commits are the same bytes. That is certain, costs no pair, and says nothing about noise.

        Args:
            control: As for `learn`.
            treatment: The commit that was to be compared with it.
            purpose: Purpose of the query.

        Raises:
            ValueError: These two cannot be compared.
        """
        return self._add(Answer(control=control, treatment=treatment, purpose=purpose, same=True))

    def identify(self, commit: str, program: str) -> Search:
        """Learn which program a commit gives.

        Args:
            commit: A commit that was built.
            program: SHA-256 of its program.

        Raises:
            ValueError: The commit is not in the history.
        """
        self._number(commit)
        return self.model_copy(update={"programs": {**self.programs, commit: program}})

    def skip(self, commit: str) -> Search:
        """Learn that a commit does not build, or does not run.

        Raises:
            ValueError: It was measured, it is not in the history, or it is one of the two ends.
        """
        if self._number(commit) in (0, len(self.commits) - 1):
            raise ValueError(f"without {commit} there is nothing to search between")
        if any(commit in (answer.control, answer.treatment) for answer in self.answers):
            raise ValueError(f"{commit} was measured, so it builds")
        return self if commit in self.skipped else self.model_copy(update={"skipped": (*self.skipped, commit)})

    def next(self) -> Query | SearchResult:
        """Return what to measure now, or what was found. The same answer until something is learned."""
        inferences = self._inferences
        inference, state = choose(inferences, self.config)
        if state.purpose is None or self.pairs >= self.config.max_pairs:
            return conclude(inference, state, self.pairs, inferences)
        return self._query(*_most_informative(inference, state, self.config), state.purpose)

    def posterior(self) -> Posterior:
        """Return the probabilities of the commits behind the last culprit."""
        inference, state = choose(self._inferences, self.config)
        return posterior_behind(inference, state.start)

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        """Culprits that are settled, oldest first."""
        return choose(self._inferences, self.config)[1].culprits

    def suspects(self) -> tuple[Suspect, ...]:
        """Return every commit, oldest first, with the probability that it is the next to change the metric.

        That is behind the culprit before it; behind the good commit where there is none.
        """
        return rank_all(*choose(self._inferences, self.config))

    def _add(self, answer: Answer) -> Search:
        before, end = self._number(answer.control), self._number(answer.treatment)
        inference = self._inferences[0]
        if (before, end) not in {*inference.neighbours(0), *((0, other) for other in inference.buildable[1:])}:
            raise ValueError(f"{answer.control} is neither the good commit nor the one before {answer.treatment}")
        return self.model_copy(update={"answers": (*self.answers, answer)})

    @property
    def _inferences(self) -> Sequence[Inference]:
        """Return what the answers say in each figure that all of them have."""
        measured = [answer for answer in self.answers if answer.log_ratios]
        has_all = bool(measured) and all(answer.figures for answer in measured)
        figures = range(len(self.statistics)) if has_all else (ESTIMATED_STATISTIC,)
        return [
            Inference(
                self.commits,
                self.answers,
                self.skipped,
                self.config.smallest,
                statistics=self.statistics,
                figure=figure,
                has_all=has_all,
                programs=self.programs,
            )
            for figure in figures
        ]

    def _number(self, commit: str) -> int:
        if commit not in self.commits:
            raise ValueError(f"{commit} is not in the history that is searched")
        return self.commits.index(commit)

    def _query(self, control: int, treatment: int, purpose: Purpose) -> Query:
        return Query(
            control=self.commits[control],
            treatment=self.commits[treatment],
            pairs=min(self.config.batch, self.config.max_pairs - self.pairs),
            purpose=purpose,
        )


def _most_informative(inference: Inference, state: SearchState, config: SearchConfig) -> tuple[int, int]:
    """Numbers of the two commits whose pairs tell most."""
    if state.purpose is Purpose.CONFIRM:
        return state.neighbours
    if not state.start and state.further_probability < config.confidence:  # is there anything to look for?
        return 0, inference.last
    unchanged = inference.unchanged(state.start)
    open_commits = (
        number for number in inference.buildable if number > state.start and not inference.is_same((0, number))
    )
    return 0, max(open_commits, key=lambda number: _variance(float(unchanged[number])))


def _variance(probability: float) -> float:
    """Return the information of a few noisy pairs about a yes-or-no question: like variance, not like entropy."""
    return probability * (1.0 - probability)
