"""Axes and their ticks, for any values."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.core.metric import convert
from harness.presentation.numbers import choose_scale, format_quantity
from harness.presentation.sorting import sort_number
from reporters.document.axis import Axis, fit_axis

ANY = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.lists(ANY, min_size=1, max_size=5)
POSITIVE = st.lists(st.floats(1e-9, 1e15), min_size=1, max_size=5)


@given(VALUES, st.integers(3, 8), st.booleans())
def test_linear_ticks_are_round_evenly_spaced_and_distinct(values: list[float], about: int, signed: bool) -> None:
    axis = fit_axis(values, 0, 100, padding=0.05)
    ticks = axis.ticks(about, signed=signed)
    assert about / 2 - 1 <= len(ticks) <= 2 * about + 1
    places = [axis.place(tick.value) for tick in ticks]
    assert all(0 <= place <= 100 for place in places)
    assert places == sorted(places)
    gaps = [after - before for before, after in pairwise(places)]
    assert gaps == pytest.approx([gaps[0]] * len(gaps) if gaps else [], rel=1e-3, abs=1e-6)
    assert len({tick.label for tick in ticks}) == len(ticks)
    assert all(len(tick.label) <= 24 for tick in ticks)


@given(POSITIVE, st.integers(3, 8))
def test_logarithmic_ticks_lie_within_the_axis_and_are_distinct(values: list[float], about: int) -> None:
    axis = fit_axis(values, 0, 100, logarithmic=True, padding=0.05)
    ticks = axis.ticks(about)
    assume(max(values) > 5 * min(values))
    assert 1 <= len(ticks) <= 3 * about
    assert all(axis.low <= tick.value <= axis.high for tick in ticks)
    assert len({tick.label for tick in ticks}) == len(ticks)


@given(VALUES, st.booleans())
def test_every_value_lies_between_the_ends_in_its_order(values: list[float], upwards: bool) -> None:
    start, end = (100.0, 0.0) if upwards else (0.0, 100.0)
    axis = fit_axis(values, start, end)
    places = [axis.place(value) for value in sorted(values)]
    assert all(0 <= place <= 100 for place in places)
    assert places == sorted(places, reverse=upwards)


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        (2100.0, ["2,060", "2,080", "2,100", "2,120", "2,140"]),
        (0.41, ["0.405", "0.410", "0.415"]),
        (0.0, ["-0.02", "-0.01", "0", "+0.01", "+0.02"]),
    ],
)
def test_a_single_value_has_an_axis_of_its_size(value: float, labels: list[str]) -> None:
    ticks = fit_axis([value] * 3, 0, 100, padding=0.05).ticks(signed=value == 0)
    assert [tick.label for tick in ticks] == labels


def test_an_axis_spans_a_share_of_its_values() -> None:
    ticks = fit_axis([2099.998, 2100.001], 0, 100, least_span=0.02).ticks(3)
    assert [tick.label for tick in ticks] == ["2,080", "2,090", "2,100", "2,110", "2,120"]


def test_labels_have_the_digits_that_distinguish_them() -> None:
    assert [tick.label for tick in Axis(4.0, 4.021, 0, 1).ticks(unit="ms")] == [
        "4.000 ms", "4.005 ms", "4.010 ms", "4.015 ms", "4.020 ms"
    ]  # fmt: skip
    assert [tick.label for tick in Axis(-2.1, 2.1, 0, 1).ticks(signed=True)] == ["-2", "-1", "0", "+1", "+2"]
    assert [tick.label for tick in Axis(0, 21e6, 0, 1).ticks()][:3] == ["0", "5e+06", "1.0e+07"]


@given(st.floats(1e-9, 1e9), st.sampled_from(["ns", "us", "ms", "s", "bytes", "J"]))
def test_a_scale_shows_the_unit_of_the_formatted_number(value: float, unit: str) -> None:
    factor, name = choose_scale(value, unit)
    assert format_quantity(value, unit).endswith(f" {name}")
    if (seconds := convert(value, unit, "s")) is not None and name != "ns":
        assert value * factor >= 0.99
        assert seconds > 0


@given(st.floats(1e-8, 1e5), st.sampled_from(["ns", "us", "ms", "s"]))
def test_times_are_sorted_by_their_length(value: float, unit: str) -> None:
    nanoseconds = convert(value, unit, "ns")
    assert nanoseconds is not None
    number = sort_number(format_quantity(value, unit))
    assert number == pytest.approx(nanoseconds, rel=6e-3, abs=1e-14)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", None), ("n/a", None), ("v1.2", None), ("2.50×", 2.5), ("+1.99 %", 1.99), ("-0.45 … +1.25 %", -0.45),
        ("-∞ … +1.25 %", float("-inf")), ("1,809", 1809), ("mean 4.00 ms", 4e6), ("1.00 MiB", 2**20), ("< 0.01", 0.01),
        ("4e8", 4e8), ("exact", None), ("-3.33 %*", -3.33),
    ],
)  # fmt: skip
def test_formatted_numbers_are_read_back(text: str, number: float | None) -> None:
    assert sort_number(text) == number
