"""Limits of the effect on one statistic, on which a search for a culprit relies."""

from __future__ import annotations

import itertools
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.compare.estimate import crossed, limits
from harness.analysis.compare.evidence import EProcess, Refutes
from harness.analysis.compare.statistics import PredictableScale

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
def test_effects_outside_the_limits_are_the_refuted_ones(log_ratios: list[float], effect: float) -> None:
    low, high = limits(log_ratios, scales_of(log_ratios))
    below, above = refuted(Refutes.AT_MOST, effect, log_ratios), refuted(Refutes.AT_LEAST, effect, log_ratios)
    if low is None or effect > low + 1e-5:
        assert not below
    if high is None or effect < high - 1e-5:
        assert not above
    assert not below or (low is not None and effect <= low + 1e-5)
    assert not above or (high is not None and effect >= high - 1e-5)


@settings(max_examples=40)
@given(st.lists(st.floats(min_value=-0.02, max_value=0.02), min_size=8, max_size=30))
def test_limits_come_ever_nearer(log_ratios: list[float]) -> None:
    scales = scales_of(log_ratios)
    both = [limits(log_ratios[:count], scales[:count]) for count in range(6, len(log_ratios) + 1)]
    for (low, high), (next_low, next_high) in itertools.pairwise(both):
        assert low is not None
        assert high is not None
        assert next_low is not None
        assert next_high is not None
        assert next_low >= low - 1e-5
        assert next_high <= high + 1e-5


def test_limits_of_a_changing_effect_cross() -> None:
    noise = (0.02, -0.02, 0.01, -0.01)
    moved = [(0.05 if index < 10 else -0.05) + noise[index % 4] for index in range(70)]
    assert all(refuted(refutes, 0.0, moved) for refutes in Refutes)
    assert crossed(*limits(moved, scales_of(moved)))
