"""Ranking of several programs by rounds of launches: each two launches of one round are a pair, and are tested as one.

Before each round a coin tosses the order of all launches. Given the places that two programs have in it, which of them
is first is a fair coin: so each two are a comparison of their own, as exact as any other
(`harness.analysis.compare.evidence`), whatever the others do between them. A program that is launched no more leaves
the coin of the others as fair as it was.

Every pair and both directions share one level (Bonferroni), so that the probability that any program is ever called
faster than one that it is not faster than is at most that level, wherever the rounds stop and however ranks are read
from the verdicts: what follows from two verdicts that are right is right.
"""

from __future__ import annotations

import itertools
from bisect import insort
from collections.abc import Mapping, Sequence
from enum import StrEnum
from statistics import fmean
from typing import Final, NamedTuple

from harness.analysis.compare.decision import SequentialTest
from harness.analysis.compare.statistics import launch_statistics, log_ratios, middle
from harness.core.comparison import ESTIMATED_STATISTIC, Pair, Parameters
from harness.core.ranking import RankingParameters
from harness.core.verdict import Verdict

MOST_ALPHA: Final = 0.01
"""Level of one direction of one pair, at most: that of comparisons, for which intervals are of 95 %."""

_MOST_ROUNDS: Final = 1000
_SLOW: Final = (200.0,) * 20
_FAST: Final = (100.0,) * 20
"""Samples of two programs that never overlap."""


class Relation(StrEnum):
    """What pairs say of a first program and a second."""

    FASTER = "faster"
    SLOWER = "slower"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"


class Ratio(NamedTuple):
    """How many times as long a program takes as another.

    Attributes:
        estimate: The estimate.
        low: Lower end of its 95 % interval; None where nothing is excluded on that side.
        high: Upper end.
    """

    estimate: float
    low: float | None
    high: float | None


class RankingTest:
    """Test of each two of several programs that are launched in rounds.

    Args:
        programs: Number of programs, at least two.
        parameters: How to decide.
        higher_is_better: Whether larger values of the metric are better.
    """

    def __init__(self, programs: int, parameters: RankingParameters, *, higher_is_better: bool = False) -> None:
        self._programs = range(programs)
        self._higher_is_better = higher_is_better
        self._pairs = tuple(itertools.combinations(self._programs, 2))
        level = min(MOST_ALPHA, parameters.alpha / (2 * len(self._pairs)))
        each = Parameters(
            alpha=level,
            beta=parameters.beta,
            margin=parameters.margin,
            max_pairs=parameters.max_rounds,
            seed=parameters.seed,
        )
        self._tests = {pair: SequentialTest(each, higher_is_better) for pair in self._pairs}
        self._log_ratios: dict[tuple[int, int], list[float]] = {pair: [] for pair in self._pairs}

    def add_round(self, index: int, samples: Mapping[int, Sequence[float]], order: Sequence[int]) -> None:
        """Take the evidence of one round: of each two launches, with as many samples of either as both have.

        Args:
            index: Number of the round.
            samples: The samples of the launch of each program that counts.
            order: The programs in the order of their launches.
        """
        for first, second in self._pairs:
            if first in samples and second in samples:
                fewest = min(len(samples[first]), len(samples[second]))
                figures, others = (
                    launch_statistics(samples[program][:fewest], higher_is_better=self._higher_is_better)
                    for program in (first, second)
                )
                pair = Pair(
                    index=index,
                    control_first=order.index(first) < order.index(second),
                    control=figures,
                    treatment=others,
                    control_launch=None,
                    treatment_launch=None,
                    seconds=0.0,
                )
                self._tests[first, second].add(pair)
                insort(self._log_ratios[first, second], log_ratios(pair)[ESTIMATED_STATISTIC])

    def relation(self, first: int, second: int) -> Relation:
        """Return what the pairs say of two programs; what follows from other verdicts counts, too."""
        faster = self._find_faster()
        if (first, second) in faster:
            return Relation.FASTER
        if (second, first) in faster:
            return Relation.SLOWER
        return self._own_relation(first, second)

    def ratio(self, program: int, other: int) -> Ratio | None:
        """Return how many times as long a program takes as another; None without pairs."""
        if program == other:
            return Ratio(1.0, 1.0, 1.0)
        test = self._tests[min(program, other), max(program, other)]
        difference = test.difference()
        if difference is None:
            return None
        low, high = test.interval()
        ends = (1 + difference, None if low is None else 1 + low, None if high is None else 1 + high)
        if (program < other) != self._higher_is_better:  # the second program is the treatment
            return Ratio(1 / ends[0], ends[2] and 1 / ends[2], ends[1] and 1 / ends[1])
        return Ratio(*ends)

    def order(self) -> list[int]:
        """Return the programs from the fastest to the slowest, as far as can be estimated; verdicts come first."""
        scores = {program: self._score(program) for program in self._programs}
        faster = self._find_faster()
        wins = {program: sum(pair[0] == program for pair in faster) for program in self._programs}
        losses = {program: sum(pair[1] == program for pair in faster) for program in self._programs}
        return sorted(self._programs, key=lambda program: (losses[program] - wins[program], scores[program], program))

    def ranks(self) -> list[tuple[int, int]]:
        """Return the best and the worst rank that verdicts leave possible, by program."""
        faster = self._find_faster()
        before = [sum(pair[1] == program for pair in faster) for program in self._programs]
        after = [sum(pair[0] == program for pair in faster) for program in self._programs]
        return [(1 + before[program], len(self._programs) - after[program]) for program in self._programs]

    def open_pairs(self) -> list[tuple[int, int]]:
        """Return the pairs that have to be decided: neighbours of the ranking, and the fastest with each other one."""
        order = self.order()
        needed = {*itertools.pairwise(order), *((order[0], program) for program in order[1:])}
        ordered = sorted((min(pair), max(pair)) for pair in needed)
        return [pair for pair in ordered if self.relation(*pair) is Relation.UNDECIDED]

    def is_spent(self, first: int, second: int) -> bool:
        """Return whether the budget of a pair is spent."""
        return self._tests[first, second].is_budget_spent

    def _own_relation(self, first: int, second: int) -> Relation:
        """Return what the pairs of two programs alone say."""
        verdict = self._tests[min(first, second), max(first, second)].verdict()
        match verdict:
            case Verdict.NO_CHANGE:
                return Relation.EQUIVALENT
            case Verdict.REGRESSION:  # the program with the larger number is the treatment
                return Relation.FASTER if first < second else Relation.SLOWER
            case Verdict.IMPROVEMENT:
                return Relation.SLOWER if first < second else Relation.FASTER
            case _:
                return Relation.UNDECIDED

    def _find_faster(self) -> frozenset[tuple[int, int]]:
        """Return every pair of a faster and a slower program: verdicts, and what follows from them.

        Verdicts that contradict each other, of which one must be wrong, say nothing of the programs in their circle.
        """
        faster = {pair for pair in itertools.permutations(self._programs, 2) if self._is_proven(*pair)}
        for between in self._programs:
            before = [first for first in self._programs if (first, between) in faster]
            after = [last for last in self._programs if (between, last) in faster]
            faster |= set(itertools.product(before, after))
        return frozenset(pair for pair in faster if pair[::-1] not in faster)

    def _is_proven(self, first: int, second: int) -> bool:
        return self._own_relation(first, second) is Relation.FASTER

    def _score(self, program: int) -> float:
        """Return the mean over all other programs of the median log ratio to them: the larger, the slower."""
        sign = -1 if self._higher_is_better else 1
        ratios = [
            sign * (1 if program == second else -1) * middle(self._log_ratios[first, second])
            for first, second in self._pairs
            if program in (first, second) and self._log_ratios[first, second]
        ]
        return fmean(ratios) if ratios else 0.0


def count_least_rounds(programs: int, parameters: RankingParameters) -> int:
    """Return the smallest number of rounds after which any program can be faster than another.

    It is that of programs which never overlap, in every round: what differs by less needs more. It does not depend on
    the budget.

    Args:
        programs: Number of programs, at least two.
        parameters: How to decide.
    """
    pairs = programs * (programs - 1) // 2
    level = min(MOST_ALPHA, parameters.alpha / (2 * pairs))
    alone = RankingTest(2, parameters.model_copy(update={"alpha": 2 * level, "max_rounds": _MOST_ROUNDS}))
    for index in range(_MOST_ROUNDS):
        order = (0, 1) if index % 2 else (1, 0)
        alone.add_round(index, {0: _SLOW, 1: _FAST}, order)
        if alone.relation(1, 0) is Relation.FASTER:
            return index + 1
    return _MOST_ROUNDS
