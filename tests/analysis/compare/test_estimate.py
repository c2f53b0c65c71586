from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.compare.estimate import crossed, interval, limits
from harness.analysis.compare.evidence import EProcess, Refutes
from harness.analysis.compare.statistics import PredictableScale
from tests.analysis.compare.made_pairs import feed_pairs, flat

series = st.lists(st.floats(min_value=-0.1, max_value=0.1), min_size=1, max_size=30)


def scales_of(log_ratios: list[float]) -> list[float]:
    scale, scales = PredictableScale(), []
    for ratio in log_ratios:
        scales.append(scale.next())
        scale.add(ratio)
    return scales


def refuted(refutes: Refutes, effect: float, log_ratios: list[float]) -> bool:
    """Refute with the sequential process instead of with all pairs at once."""
    process = EProcess(refutes, effect, [0])
    for ratio, scale in zip(log_ratios, scales_of(log_ratios), strict=True):
        process.add([ratio], [scale])
    return process.log_largest >= math.log(2 / 0.05)


@settings(max_examples=40)
@given(series, st.floats(min_value=-0.3, max_value=0.3))
def test_values_outside_the_interval_are_the_refuted_ones(log_ratios: list[float], effect: float) -> None:
    low, high = interval(log_ratios, scales_of(log_ratios))
    below, above = refuted(Refutes.AT_MOST, effect, log_ratios), refuted(Refutes.AT_LEAST, effect, log_ratios)
    if below and above:
        assert low is not None
        assert high is not None
        assert low - 1e-5 <= math.expm1(effect) <= high + 1e-5
        return
    if low is None or math.expm1(effect) > low + 1e-5:
        assert not below
    if high is None or math.expm1(effect) < high - 1e-5:
        assert not above


@settings(max_examples=40)
@given(st.lists(st.floats(min_value=-0.02, max_value=0.02), min_size=8, max_size=30))
def test_the_interval_never_widens(log_ratios: list[float]) -> None:
    scales = scales_of(log_ratios)
    both = [interval(log_ratios[:count], scales[:count]) for count in range(6, len(log_ratios) + 1)]
    for (low, high), (next_low, next_high) in itertools.pairwise(both):
        assert low is not None
        assert high is not None
        assert next_low is not None
        assert next_high is not None
        assert next_low >= low - 1e-5
        assert next_high <= high + 1e-5


def test_an_interval_needs_six_pairs() -> None:
    assert feed_pairs(flat([0.02] * 5)).interval() == (None, None)
    low, high = feed_pairs(flat([0.02] * 6)).interval()
    assert low is not None
    assert high is not None
    assert low < math.expm1(0.02) < high


def test_the_difference_is_the_median_inside_the_interval() -> None:
    chance = np.random.default_rng(3)
    test = feed_pairs(flat((0.02 + 0.005 * chance.standard_t(3, 41)).tolist()))
    low, high = test.interval()
    difference = test.difference()
    assert low is not None
    assert high is not None
    assert difference is not None
    assert low < difference < high
    assert high - low < 0.01


def test_a_changing_effect_leaves_no_interval() -> None:
    noise = (0.02, -0.02, 0.01, -0.01)
    moved = [(0.05 if index < 10 else -0.05) + noise[index % 4] for index in range(70)]
    scales = scales_of(moved)
    assert all(refuted(refutes, 0.0, moved) for refutes in Refutes)
    assert crossed(*limits(moved, scales))
    assert interval(moved, scales) == (None, None)
