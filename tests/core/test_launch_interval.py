from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.launch_interval import compute_interval, interval_of, plan_looks
from harness.core.metric import LaunchInterval, Metric
from harness.core.order_statistics import median

counts = st.integers(1, 40)
positive = st.floats(1e-3, 1e9)


def metric_of(*launches: tuple[float, ...]) -> Metric:
    samples = [sample for launch in launches for sample in launch]
    return Metric(
        name="NET latency",
        type="NET",
        metric="latency",
        unit="ms",
        samples=tuple(samples),
        launches=tuple(number for number, launch in enumerate(launches) for _ in launch),
        summary={"p50": median(samples)},
    )


def interval(medians: list[float], looks: int = 1) -> LaunchInterval:
    computed = compute_interval(medians, median(medians), looks)
    assert computed is not None
    return computed


def misses(count: int, looks: int, draw: random.Random, trials: int = 4000) -> float:
    """Return the share of the intervals of `count` normal launches that miss the true median."""
    outside = 0
    for _ in range(trials):
        medians = [draw.gauss(1000, 1) for _ in range(count)]
        computed = interval(medians, looks)
        outside += computed.low > 1000 or computed.high < 1000
    return outside / trials


@pytest.mark.parametrize(("count", "looks"), [(2, 1), (3, 1), (5, 1), (5, 5), (7, 5), (8, 5), (12, 5), (30, 5)])
def test_intervals_miss_the_median_as_seldom_as_they_promise(count: int, looks: int) -> None:
    level = 0.025 / looks
    chance = 4 * math.sqrt(level / 4000)
    rate = misses(count, looks, random.Random(count))
    assert rate < level + chance
    if count < 8:  # widened for exactly that level; ranks of more launches are coarse, and stay below
        assert rate > level - chance


def test_an_interval_of_many_launches_ends_at_two_of_them() -> None:
    medians = [float(value) for value in range(1, 31)]
    computed = interval(medians, looks=5)
    assert (computed.low, computed.high, computed.launches) == (7.0, 24.0, 30)
    # 0.5 % divided by two sides: P(Bin(30, 1/2) < 7) = 0.0715 %, P(Bin(30, 1/2) < 8) = 0.26 %
    below = sum(math.comb(30, k) for k in range(7)) / 2**30
    assert below <= 0.0025 < below + math.comb(30, 7) / 2**30


def test_an_extreme_launch_does_not_move_the_interval_of_many() -> None:
    medians = [1.0 + number / 1000 for number in range(30)]
    assert interval([*medians[:-1], 1e6]).high == interval(medians).high


def test_a_few_launches_give_an_interval_beyond_their_range() -> None:
    computed = interval([10.0, 10.1, 10.2, 10.1, 10.0], looks=5)
    assert 9.8 < computed.low < 10.0
    assert 10.2 < computed.high < 10.4


def test_two_launches_that_differ_show_next_to_nothing() -> None:
    computed = interval([1.0, 2.0])
    assert 0 < computed.low < 0.001
    assert computed.high > 1000


def test_equal_launches_have_an_interval_without_width() -> None:
    assert interval([3.0] * 5).low == interval([3.0] * 5).high == 3.0


def test_a_single_launch_has_no_interval() -> None:
    assert interval_of(metric_of((1.0, 2.0, 3.0))) is None


def test_more_iterations_of_the_same_launches_do_not_narrow_the_interval() -> None:
    few = interval_of(metric_of((1.0, 1.1), (2.0, 2.1), (1.5, 1.6)))
    many = interval_of(metric_of((1.0, 1.1) * 50, (2.0, 2.1) * 50, (1.5, 1.6) * 50))
    assert few == many


def test_it_contains_the_median_of_all_samples() -> None:
    computed = interval_of(metric_of(*[(1.0,)] * 5, *[(9.0,) * 7] * 3))
    assert computed is not None
    assert computed.low <= 9.0 <= computed.high


@pytest.mark.parametrize("medians", [[1.0, math.inf], [1.0, math.nan], [1e-300, 1e300]])
def test_what_leaves_the_range_of_numbers_has_no_interval(medians: list[float]) -> None:
    assert compute_interval(medians, 1.0) is None


@given(st.lists(positive, min_size=2, max_size=40), positive, st.integers(1, 6))
def test_intervals_scale_with_their_unit(medians: list[float], factor: float, looks: int) -> None:
    plain = compute_interval(medians, median(medians), looks)
    scaled_medians = [factor * value for value in medians]
    scaled = compute_interval(scaled_medians, median(scaled_medians), looks)
    if plain is not None and scaled is not None:
        assert scaled.low == pytest.approx(factor * plain.low, rel=1e-6)
        assert scaled.high == pytest.approx(factor * plain.high, rel=1e-6)


@given(st.lists(st.floats(-1e9, -1), min_size=2, max_size=40))
def test_negative_values_have_intervals_too(medians: list[float]) -> None:
    computed = interval(medians)
    assert computed.low <= median(medians) <= computed.high


@given(counts, counts)
def test_looks_are_few_and_ascend_to_the_largest_number(fewest: int, more: int) -> None:
    looks = plan_looks(fewest, fewest + more)
    assert looks[-1] == fewest + more
    assert looks[0] >= fewest
    assert list(looks) == sorted(set(looks))


def test_the_usual_looks() -> None:
    assert plan_looks(5, 30) == (5, 8, 12, 18, 30)
    assert plan_looks(1, 30) == (5, 8, 12, 18, 30)
    assert plan_looks(5, 5) == (5,)
    assert plan_looks(1, 1) == (1,)
    assert plan_looks(2, 3) == (3,)
