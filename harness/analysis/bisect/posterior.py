"""Probabilities of a search given its answers so far, by number of the commit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from msgspec import Struct, field

from harness.analysis.bisect.hidden_markov import Array, HiddenMarkovModel, level_grid, log_likelihood, scale_of
from harness.analysis.bisect.queries import Answer, Purpose
from harness.core.comparison import ESTIMATED_STATISTIC, STATISTICS

_LEAST_CHANGE = 0.25
"""Changes below this many scales of a pair are never looked for: the pairs to find them would not end."""

AdjacentCommits = tuple[int, int]
"""Numbers of two commits that build, the earlier and the later, with none between them that does."""


class Inference(Struct, frozen=True, dict=True):
    """Inference from the answers so far; commits are numbered from 0, the good one.

    Attributes:
        commits: Ids, oldest first.
        answers: Every answer.
        skipped: Commits that do not build.
        smallest: Share of the total difference that a commit must account for to be looked for.
        statistics: Names of the figures of a launch.
        figure: Place of the figure that is looked at.
        has_all: Whether every answer has all figures, and not the better quartile alone.
        programs: SHA-256 of the program of each commit that was built.
    """

    commits: Sequence[str]
    answers: Sequence[Answer]
    skipped: Sequence[str]
    smallest: float
    statistics: Sequence[str] = STATISTICS
    figure: int = ESTIMATED_STATISTIC
    has_all: bool = False
    programs: Mapping[str, str] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """Number of the bad commit."""
        return len(self.commits) - 1

    @cached_property
    def buildable(self) -> Sequence[int]:
        """Commits that build, as far as is known."""
        return [number for number, commit in enumerate(self.commits) if commit not in self.skipped]

    def neighbours(self, start: int) -> Iterator[AdjacentCommits]:
        """Yield each commit behind `start` that builds, with the one before it that does."""
        return ((before, end) for before, end in pairwise(self.buildable) if before >= start)

    def unchanged(self, start: int) -> Array:
        """Return for each commit the probability that the metric has not changed behind `start` by then: (commits,)."""
        return self.model.unchanged_since(start)

    def further_probability(self, start: int) -> float:
        """Return the probability that some commit behind `start` changed the metric."""
        return 1.0 - float(self.unchanged(start)[-1])

    def next_culprit(self, start: int) -> tuple[AdjacentCommits, float]:
        """Return where the metric most probably changes next behind `start`, and that probability."""
        unchanged = self.unchanged(start)
        probabilities = {
            (before, end): float(unchanged[before] - unchanged[end]) for before, end in self.neighbours(start)
        }
        likeliest = max(probabilities, key=probabilities.__getitem__)
        return likeliest, probabilities[likeliest]

    def has_measured(self, commit: int) -> bool:
        """Return whether a commit was measured."""
        return commit in self.model.positions

    def is_same(self, ends: AdjacentCommits) -> bool:
        """Return whether two commits are known to give the same bytes."""
        control, treatment = self.commits[ends[0]], self.commits[ends[1]]
        return any(
            answer.same and (answer.control, answer.treatment) == (control, treatment) for answer in self.answers
        )

    def confirming(self, neighbours: AdjacentCommits) -> Sequence[Sequence[float]]:
        """Return the log ratios of all figures that were measured to confirm a change between two neighbours."""
        answers = (answer for answer in self._answers(neighbours) if answer.purpose is Purpose.CONFIRM)
        if self.has_all:
            return [ratios for answer in answers for ratios in answer.figures]
        return [(ratio,) for answer in answers for ratio in answer.log_ratios]

    @property
    def figure_name(self) -> str:
        """Name of the figure that is looked at."""
        return self.statistics[self.figure]

    @property
    def clearness(self) -> float:
        """Difference of the two ends in standard errors; 0 before it is measured."""
        ratios = self._log_ratios((0, self.last))
        if not ratios:
            return 0.0
        scale = scale_of([ratios])
        return abs(float(np.median(ratios))) * math.sqrt(len(ratios)) / scale

    @cached_property
    def total_log_ratio(self) -> float | None:
        """ln(bad / good); None before it is measured."""
        if self.is_same((0, self.last)):
            return 0.0
        measured = self._log_ratios((0, self.last))
        return float(np.median(measured)) if measured else None

    @cached_property
    def model(self) -> HiddenMarkovModel:
        """Model of all pairs together."""
        numbers = {commit: number for number, commit in enumerate(self.commits)}
        compared = sorted({(numbers[answer.control], numbers[answer.treatment]) for answer in self.answers})
        ratios = {ends: self._log_ratios(ends) for ends in compared}
        scale = scale_of(ratios.values())
        measured = [ratios[ends] for ends in compared if ends[0] == 0 and ratios[ends]]
        levels = level_grid([float(np.median(group)) for group in measured], scale)
        steps = levels[None, :] - levels[:, None]
        positions = sorted({0, self.last, *(number for ends in compared for number in ends)})
        return HiddenMarkovModel(
            levels=levels,
            smallest_log_ratio=max(self.smallest * abs(self.total_log_ratio or 0.0), _LEAST_CHANGE * scale),
            positions=positions,
            level_likelihoods={ends[1]: self._likelihood(ends, levels, scale) for ends in compared if ends[0] == 0},
            step_likelihoods={ends[1]: self._likelihood(ends, steps, scale) for ends in compared if ends[0] != 0},
            unchanged_positions={end for before, end in pairwise(positions) if self._has_equal_programs(before, end)},
        )

    def _has_equal_programs(self, before: int, end: int) -> bool:
        """Return whether two commits are known to give the same program."""
        program = self.programs.get(self.commits[before])
        return program is not None and program == self.programs.get(self.commits[end])

    def _likelihood(self, ends: AdjacentCommits, steps: Array, scale: float) -> Array:
        """Log likelihood of each step from one commit to the other."""
        if self.is_same(ends):
            return np.where(steps == 0.0, 0.0, -np.inf)
        return log_likelihood(self._log_ratios(ends), steps, scale)

    def _answers(self, ends: tuple[int, int]) -> Iterator[Answer]:
        control, treatment = self.commits[ends[0]], self.commits[ends[1]]
        return (answer for answer in self.answers if (answer.control, answer.treatment) == (control, treatment))

    def _log_ratios(self, ends: tuple[int, int]) -> list[float]:
        """Return the log ratios of the figure that is looked at."""
        ratios: list[float] = []
        for answer in self._answers(ends):
            ratios += [pair[self.figure] for pair in answer.figures] if self.has_all else answer.log_ratios
        return ratios
