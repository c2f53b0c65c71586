"""What a search believes after the pairs so far, and where it has looked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from harness.analysis.bisect.hidden_markov import History
from harness.analysis.bisect.levels import Array, level_grid, log_likelihood, scale_of
from harness.analysis.bisect.queries import Heard, Purpose

_LEAST_CHANGE = 0.25
"""Changes below this many scales of a pair are never looked for: the pairs to find them would not end."""

Neighbours = tuple[int, int]
"""Numbers of two commits that build while none between them does: the earlier and the later."""


@dataclass(frozen=True)
class Belief:
    """The pairs so far, read by commits that are numbered from 0, the good one.

    Attributes:
        commits: Identities, oldest first.
        heard: Every answer.
        skipped: Commits that do not build.
        smallest: Part of the whole difference that a commit must account for to be looked for.
    """

    commits: Sequence[str]
    heard: Sequence[Heard]
    skipped: Sequence[str]
    smallest: float

    @property
    def last(self) -> int:
        """The bad commit."""
        return len(self.commits) - 1

    @cached_property
    def askable(self) -> Sequence[int]:
        """The commits that build, as far as is known."""
        return [number for number, commit in enumerate(self.commits) if commit not in self.skipped]

    def neighbours(self, start: int) -> Iterator[Neighbours]:
        """Each commit behind `start` that builds, with the one before it that does."""
        return ((before, end) for before, end in pairwise(self.askable) if before >= start)

    def unchanged(self, start: int) -> Array:
        """For each commit the probability that the number has not changed behind `start` by then: shape (commits,)."""
        return self.history.unchanged_since(start)

    def more(self, start: int) -> float:
        """Probability that some commit behind `start` changed the number."""
        return 1.0 - float(self.unchanged(start)[-1])

    def next_culprit(self, start: int) -> tuple[Neighbours, float]:
        """Where the number most probably changes next behind `start`, and that probability."""
        unchanged = self.unchanged(start)
        chances = {step: float(unchanged[step[0]] - unchanged[step[1]]) for step in self.neighbours(start)}
        likeliest = max(chances, key=chances.__getitem__)
        return likeliest, chances[likeliest]

    def has_measured(self, commit: int) -> bool:
        """Whether anything was measured of a commit."""
        return commit in self.history.positions

    def is_same(self, ends: Neighbours) -> bool:
        """Whether two commits were found to be the same bytes."""
        control, treatment = self.commits[ends[0]], self.commits[ends[1]]
        return any(heard.same and (heard.control, heard.treatment) == (control, treatment) for heard in self.heard)

    def fresh(self, step: Neighbours) -> Sequence[float]:
        """Log ratios that were measured to confirm a change between two neighbours."""
        return self._ratios(step, Purpose.CONFIRM)

    @cached_property
    def whole(self) -> float | None:
        """Log ratio of the bad commit to the good one; None before it is known."""
        if self.is_same((0, self.last)):
            return 0.0
        measured = self._ratios((0, self.last))
        return float(np.median(measured)) if measured else None

    @cached_property
    def history(self) -> History:
        """All that the pairs say together."""
        numbers = {commit: number for number, commit in enumerate(self.commits)}
        asked = sorted({(numbers[heard.control], numbers[heard.treatment]) for heard in self.heard})
        ratios = {ends: self._ratios(ends) for ends in asked}
        scale = scale_of(ratios.values())
        measured = [ratios[ends] for ends in asked if ends[0] == 0 and ratios[ends]]
        levels = level_grid([float(np.median(group)) for group in measured], scale)
        steps = levels[None, :] - levels[:, None]
        return History(
            levels=levels,
            smallest=max(self.smallest * abs(self.whole or 0.0), _LEAST_CHANGE * scale),
            positions=sorted({0, self.last, *(number for ends in asked for number in ends)}),
            at={ends[1]: self._likelihood(ends, levels, scale) for ends in asked if ends[0] == 0},
            across={ends[1]: self._likelihood(ends, steps, scale) for ends in asked if ends[0] != 0},
        )

    def _likelihood(self, ends: Neighbours, steps: Array, scale: float) -> Array:
        """Logarithm of the likelihood of each step from one commit to the other."""
        if self.is_same(ends):
            return np.where(steps == 0.0, 0.0, -np.inf)
        return log_likelihood(self._ratios(ends), steps, scale)

    def _ratios(self, ends: tuple[int, int], purpose: Purpose | None = None) -> list[float]:
        control, treatment = self.commits[ends[0]], self.commits[ends[1]]
        return [
            ratio
            for heard in self.heard
            if (heard.control, heard.treatment) == (control, treatment) and purpose in (None, heard.purpose)
            for ratio in heard.log_ratios
        ]
