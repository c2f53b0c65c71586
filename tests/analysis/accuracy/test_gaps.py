"""Numeric statistics against formulas over whole arrays, and SciPy's cosine distance."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy.spatial.distance import cosine

from harness.analysis.accuracy.gaps import (
    NO_DIFFERENCE,
    ZERO_REFERENCE,
    cosine_shortfall,
    gap_statistics,
    join_gaps,
    measure_gap,
)
from harness.core.evaluation import Statistic

Array = NDArray[Any]
untimed = settings(deadline=None, max_examples=50)
numbers = st.floats(-1e3, 1e3).filter(lambda number: number == 0 or abs(number) > 1e-3)
pairs = st.tuples(st.integers(1, 6), st.integers(1, 8)).flatmap(
    lambda shape: st.tuples(
        arrays.arrays(np.float64, shape, elements=numbers), arrays.arrays(np.float64, shape, elements=numbers)
    )
)


def statistics(reference: Array, other: Array) -> Mapping[str, Statistic]:
    gaps = [measure_gap(*sides) for sides in zip(reference.astype(np.float64), other.astype(np.float64), strict=True)]
    return {statistic.name: statistic for statistic in gap_statistics(gaps)}


def values(reference: Array, other: Array) -> dict[str, float | None]:
    return {name: statistic.value for name, statistic in statistics(reference, other).items()}


def safe_decibels(signal: float, noise: float) -> float | None:
    return 20 * math.log10(signal / noise) if signal and noise else None


@untimed
@given(pairs)
def test_statistics_are_those_of_whole_arrays(pair: tuple[Array, Array]) -> None:
    reference, other = pair
    found, errors = values(reference, other), other - reference
    noise, signal = float(np.linalg.norm(errors)), float(np.linalg.norm(reference))
    assert found["sqnr"] == (pytest.approx(expected) if (expected := safe_decibels(signal, noise)) else expected)
    assert found["relative_l2_error"] == (pytest.approx(noise / signal) if signal else (None if noise else 0.0))
    assert found["max_absolute_error"] == np.max(np.abs(errors))
    assert found["mean_absolute_error"] == pytest.approx(np.mean(np.abs(errors)))
    assert found["l2_error"] == pytest.approx(np.mean(np.linalg.norm(errors, axis=1)))
    scales = np.max(np.abs(reference), axis=1)
    if scales.all():
        assert found["max_relative_error"] == pytest.approx(np.max(np.max(np.abs(errors), axis=1) / scales))


@untimed
@given(pairs)
def test_cosines_are_those_of_scipy(pair: tuple[Array, Array]) -> None:
    kept = [(a, b) for a, b in zip(*pair, strict=True) if a.any() and b.any()]
    if kept:
        found = values(np.array([a for a, _ in kept]), np.array([b for _, b in kept]))
        cosines = [1 - cosine(a, b) for a, b in kept]
        assert found["cosine_similarity"] == pytest.approx(np.mean(cosines), abs=1e-9)
        assert found["cosine_similarity_worst"] == pytest.approx(np.min(cosines), abs=1e-9)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_the_cosine_of_outputs_of_different_sizes(scale: float) -> None:
    reference = np.array([[3.0, 1.0, -2.0]])
    assert values(reference, reference * scale)["cosine_similarity"] == pytest.approx(1, abs=1e-6)


@untimed
@given(pairs, st.randoms(use_true_random=False), st.integers(1, 5))
def test_order_and_chunks_do_not_matter(pair: tuple[Array, Array], chance: random.Random, cuts: int) -> None:
    """An example in pieces, as several outputs, and in another order gives the same figures to 1e-9."""
    reference, other = pair
    order = list(range(len(reference)))
    chance.shuffle(order)
    gaps = [
        join_gaps(
            [
                measure_gap(*sides)
                for sides in zip(
                    np.array_split(reference[index], cuts), np.array_split(other[index], cuts), strict=True
                )
            ]
        )
        for index in order
    ]
    whole = statistics(reference, other)
    for statistic in gap_statistics(gaps):
        if statistic.name == "max_relative_error" and cuts > 1:
            continue  # relative to the largest magnitude of each output
        expected = whole[statistic.name]
        for name in ("value", "low", "high"):
            figure, wanted = getattr(statistic, name), getattr(expected, name)
            assert figure == (wanted if wanted is None else pytest.approx(wanted, rel=1e-9, abs=1e-9))


def test_tiny_angles_are_not_lost() -> None:
    reference = np.array([[1.0, 0.0]])
    other = np.array([[1.0, 1e-9]])
    gap = measure_gap(reference[0], other[0])
    assert cosine_shortfall(gap) == pytest.approx(5e-19)


def test_identical_outputs_have_no_decibels_but_a_reason() -> None:
    ones = np.ones((8, 4))
    found = statistics(ones, ones)
    assert (found["sqnr"].value, found["sqnr"].reason) == (None, NO_DIFFERENCE)
    assert found["sqnr_median"].value is None
    assert found["sqnr_worst"].value is None
    assert found["cosine_similarity"].value == 1.0
    assert found["relative_l2_error"].value == 0.0
    assert found["max_absolute_error"].value == 0.0


def test_some_identical_examples_leave_a_median_without_upper_end() -> None:
    reference = np.ones((9, 4))
    other = reference.copy()
    other[:6] += np.arange(1, 7)[:, None] / 100
    found = statistics(reference, other)
    assert found["sqnr_median"].value == pytest.approx(20 * math.log10(100 / 2))
    assert found["sqnr_median"].high is None
    assert found["sqnr_median"].low is not None
    assert found["sqnr_worst"].value == pytest.approx(20 * math.log10(100 / 6))
    other[:] = reference
    other[0] += 1
    assert statistics(reference, other)["sqnr_median"].reason == "half of the examples show no difference"


def test_a_reference_of_zeros_has_no_relative_figures() -> None:
    found = statistics(np.zeros((3, 2)), np.ones((3, 2)))
    for name in ("sqnr", "relative_l2_error", "max_relative_error", "sqnr_worst"):
        assert (found[name].value, found[name].reason) == (None, ZERO_REFERENCE)
    assert found["cosine_similarity"].value == 0.0
    assert found["mean_absolute_error"].value == 1.0
    assert values(np.zeros((3, 2)), np.zeros((3, 2)))["cosine_similarity"] == 1.0


def test_figures_beyond_the_range_of_doubles_say_so() -> None:
    found = statistics(np.full((2, 2), 1e300), np.full((2, 2), -1e300))
    assert found["sqnr"].value is None
    assert found["sqnr"].reason == "it exceeds the range of 64-bit numbers"
    assert found["max_absolute_error"].value == 2e300


def test_a_published_example() -> None:
    """Halving a signal leaves a noise of a quarter of its energy: 6.02 dB."""
    reference = np.array([[1.0, -1.0, 2.0, 0.5]])
    found = statistics(reference, reference / 2)
    assert found["sqnr"].value == pytest.approx(20 * math.log10(2))
    assert found["relative_l2_error"].value == pytest.approx(0.5)
    assert found["cosine_similarity"].value == pytest.approx(1.0)
    assert found["max_relative_error"].value == pytest.approx(0.5)


def test_intervals_contain_their_values_and_need_two_examples() -> None:
    chance = np.random.default_rng(0)
    reference = chance.normal(size=(40, 10))
    other = reference + 0.1 * chance.normal(size=(40, 10))
    for name, statistic in statistics(reference, other).items():
        if name.startswith("max") or name.endswith("worst"):
            assert statistic.low is None
            assert statistic.high is None
        else:
            assert statistic.low is not None
            assert statistic.value is not None
            assert statistic.high is not None
            assert statistic.low <= statistic.value <= statistic.high, name
    assert all(statistic.low is None for statistic in statistics(reference[:1], other[:1]).values())


def test_no_example_gives_statistics_without_values() -> None:
    assert all(statistic.value is None and statistic.reason for statistic in gap_statistics([]))


def test_outputs_without_elements_show_no_difference() -> None:
    assert statistics(np.zeros((3, 0)), np.zeros((3, 0)))["sqnr"].reason == NO_DIFFERENCE
