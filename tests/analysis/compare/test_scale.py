from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.compare.statistics import PRIOR_SCALE, PredictableScale, median_deviation

values = st.lists(st.floats(min_value=-1e3, max_value=1e3) | st.integers(-3, 3).map(float), min_size=1, max_size=40)


@given(values)
def test_the_median_deviation_matches_its_definition(given_values: list[float]) -> None:
    center = statistics.median(given_values)
    expected = statistics.median(abs(value - center) for value in given_values)
    assert median_deviation(sorted(given_values)) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_the_scale_of_the_first_two_pairs_is_assumed() -> None:
    scale = PredictableScale()
    assert scale.next() == PRIOR_SCALE
    scale.add(5.0)
    assert scale.next() == pytest.approx(PRIOR_SCALE * 2 / 3)


def test_later_scales_depend_on_the_pairs_alone() -> None:
    scale = PredictableScale()
    for value in (-0.03, 0.01, 0.02, 0.05):
        scale.add(value)
    assert scale.next() == pytest.approx((2 * 0.01 + 4 * 1.4826 * 0.02) / 6)
    assert scale.median() == pytest.approx(0.015)


@given(values)
def test_the_scale_is_always_positive(given_values: list[float]) -> None:
    scale = PredictableScale()
    for value in given_values:
        scale.add(value)
    assert scale.next() > 0
