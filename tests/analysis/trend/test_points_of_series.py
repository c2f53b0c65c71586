"""From comparisons to points, and the errors of points."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.analysis.trend.points import series_point
from harness.analysis.trend.samples import Array, standard_errors
from harness.core.build import BuildInfo
from harness.core.comparison import Comparison, Pair
from harness.core.effect import Effect
from harness.core.metric import Direction, MetricInfo
from harness.core.series import SeriesPoint
from harness.core.verdict import Verdict
from harness.testing.results import ok_result
from tests.analysis.compare.made_pairs import PARAMETERS, flat


def comparison(pairs: list[Pair], *, identical: bool = False) -> Comparison:
    return Comparison(
        control=BuildInfo(source="git:/src", commit="c7"),
        metric="NET latency",
        parameters=PARAMETERS,
        pairs=tuple(pairs),
        verdict=Verdict.NO_CHANGE,
        identical=identical,
    )


def point_of(compared: Comparison) -> SeriesPoint | None:
    result = ok_result().model_copy(update={"comparison": compared})
    return series_point(result, "c9", 9, control="c7", control_order=7)


def test_a_point_is_the_median_of_the_pairs() -> None:
    point = point_of(comparison(flat([0.01, 0.03, 0.02, 0.5])))
    assert point is not None
    assert point.effect is not None
    assert point.effect.log_ratio == pytest.approx(0.025)
    assert (point.commit, point.order, point.control, point.control_order) == ("c9", 9, "c7", 7)
    assert point.pairs == 4
    assert point.standard_error is not None


def test_a_point_has_the_five_figures() -> None:
    tail = [
        pair.model_copy(update={"treatment": (*pair.control[:4], 1.2 * pair.control[4])}) for pair in flat([0.0] * 8)
    ]
    point = point_of(comparison(tail))
    assert point is not None
    assert [figure.log_ratio for figure in point.figures] == pytest.approx([0.0] * 4 + [np.log(1.2)])
    assert all(figure.standard_error is not None for figure in point.figures)
    assert point.figure_effects == point.figures


def test_the_effect_of_a_point_is_what_the_comparison_says() -> None:
    stated = {"difference": 0.021, "low": 0.01, "high": 0.03}
    compared = comparison(flat([0.01, 0.03, 0.02, 0.5])).model_copy(update=stated)
    point = point_of(compared)
    assert point is not None
    assert point.effect == compared.effect


def test_more_pairs_make_a_point_more_certain() -> None:
    few, many = (point_of(comparison(flat([-0.01, -0.005, 0.0, 0.005, 0.01] * count))) for count in (4, 32))
    assert few is not None
    assert many is not None
    assert few.standard_error is not None
    assert many.standard_error == pytest.approx(few.standard_error / 8**0.5, rel=0.1)


def test_a_comparison_without_pairs_is_a_point_without_log_ratio() -> None:
    point = point_of(comparison([]))
    assert point is not None
    assert (point.effect, point.standard_error, point.pairs) == (None, None, 0)


def test_a_result_without_a_comparison_gives_no_point() -> None:
    assert series_point(ok_result(), "c9", 9, control="c7", control_order=7) is None


def test_a_point_has_the_metric_of_its_comparison() -> None:
    speed = {"metric": "LLM speed", "unit": "tokens/s", "higher_is_better": True}
    point = point_of(comparison(flat([0.01] * 4)).model_copy(update=speed))
    assert point is not None
    assert point.metric == MetricInfo(name="LLM speed", unit="tokens/s", direction=Direction.HIGHER)


def test_identical_builds_are_a_point_at_zero() -> None:
    point = point_of(comparison([], identical=True))
    assert point is not None
    assert point.effect == Effect(log_ratio=0.0, low_log_ratio=0.0, high_log_ratio=0.0)
    assert (point.metric, point.standard_error, point.verdict) == (None, None, Verdict.NO_CHANGE)


def errors_of(levels: list[float], stated: float | None, pairs: int = 10) -> Array:
    count = len(levels)
    return standard_errors(
        np.array(levels), np.full(count, math.nan if stated is None else stated), np.full(count, pairs)
    )


def test_errors_are_inflated_when_neighbours_differ_more() -> None:
    noise = (np.random.default_rng(2).normal(size=100) * 0.01).tolist()
    assert errors_of(noise, 0.01) == pytest.approx(np.full(100, 0.01), rel=0.2)
    assert errors_of(noise, 0.002)[0] == pytest.approx(0.01, rel=0.2)


def test_a_step_does_not_inflate_errors() -> None:
    level = [0.0, 0.001] * 20
    errors = errors_of([*level, *(0.5 + deviation for deviation in level)], 0.002)
    assert errors == pytest.approx(np.full(80, 0.002))


def test_a_large_step_among_the_first_points_hardly_inflates_errors() -> None:
    assert errors_of([0.0, 0.66, 0.64], 0.002)[0] < 0.006


def test_pairs_that_agree_by_chance_are_not_exact() -> None:
    stated = np.array([0.01] * 9 + [1e-6])
    assert standard_errors(np.zeros(10), stated, np.full(10, 10))[-1] == pytest.approx(0.01)


def test_errors_are_positive_without_stated_errors() -> None:
    for count in (1, 2, 3):
        assert (errors_of([0.0] * count, None, 0) > 0).all()
