"""Hidden Markov model of the level of the metric at each commit of a history.

The good commit has level 0. Each later commit keeps the level or, seldom, moves it by an amount that is worth looking
for. Any number of commits may do so, up or down: one culprit is the usual answer, not an assumption. The
forward-backward recursion (Rabiner, Proc. IEEE 77, 1989) sums exactly over the levels of the commits that were
measured; a change between two of them is equally likely at each commit from behind the first up to the second.

Pairs scatter around a level like Student's t with four degrees of freedom: their tails are heavier than those of a
normal distribution, so that a burst in one launch says little instead of everything.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from harness.analysis.compare.statistics import PRIOR_SCALE, PRIOR_WEIGHT

Array = NDArray[np.float64]

_CHANGES: Final = 0.2
"""Expected number of changes in a history before anything is measured. Two are then a tenth as likely as one."""

_LEAST_LOG: Final = -500.0
"""Likelihoods below exp of this, relative to the best, count as exp of this: products must stay above zero."""

_COUNT: Final = 161
"""Number of levels: finer than what a hundred pairs resolve at the usual noise."""

_REACH: Final = 3.0
"""Distance of the outermost level from the outermost estimate, in scales."""

_DEGREES: Final = 4.0
_MAD_OF_NORMAL: Final = 0.6745
_MAD_OF_T4: Final = 0.7407
"""Upper quartiles of the standard normal distribution and of Student's t (4)."""


class HiddenMarkovModel(Struct, frozen=True, dict=True):
    """Levels of commits that are numbered from 0, the good one.

    Attributes:
        levels: Levels that are told apart, as log ratios to the good commit, ascending, with 0 among them: shape
            (levels,).
        smallest_log_ratio: Smallest change that is worth looking for.
        positions: Numbers of the commits that were measured, ascending, with the first and the last commit.
        level_likelihoods: Log likelihood of each level at a position, from pairs with the good commit.
        step_likelihoods: Log likelihood of each pair of levels at a position and the one before it, from pairs between
            the two: shape (levels, levels).
        unchanged_positions: Positions whose commit is known to be the same program as that of the position before.
    """

    levels: Array
    smallest_log_ratio: float
    positions: Sequence[int]
    level_likelihoods: Mapping[int, Array]
    step_likelihoods: Mapping[int, Array]
    unchanged_positions: Collection[int] = ()

    def unchanged_since(self, start: int) -> Array:
        """Return for each commit the probability that no commit behind `start` up to it changed the level.

        Args:
            start: A position.

        Returns:
            Shape (commits,); 1 up to `start`.
        """
        first = self.positions.index(start)
        unchanged = [1.0]
        weight = self._forward[0][first]
        for step in range(first + 1, len(self.positions)):
            weight = weight * self._staying[step]
            unchanged.append(float(weight @ self._backward[step]))
        by_commit = np.interp(range(self.positions[-1] + 1), self.positions[first:], unchanged)
        return np.asarray(np.minimum.accumulate(np.clip(by_commit, 0.0, 1.0)))

    def change(self, before: int, end: int) -> float:
        """Return the expected difference of the levels at two commits, as a log ratio.

        Args:
            before: The earlier commit; one that was not measured counts as the last before it that was.
            end: The later; one that was not measured counts as the next that was.
        """
        positions = np.asarray(self.positions)
        steps = (int(positions.searchsorted(before, "right")) - 1, int(positions.searchsorted(end)))
        level_before, level_after = (
            float(self.levels @ (self._forward[0][step] * self._backward[step])) for step in steps
        )
        return level_after - level_before

    @cached_property
    def no_change_probability(self) -> float:
        """Probability that no commit changed the level."""
        return float(self.unchanged_since(0)[-1])

    @cached_property
    def several_changes_probability(self) -> float:
        """Probability that more than one did."""
        after = np.ones_like(self.levels)
        before = [self._forward[0][0]]
        for step in range(1, len(self.positions)):
            before.append(before[-1] * self._staying[step])
        exactly_one = 0.0
        for step in range(len(self.positions) - 1, 0, -1):
            exactly_one += float(before[step - 1] @ (self._moving[step] @ after))
            after = self._staying[step] * after
        return min(1.0, max(0.0, 1.0 - self.no_change_probability - exactly_one))

    @cached_property
    def _jumps(self) -> Array:
        """Transitions of a change: to each level that is far enough, evenly. Shape (levels, levels), rows sum to 1."""
        allowed = np.abs(self.levels[:, None] - self.levels[None, :]) >= self.smallest_log_ratio
        return np.asarray(allowed / np.maximum(1, allowed.sum(axis=1, keepdims=True)))

    def _stay_probability(self, step: int) -> float:
        """Prior probability that no commit between two positions changed the level."""
        if self.positions[step] in self.unchanged_positions:
            return 1.0
        width, total = self.positions[step] - self.positions[step - 1], self.positions[-1]
        return float((1.0 - _CHANGES / max(total, 1 + _CHANGES)) ** width)

    def _weights(self, step: int) -> tuple[Array, Array]:
        """Likelihood of staying at each level from one position to the next, and of moving from each to each."""
        likelihood = _scaled(self.level_likelihoods.get(self.positions[step], np.zeros_like(self.levels)))
        stay = self._stay_probability(step)
        moving = (1.0 - stay) * self._jumps * likelihood
        staying = stay * likelihood
        if self.positions[step] in self.step_likelihoods:
            between = _scaled(self.step_likelihoods[self.positions[step]])
            moving, staying = moving * between, staying * np.diagonal(between)
        return staying, moving

    @cached_property
    def _forward(self) -> tuple[list[Array], list[tuple[Array, Array]]]:
        """Distribution of levels at each position given all before it, and the weights of the step to it.

        The weights are divided by what makes each distribution sum to 1.
        """
        belief = np.where(self.levels == 0.0, 1.0, 0.0)
        beliefs, weights = [belief], [(np.zeros_like(belief), np.zeros_like(self._jumps))]
        for step in range(1, len(self.positions)):
            staying, moving = self._weights(step)
            belief = belief * staying + belief @ moving
            total = float(belief.sum())
            belief = belief / total
            beliefs.append(belief)
            weights.append((staying / total, moving / total))
        return beliefs, weights

    @property
    def _staying(self) -> list[Array]:
        return [staying for staying, _ in self._forward[1]]

    @property
    def _moving(self) -> list[Array]:
        return [moving for _, moving in self._forward[1]]

    @cached_property
    def _backward(self) -> list[Array]:
        """Likelihood of everything after each position, for each level."""
        likelihood = np.ones_like(self.levels)
        likelihoods = [likelihood]
        for staying, moving in reversed(self._forward[1][1:]):
            likelihood = staying * likelihood + moving @ likelihood
            likelihoods.append(likelihood)
        return likelihoods[::-1]


def _scaled(log_likelihood: Array) -> Array:
    """Likelihoods relative to the largest."""
    return np.asarray(np.exp(np.maximum(log_likelihood - log_likelihood.max(), _LEAST_LOG)))


def scale_of(groups: Iterable[Sequence[float]]) -> float:
    """Estimate the scale of t (4) with which pairs of the same two commits scatter.

    From differences of successive pairs of a group, so that the level of each group does not matter; drawn towards the
    usual scale while pairs are few.

    Args:
        groups: Log ratios, one group for each two commits.
    """
    jumps = sorted(chain.from_iterable((abs(b - a) for a, b in pairwise(group)) for group in groups))
    spread = float(np.median(jumps)) / (math.sqrt(2) * _MAD_OF_NORMAL) if jumps else 0.0
    deviation = (PRIOR_WEIGHT * PRIOR_SCALE + len(jumps) * spread) / (PRIOR_WEIGHT + len(jumps))
    return deviation * _MAD_OF_NORMAL / _MAD_OF_T4


def level_grid(estimates: Sequence[float], scale: float) -> Array:
    """Return the levels that a commit may have, evenly spaced; exactly 0, the level of the good commit, is among them.

    Args:
        estimates: Estimated levels of the measured commits, as log ratios to the good one.
        scale: Scale of a pair.
    """
    bottom = min(0.0, *estimates) - _REACH * scale if estimates else -_REACH * scale
    top = max(0.0, *estimates) + _REACH * scale if estimates else _REACH * scale
    spacing = (top - bottom) / (_COUNT - 1)
    below = round(-bottom / spacing)
    return np.asarray(spacing * np.arange(-below, _COUNT - below), dtype=np.float64)


def log_likelihood(log_ratios: Sequence[float], levels: Array, scale: float) -> Array:
    """Return the log likelihood of pairs at each level, up to a constant, in the shape of `levels`."""
    scores = (np.asarray(log_ratios, dtype=np.float64) - levels[..., None]) / scale
    likelihoods = -0.5 * (_DEGREES + 1) * np.log1p(scores**2 / _DEGREES)
    return np.asarray(likelihoods.sum(axis=-1))
