from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.compare.statistics import launch_statistics, log_ratios, statistics_of
from harness.core.comparison import STATISTICS
from tests.analysis.compare.made_pairs import flat, pair

positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False)


def test_the_figures_are_min_p25_median_mean_and_p90() -> None:
    assert launch_statistics([4.0, 1.0, 2.0, 3.0, 10.0]) == pytest.approx((1.0, 2.0, 3.0, 4.0, 7.6))


def test_the_figures_of_a_rate_are_max_p75_median_mean_and_p10() -> None:
    assert launch_statistics([4.0, 1.0, 2.0, 3.0, 10.0], higher_is_better=True) == pytest.approx(
        (10.0, 4.0, 3.0, 4.0, 1.4)
    )
    assert statistics_of(higher_is_better=True) == ("max", "p75", "median", "mean", "p10")


@given(st.lists(st.floats(min_value=1e-3, max_value=1e3), min_size=21, max_size=21))
def test_percentiles_of_a_rate_mirror_those_of_the_latency(samples: list[float]) -> None:
    """With 21 samples every percentile is one of them, and nothing is interpolated."""
    costs = launch_statistics(samples)
    gains = launch_statistics([1 / sample for sample in samples], higher_is_better=True)
    mirrored = [1 / figure for figure in gains]
    assert (*mirrored[:3], mirrored[4]) == pytest.approx((*costs[:3], costs[4]))


def test_a_single_iteration_is_all_five_figures() -> None:
    assert launch_statistics([7.25]) == (7.25,) * len(STATISTICS)


@given(st.lists(st.floats(min_value=1e-6, max_value=1e6), min_size=1, max_size=40))
def test_percentiles_interpolate_as_in_summaries(samples: list[float]) -> None:
    figures = launch_statistics(samples)
    assert figures[:3] == pytest.approx(np.percentile(samples, [0, 25, 50]))
    assert figures[3:] == pytest.approx((np.mean(samples), np.percentile(samples, 90)))


@given(st.lists(positive, min_size=1, max_size=10))
def test_positive_samples_can_be_compared(samples: list[float]) -> None:
    figures = launch_statistics(samples)
    assert all(0 < figure < math.inf for figure in figures)
    against = pair((0.0,) * 5).model_copy(update={"treatment": figures})
    assert all(math.isfinite(ratio) for ratio in log_ratios(against))


@pytest.mark.parametrize("samples", [[], [1.0, 0.0], [-1.0], [math.nan, 1.0], [1.0, math.inf]])
def test_samples_without_a_ratio_are_refused(samples: list[float]) -> None:
    with pytest.raises(ValueError, match="sample"):
        launch_statistics(samples)


def test_equal_launches_have_a_log_ratio_of_exactly_zero() -> None:
    same = flat([0.0])[0].model_copy(
        update={"control": (0.1, 0.2, 0.3, 0.7, 1.1), "treatment": (0.1, 0.2, 0.3, 0.7, 1.1)}
    )
    assert log_ratios(same) == (0.0,) * len(STATISTICS)


def test_ratios_beyond_the_range_of_doubles_have_a_finite_logarithm() -> None:
    extreme = flat([0.0])[0].model_copy(update={"control": (5e-324,) * 5, "treatment": (1.7e308,) * 5})
    assert log_ratios(extreme) == pytest.approx((math.log(1.7e308) - math.log(5e-324),) * 5)


@pytest.mark.parametrize("bad", [(1.0,) * 4, (1.0, 1.0, 0.0, 1.0, 1.0), (1.0, 1.0, math.nan, 1.0, 1.0)])
def test_a_pair_without_five_ratios_is_refused(bad: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="pair 0"):
        log_ratios(flat([0.0])[0].model_copy(update={"treatment": bad}))
