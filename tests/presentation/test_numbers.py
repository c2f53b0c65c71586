"""Numbers as the table shows them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.metric import convert
from harness.presentation.numbers import (
    format_factor,
    format_median,
    format_number,
    format_precision,
    format_quantity,
    format_spread,
)
from tests.display.screens import measured


@given(st.floats(1, 9.9e11), st.sampled_from(["ns", "us", "µs", "ms", "s"]))
def test_a_duration_has_three_digits_in_a_suitable_unit(nanoseconds: float, unit: str) -> None:
    value = convert(nanoseconds, "ns", unit)
    assert value is not None
    digits, shown_unit = format_quantity(value, unit).split(" ")
    shown = float(digits.replace(",", ""))
    assert sum(character.isdigit() for character in digits) == 3
    assert 1 <= shown < 1000
    back = convert(shown, shown_unit, "ns")
    assert back == pytest.approx(nanoseconds, rel=0.00501)


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (999.4, "us", "999 µs"),
        (999.6, "us", "1.00 ms"),
        (9.996, "ms", "10.0 ms"),
        (0.0, "ms", "0 ns"),
        (0.25, "ns", "0.250 ns"),
        (4321.0, "s", "4,320 s"),
        (-1.5, "ms", "-1.50 ms"),
        (31_950_848, "bytes", "30.5 MiB"),
        (512, "bytes", "512 B"),
        (0.71875, "", "0.719"),
        (42.0, "tokens/s", "42 tokens/s"),
        (123_456.7, "img/s", "123,457 img/s"),
        (1.234e-7, "", "1.23e-07"),
        (None, "ms", ""),
    ],
)
def test_quantities(value: float | None, unit: str, shown: str) -> None:
    assert format_quantity(value, unit) == shown


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["ns", "s", "bytes", "", "dB"]))
def test_every_number_is_formatted_compactly(value: float, unit: str) -> None:
    assert 0 < len(format_quantity(value, unit)) < 30


def test_factors_and_counts() -> None:
    assert [format_factor(value) for value in (1.0, 12.345, 0.005031, None)] == ["1.00×", "12.3×", "0.005×", ""]
    assert [format_number(value) for value in (60.0, 1234567.0, None)] == ["60", "1,234,567", ""]


def test_the_spread_is_a_share_of_the_median() -> None:
    assert format_spread(measured("a", 10.0).metrics[0]) == "1.0 %"
    assert format_spread(measured("a", 10.0).metrics[0].model_copy(update={"summary": {"p50": 0.0, "MAD": 0.0}})) == ""


def test_a_mean_is_shown_where_there_is_no_median() -> None:
    metric = measured("a", 10.0).metrics[0].model_copy(update={"summary": {"mean": 2.0}})
    assert format_median(metric) == "mean 2.00 ms"


def test_a_precision_is_no_false_zero() -> None:
    assert [format_precision(each) for each in (None, 0.0, 0.0001, 0.0123, 0.2, 2.0)] == [
        *("", "0.0 %", "< 0.1 %", "1.2 %", "20 %", "> 100 %"),
    ]
