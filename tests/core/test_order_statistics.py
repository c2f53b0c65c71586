from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core.order_statistics import median, median_deviation, quantile

untimed = settings(deadline=None)  # a busy machine is no finding
finite = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=60)
percent = st.floats(min_value=0, max_value=100) | st.sampled_from([0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 99.9, 100.0])


def equal(ours: float, numpys: np.floating) -> bool:
    """Return whether two numbers are the same: beyond the range of doubles both are infinite, or undefined."""
    return ours == float(numpys) or (not math.isfinite(ours) and not math.isfinite(numpys))


@untimed
@given(finite, percent)
def test_quantiles_are_those_of_numpy_to_the_last_bit(samples: list[float], wanted: float) -> None:
    with np.errstate(all="ignore"):
        assert equal(quantile(sorted(samples), wanted / 100), np.percentile(samples, wanted))


@untimed
@given(finite)
def test_medians_and_deviations_are_those_of_numpy_to_the_last_bit(samples: list[float]) -> None:
    with np.errstate(all="ignore"):
        center = np.median(samples)
        assert equal(median(samples), center)
        assert equal(median_deviation(sorted(samples)), np.median(np.abs(np.asarray(samples) - center)))


def test_samples_need_no_order_for_their_median() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median((4.0, 1.0)) == 2.5
