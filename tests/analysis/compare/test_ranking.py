"""Ranks from rounds: programs that are the same share a rank, and "faster" is said where pairs say so."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from harness.analysis.compare.ranking import RankingTest, Relation, count_least_rounds
from harness.core.ranking import RankingParameters
from harness.running.rounds import toss_order


def rank(
    speeds: Sequence[float],
    seed: int,
    *,
    rounds: int = 40,
    noise: float = 0.01,
    higher_is_better: bool = False,
    **parameters: float,
) -> RankingTest:
    """Rank simulated programs that take so long: their machine wanders, and has bursts."""
    chance = random.Random(seed)
    settings = RankingParameters.model_validate({"seed": seed, "max_rounds": rounds, **parameters})
    test = RankingTest(len(speeds), settings, higher_is_better=higher_is_better)
    machine = 0.0
    for index in range(rounds):
        pairs = test.open_pairs()
        live = sorted({number for pair in pairs for number in pair if not test.is_spent(*pair)})
        if not live:
            break
        order = toss_order(seed, "simulated", index, live)
        launches = {}
        for number in order:
            machine = 0.95 * machine + chance.gauss(0, noise)
            burst = 0.1 if chance.random() < 0.05 else 0.0
            level = math.exp(machine + chance.gauss(0, noise) + burst)
            samples = [speeds[number] * level * (1 + abs(chance.gauss(0, 0.02))) for _ in range(20)]
            values = [1 / sample for sample in samples] if higher_is_better else samples
            launches[number] = values
        test.add_round(index, launches, order)
    return test


def test_programs_that_are_the_same_share_a_rank() -> None:
    wrong = sum(rank([1, 1, 1], seed).ranks() != [(1, 3)] * 3 for seed in range(60))

    assert wrong <= 6, "at most 5 % of rankings, and what chance adds in 60"


def test_two_runs_of_one_program_share_the_rank_below_a_faster_program() -> None:
    ranked = [rank([1.3, 1, 1.3], seed).ranks() for seed in range(20)]

    assert sum(ranks == [(2, 3), (1, 1), (2, 3)] for ranks in ranked) >= 18


def test_clear_differences_give_every_program_a_rank_of_its_own() -> None:
    test = rank([1.2, 4, 1, 1.5], 7)

    assert test.order() == [2, 0, 3, 1]
    assert test.ranks() == [(2, 2), (4, 4), (1, 1), (3, 3)]
    assert test.open_pairs() == []
    assert test.relation(2, 1) is Relation.FASTER
    assert test.relation(1, 2) is Relation.SLOWER


@pytest.mark.parametrize("higher_is_better", [False, True])
def test_ratios_are_of_times_and_hold_the_truth(higher_is_better: bool) -> None:
    test = rank([1, 1.25], 3, higher_is_better=higher_is_better)
    ratio, inverse = test.ratio(1, 0), test.ratio(0, 1)

    assert test.order() == [0, 1]
    assert ratio is not None
    assert inverse is not None
    assert 1 < (ratio.low or 0) <= 1.25 <= (ratio.high or 0)
    assert inverse.estimate == pytest.approx(1 / ratio.estimate)


def test_a_difference_inside_the_margin_is_equivalent() -> None:
    test = rank([1, 1], 5, margin=0.05)

    assert test.relation(0, 1) is Relation.EQUIVALENT
    assert test.ranks() == [(1, 2), (1, 2)]


def test_a_program_far_behind_is_launched_no_more_once_its_rank_is_known() -> None:
    chance, launched = random.Random(1), []
    test = RankingTest(3, RankingParameters(seed=1, max_rounds=40))
    for index in range(40):
        live = sorted({number for pair in test.open_pairs() for number in pair})
        launched.append(2 in live)
        order = toss_order(1, "key", index, live)
        launches = {
            number: [(1, 1, 9)[number] * (1 + abs(chance.gauss(0, 0.03))) for _ in range(10)] for number in order
        }
        test.add_round(index, launches, order)

    assert all(launched[:8])
    assert not any(launched[20:])
    assert test.ranks()[2] == (3, 3)


def test_a_launch_that_does_not_count_costs_its_own_pairs_only() -> None:
    test = RankingTest(3, RankingParameters(seed=1))
    test.add_round(0, {0: [1.0, 2.0], 2: [1.0, 2.0, 3.0]}, [2, 1, 0])

    assert test.ratio(0, 2) is not None
    assert test.ratio(0, 1) is None
    assert test.relation(0, 1) is Relation.UNDECIDED


def test_without_rounds_nothing_is_known() -> None:
    test = RankingTest(3, RankingParameters(seed=1))

    assert test.ranks() == [(1, 3)] * 3
    assert test.open_pairs() == [(0, 1), (0, 2), (1, 2)]


def test_the_coin_is_fair_for_each_two_and_recorded() -> None:
    orders = [toss_order(3, "key", index, [0, 1, 2]) for index in range(900)]

    assert orders == [toss_order(3, "key", index, [0, 1, 2]) for index in range(900)]
    for first, second in ((0, 1), (0, 2), (1, 2)):
        before = sum(order.index(first) < order.index(second) for order in orders)
        assert 370 < before < 530
    assert [toss_order(3, "key", index, [2, 0]) for index in range(900)] == [
        [number for number in order if number != 1] for order in orders
    ]


@pytest.mark.parametrize(("programs", "alpha", "least"), [(2, 0.05, 8), (3, 0.05, 8), (6, 0.05, 11), (3, 0.002, 13)])
def test_nothing_is_faster_before_the_smallest_number_of_rounds(programs: int, alpha: float, least: int) -> None:
    assert count_least_rounds(programs, RankingParameters(seed=1, alpha=alpha)) == least
    speeds = [float(10 * (number + 1)) for number in range(programs)]
    ranks = [(1 + number, 1 + number) for number in range(programs)]
    assert rank(speeds, 3, rounds=least, noise=0.0001, alpha=alpha).ranks() == ranks
    assert rank(speeds, 3, rounds=least - 1, noise=0.0001, alpha=alpha).ranks() == [(1, programs)] * programs
