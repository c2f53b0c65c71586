from __future__ import annotations

import pytest

from harness.analysis.summary import control_summary, diff_summary, summarise

CONTROL = summarise([1.0, 2.0, 3.0, 4.0, 10.0], ["p99.9", "p0.1"])
TREATMENT = summarise([2.0, 3.0, 4.0, 5.0, 12.0], ["p99.9", "p25"])


def test_percentiles_are_reflected_and_the_others_subtracted() -> None:
    told = diff_summary(TREATMENT, CONTROL)
    assert told["p50"] == 1.0
    assert told["p0"] == 2.0 - 10.0
    assert told["p100"] == 12.0 - 1.0
    assert told["p90"] == pytest.approx((TREATMENT["p90"] or 0) - (CONTROL["p10"] or 0))
    assert told["mean"] == pytest.approx(1.2)
    assert told["MAD"] == 0.0
    assert told.keys() >= {"stdev", "cv"}


def test_fractional_percentiles_find_their_counterpart() -> None:
    assert diff_summary(TREATMENT, CONTROL)["p99.9"] == pytest.approx(
        (TREATMENT["p99.9"] or 0) - (CONTROL["p0.1"] or 0)
    )


def test_what_has_no_counterpart_or_no_name_there_is_left_out() -> None:
    assert diff_summary(TREATMENT, CONTROL).keys().isdisjoint({"min", "max", "n", "p25"})
    assert control_summary(CONTROL).keys() == CONTROL.keys() - {"min", "max", "n"}


def test_differences_are_rounded_to_fifteen_digits() -> None:
    assert diff_summary({"mean": 0.3}, {"mean": 0.1}) == {"mean": 0.2}


def test_the_undefined_stays_undefined() -> None:
    assert diff_summary({"cv": None, "mean": 1.0}, {"cv": 0.1, "mean": None}) == {"cv": None, "mean": None}
