"""What pairs say about a whole history: a hidden Markov model of the level that each commit stands at.

The good commit stands at 0. Each later commit leaves the level where it is, or, seldom, moves it by some amount that is
worth looking for. Any number of commits may do so, up or down: one culprit is the usual answer, not an assumption. The
levels are summed over exactly by the forward-backward recursion (Rabiner, Proc. IEEE 77, 1989) over those commits that
were measured; a change between two of them is equally likely at each commit from behind the first up to the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from harness.analysis.bisect.levels import Array

_CHANGES: Final = 0.2
"""Changes expected in a history before anything is known. Two are then a tenth as likely as one."""

_LEAST_LOG: Final = -500.0
"""Likelihoods below exp of this, relative to the best, count as exp of this: products must stay above zero."""


@dataclass(frozen=True)
class History:
    """A history of commits numbered from 0, the good one.

    Attributes:
        levels: What is told apart, ascending, with 0 among them: shape (levels,).
        smallest: Change that is worth looking for, as a log ratio.
        positions: Numbers of the commits that were measured, ascending, with the first and the last commit.
        at: Log likelihood of each level at a position, for what was measured against the good commit.
        across: Log likelihood of each pair of levels at a position and the one before it, for what was measured between
            them: shape (levels, levels).
    """

    levels: Array
    smallest: float
    positions: Sequence[int]
    at: Mapping[int, Array]
    across: Mapping[int, Array]

    def unchanged_since(self, start: int) -> Array:
        """For each commit the probability that no commit behind `start` up to it changed the level.

        Args:
            start: A position.

        Returns:
            Shape (commits,); 1 up to `start`.
        """
        first = self.positions.index(start)
        kept = [1.0]
        weight = self._forward[0][first]
        for step in range(first + 1, len(self.positions)):
            weight = weight * self._staying[step]
            kept.append(float(weight @ self._backward[step]))
        known = np.interp(range(self.positions[-1] + 1), self.positions[first:], kept)
        return np.asarray(np.minimum.accumulate(np.clip(known, 0.0, 1.0)))

    def change(self, before: int, end: int) -> float:
        """Expected difference of the levels at two commits, as a log ratio.

        Args:
            before: The earlier commit; one that was not measured counts as the last before it that was.
            end: The later; one that was not measured counts as the next that was.
        """
        positions = np.asarray(self.positions)
        steps = (int(positions.searchsorted(before, "right")) - 1, int(positions.searchsorted(end)))
        there, then = (float(self.levels @ (self._forward[0][step] * self._backward[step])) for step in steps)
        return then - there

    @cached_property
    def none(self) -> float:
        """Probability that no commit changed the level."""
        return float(self.unchanged_since(0)[-1])

    @cached_property
    def several(self) -> float:
        """Probability that more than one did."""
        after = np.ones_like(self.levels)
        before = [self._forward[0][0]]
        for step in range(1, len(self.positions)):
            before.append(before[-1] * self._staying[step])
        one = 0.0
        for step in range(len(self.positions) - 1, 0, -1):
            one += float(before[step - 1] @ (self._moving[step] @ after))
            after = self._staying[step] * after
        return min(1.0, max(0.0, 1.0 - self.none - one))

    @cached_property
    def _jumps(self) -> Array:
        """Where a change leads to: anywhere that is worth it, evenly. Shape (levels, levels), rows sum to 1."""
        allowed = np.abs(self.levels[:, None] - self.levels[None, :]) >= self.smallest
        return np.asarray(allowed / np.maximum(1, allowed.sum(axis=1, keepdims=True)))

    def _kept(self, step: int) -> float:
        """Prior probability that no commit between two positions changed the level."""
        width, total = self.positions[step] - self.positions[step - 1], self.positions[-1]
        return float((1.0 - _CHANGES / max(total, 1 + _CHANGES)) ** width)

    def _weights(self, step: int) -> tuple[Array, Array]:
        """Likelihood of staying at each level from one position to the next, and of moving from each to each."""
        seen = _relative(self.at.get(self.positions[step], np.zeros_like(self.levels)))
        kept = self._kept(step)
        moving = (1.0 - kept) * self._jumps * seen
        staying = kept * seen
        if self.positions[step] in self.across:
            between = _relative(self.across[self.positions[step]])
            moving, staying = moving * between, staying * np.diagonal(between)
        return staying, moving

    @cached_property
    def _forward(self) -> tuple[list[Array], list[tuple[Array, Array]]]:
        """Of each position the distribution of levels given what came before, and the weights of the way to it.

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
        """Of each position the likelihood of what comes after, for each level."""
        likelihood = np.ones_like(self.levels)
        likelihoods = [likelihood]
        for staying, moving in reversed(self._forward[1][1:]):
            likelihood = staying * likelihood + moving @ likelihood
            likelihoods.append(likelihood)
        return likelihoods[::-1]


def _relative(log_likelihood: Array) -> Array:
    return np.asarray(np.exp(np.maximum(log_likelihood - log_likelihood.max(), _LEAST_LOG)))
