"""History of commits with known levels, measured with noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.analysis.bisect.queries import Query
from harness.analysis.bisect.search import Search
from harness.core.comparison import ESTIMATED_STATISTIC
from harness.core.culprit import SearchResult
from tests.analysis.compare.simulated_launches import Array
from tests.analysis.trend.made_series import tossed


class NoisyHistory:
    """Commits `c0`, `c1`, ... and the pairs that a measurement of them would give.

    Args:
        levels: ln(commit / c0) of each.
        noise: Log ratios of pairs of equal builds, in the order of time.
        seed: Of the places in the noise, and of the coins.
        broken: Numbers of commits that do not build.
        plain: Whether commits at the same level are the same bytes.
        shape: A change in each of the five figures for one of 1; then the noise has five columns. None: one figure is
            measured.
    """

    def __init__(
        self,
        levels: Sequence[float],
        noise: Array,
        seed: int,
        broken: Sequence[int] = (),
        *,
        plain: bool = False,
        shape: Sequence[float] | None = None,
    ) -> None:
        self.levels = levels
        self.commits = tuple(f"c{number}" for number in range(len(levels)))
        self._noise = noise
        self._chance = np.random.default_rng(seed)
        self._plain = plain
        self._shape = shape
        self._broken = {f"c{number}" for number in broken}

    def pairs(self, control: str, treatment: str, pairs: int) -> list[float]:
        """Return the log ratios of some pairs."""
        step = self._step(control, treatment)
        noise = self._noise if self._shape is None else self._noise[:, ESTIMATED_STATISTIC]
        return [step + float(deviation) for deviation in tossed(noise, self._chance, pairs)]

    def figures(self, control: str, treatment: str, pairs: int) -> list[list[float]]:
        """Return the log ratios of the five figures of some pairs."""
        step = self._step(control, treatment) * np.asarray(self._shape)
        made: list[list[float]] = (step + tossed(self._noise, self._chance, pairs)).tolist()
        return made

    def step(self, search: Search, query: Query) -> Search:
        """Return the search after the answer to a query."""
        for commit in (query.treatment, query.control):
            if commit in self._broken:
                return search.skip(commit)
        if self._plain and self._step(query.control, query.treatment) == 0.0:
            return search.learn_same(query.control, query.treatment, query.purpose)
        if self._shape is not None:
            figures = self.figures(query.control, query.treatment, query.pairs)
            quartiles = [pair[ESTIMATED_STATISTIC] for pair in figures]
            return search.learn(query.control, query.treatment, quartiles, query.purpose, figures=figures)
        log_ratios = self.pairs(query.control, query.treatment, query.pairs)
        return search.learn(query.control, query.treatment, log_ratios, query.purpose)

    def _step(self, control: str, treatment: str) -> float:
        return self.levels[self.commits.index(treatment)] - self.levels[self.commits.index(control)]

    def run(self, search: Search) -> tuple[SearchResult, Search]:
        """Return the result of the search, and the search at its end."""
        wanted = search.next()
        while isinstance(wanted, Query):
            search = self.step(search, wanted)
            wanted = search.next()
        return wanted, search


def stepped(commits: int, *steps: tuple[int, float]) -> list[float]:
    """Return levels of commits 0 to `commits`, with changes at some commits, as log ratios."""
    levels = np.zeros(commits + 1)
    for commit, size in steps:
        levels[commit:] += size
    return [float(level) for level in levels]
