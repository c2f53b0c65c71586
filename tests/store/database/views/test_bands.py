"""Bands of histories: their formula, and where they end."""

from __future__ import annotations

import math

import pytest

from harness.store.database.views.bands import MOST_BANDS, make_bands


def test_a_stretch_has_median_and_mad_of_logarithms() -> None:
    points = [(float(time), math.exp(value)) for time, value in enumerate((1.0, 1.1, 0.9, 1.2, 9.0))]
    (band,) = make_bands(points, (), 10)
    extent = 2 * 1.4826 * 0.1
    assert (band.start, band.end, band.count) == (0, 4, 5)
    assert band.middle == pytest.approx(math.exp(1.1))
    assert [band.low, band.high] == pytest.approx([math.exp(1.1 - extent), math.exp(1.1 + extent)])


def test_values_that_are_not_positive_have_a_band_of_their_own_scale() -> None:
    (band,) = make_bands([(0, -1.0), (1, 0.0), (2, 1.0), (3, 2.0), (4, 3.0)], (), 10)
    assert [band.low, band.middle, band.high] == pytest.approx([1 - 2.9652, 1.0, 1 + 2.9652])


def test_a_proven_change_ends_a_stretch_and_two_points_have_no_band() -> None:
    points = [(float(time), 10.0 if time < 4 else 20.0) for time in range(10)]
    bands = make_bands(points, (4.0, 8.0), 100)
    assert [(band.start, band.end, band.middle) for band in bands] == [(0, 3, 10), (4, 7, 20)]


def test_more_points_than_places_become_few_parts_that_end_at_changes() -> None:
    points = [(float(time), 100.0 + time % 21 + (50 if time >= 3333 else 0)) for time in range(10_000)]
    bands = make_bands(points, (3333.0,), 500)
    assert len(bands) <= MOST_BANDS + 2
    assert sum(band.count for band in bands) == 10_000
    assert any(band.start == 3333 for band in bands)
    first = bands[1]
    assert first.low == pytest.approx(101, abs=0.5)
    assert first.high == pytest.approx(119, abs=0.5)


def test_equal_values_have_a_band_without_extent_and_no_points_have_none() -> None:
    (band,) = make_bands([(0.0, 0.1)] * 3, (), 10)
    assert band.low <= band.middle <= band.high
    assert band.high == pytest.approx(band.low)
    assert make_bands([], (1.0,), 10) == ()


@pytest.mark.parametrize("places", [2, 10])
@pytest.mark.parametrize("values", [(1e308, 1.7e308, 1.5e308, -1.7e308, 1.0, 2.0, 3.0), (1e-300, 1.0, 1e300)])
def test_figures_at_the_ends_of_the_range_have_finite_bands(values: tuple[float, ...], places: int) -> None:
    (band,) = make_bands([(float(time), value) for time, value in enumerate(values)], (), places)
    assert band.low <= band.middle <= band.high
    assert band.count == 3
