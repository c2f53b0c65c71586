"""Changes of levels: their critical values, how often steady noise has them, and how often true ones are found."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from harness.analysis.level_changes import _CRITICAL, Level, _find_extreme_stretch, _rank, find_levels

Noise = Callable[[np.random.Generator, int], np.ndarray]


def _normal(spread: float) -> Noise:
    return lambda random, count: random.normal(size=count) * spread


def _heavy_tailed(random: np.random.Generator, count: int) -> np.ndarray:
    return random.standard_t(2, size=count) * 0.05


def _dependent(correlation: float, spread: float) -> Noise:
    def draw(random: np.random.Generator, count: int) -> np.ndarray:
        innovations = random.normal(size=count + 500) * spread * math.sqrt(1 - correlation**2)
        return np.asarray(lfilter([1], [1, -correlation], innovations))[500:]

    return draw


def _with_spikes(random: np.random.Generator, count: int) -> np.ndarray:
    noise = random.normal(size=count) * 0.02
    noise[random.random(count) < 0.05] += 1.5
    return noise


def _with_burst(random: np.random.Generator, count: int) -> np.ndarray:
    noise, length = random.normal(size=count) * 0.02, count // 25
    start = int(random.integers(0, count - length + 1))
    noise[start : start + length] += 0.5
    return noise


NOISES = {
    "normal": _normal(0.02),
    "wide": _normal(0.1),
    "heavy-tailed": _heavy_tailed,
    "dependent": _dependent(0.5, 0.05),
    "strongly dependent": _dependent(0.9, 0.03),
    "spikes": _with_spikes,
    "burst": _with_burst,
}


def levels_of(costs: Sequence[float] | np.ndarray) -> tuple[Level, ...]:
    return find_levels([float(cost) for cost in costs])


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("count", [500, 2000])
def test_steady_noise_rarely_has_a_lasting_change(name: str, count: int) -> None:
    random = np.random.default_rng(count)
    trials = 200
    changed = sum(
        levels[-1].cost - levels[0].cost >= math.log(1.05)
        for levels in (levels_of(NOISES[name](random, count)) for _ in range(trials))
    )
    assert changed <= 0.01 * trials + 3 * math.sqrt(0.01 * trials)


@pytest.mark.parametrize("name", ["normal", "heavy-tailed", "dependent", "spikes"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_loss_of_a_tenth_is_found_where_it_happens(name: str, share: float) -> None:
    random, count, trials = np.random.default_rng(7), 2000, 60
    place = int(share * count)
    near = 0
    for _ in range(trials):
        costs = NOISES[name](random, count)
        costs[place:] -= math.log(0.9)
        near += any(abs(level.start - place) < 0.03 * count for level in levels_of(costs)[1:])
    assert near >= 0.95 * trials


def test_an_early_loss_in_a_long_series_is_found() -> None:
    costs = _normal(0.03)(np.random.default_rng(3), 20_000)
    costs[200:] += 0.3
    (first, *_), last = levels_of(costs), levels_of(costs)[-1]
    assert abs(first.end - 200) <= 2
    assert last.cost - first.cost == pytest.approx(0.3, abs=0.02)


def test_steps_and_a_recovery_are_levels_of_their_own() -> None:
    costs = _normal(0.02)(np.random.default_rng(5), 3000)
    costs[1000:2000] += 0.2
    costs[1500:2000] += 0.3
    levels = levels_of(costs)
    assert [round(level.start, -2) for level in levels] == [0, 1000, 1500, 2000]
    assert [round(level.cost, 1) for level in levels] == [0.0, 0.2, 0.5, 0.0]


def test_few_values_need_a_gap() -> None:
    assert len(levels_of([0.0, 0.02, 0.4, 0.41, 0.39])) == 2
    assert len(levels_of([0.0, 0.02, 0.1, 0.11, 0.12])) == 1
    assert len(levels_of([0.0, 0.4, 0.41, 0.39, 0.4])) == 1
    assert len(levels_of([0.0, 0.02, 0.4, 0.41])) == 1


@pytest.mark.parametrize("count", [5, 6, 8])
def test_few_values_of_usual_noise_rarely_have_one(count: int) -> None:
    random, trials = np.random.default_rng(count), 3000
    assert sum(len(levels_of(random.normal(size=count) * 0.1)) > 1 for _ in range(trials)) <= 0.01 * trials


@pytest.mark.parametrize("count", [10, 16, 32])
def test_critical_values_are_quantiles_over_random_orders(count: int) -> None:
    random, trials = np.random.default_rng(count), 3000
    ranks = np.arange(count) - (count - 1) / 2
    above = sum(_find_extreme_stretch(random.permutation(ranks).tolist())[2] > 1 for _ in range(trials))
    assert above / trials <= 0.01 + 3 * math.sqrt(0.01 / trials)
    assert sorted(_CRITICAL) == [10, 12, 16, 24, 32, 64]


def test_equal_values_share_their_rank() -> None:
    assert _rank([3.0, 1.0, 3.0, 2.0]) == [1.0, -1.5, 1.0, -0.5]


@settings(deadline=None)
@given(st.lists(st.floats(min_value=-700, max_value=700), min_size=1, max_size=200))
def test_levels_cover_any_series(costs: list[float]) -> None:
    levels = find_levels(costs)
    assert (levels[0].start, levels[-1].end) == (0, len(costs))
    assert all(before.end == after.start for before, after in pairwise(levels))
