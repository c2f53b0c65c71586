"""From comparisons to points, and the errors of points."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.trend.points import Sample, errors, point_of
from harness.core.build import BuildInfo
from harness.core.comparison import Comparison, Pair, Verdict
from harness.core.trend import Point
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


def test_a_point_is_the_median_of_the_pairs() -> None:
    point = point_of(comparison(flat([0.01, 0.03, 0.02, 0.5])), "c9", 9, 7)
    assert point is not None
    assert point.difference == pytest.approx(0.025)
    assert (point.commit, point.order, point.control, point.control_order) == ("c9", 9, "c7", 7)
    assert point.pairs == 4
    assert point.error is not None


def test_more_pairs_make_a_point_more_certain() -> None:
    few, many = (point_of(comparison(flat([-0.01, -0.005, 0.0, 0.005, 0.01] * count)), "c9", 9, 7) for count in (4, 32))
    assert few is not None
    assert many is not None
    assert few.error is not None
    assert many.error == pytest.approx(few.error / 8**0.5, rel=0.1)


def test_what_was_not_measured_is_no_point() -> None:
    assert point_of(comparison([]), "c9", 9, 7) is None


def test_the_same_bytes_are_a_point_at_zero() -> None:
    point = point_of(comparison([], identical=True), "c9", 9, 7)
    assert point == Point(
        commit="c9", order=9, control="c7", control_order=7, difference=0.0, verdict=Verdict.NO_CHANGE
    )


def samples(levels: list[float], stated: float | None, pairs: int = 10) -> list[Sample]:
    return [Sample(f"c{order}", order, level, stated, pairs) for order, level in enumerate(levels)]


def test_stated_errors_are_stretched_when_neighbours_differ_by_more() -> None:
    noise = (np.random.default_rng(2).normal(size=100) * 0.01).tolist()
    assert errors(samples(noise, 0.01)) == pytest.approx([0.01] * 100, rel=0.2)
    assert errors(samples(noise, 0.002))[0] == pytest.approx(0.01, rel=0.2)


def test_a_step_does_not_stretch_them() -> None:
    level = [0.0, 0.001] * 20
    assert errors(samples([*level, *(0.5 + one for one in level)], 0.002)) == pytest.approx([0.002] * 80)


def test_pairs_that_happen_to_agree_are_not_exact() -> None:
    lucky = [*samples([0.0] * 9, 0.01), Sample("c9", 9, 0.0, 1e-6, 10)]
    assert errors(lucky)[-1] == pytest.approx(0.01)


def test_errors_are_above_zero_without_any_statement() -> None:
    for count in (1, 2, 3):
        assert (errors(samples([0.0] * count, None, 0)) > 0).all()
