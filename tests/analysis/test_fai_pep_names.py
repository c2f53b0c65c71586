from __future__ import annotations

import pytest

from harness.analysis.summary import control_summary, diff_summary, summarise

CONTROL = summarise([1.0, 2.0, 3.0, 4.0, 10.0], ["p99.9", "p0.1"])
TREATMENT = summarise([2.0, 3.0, 4.0, 5.0, 12.0], ["p99.9", "p25"])


def test_percentiles_are_mirrored_and_other_statistics_subtracted() -> None:
    differences = diff_summary(TREATMENT, CONTROL)
    assert differences["p50"] == 1.0
    assert differences["p0"] == 2.0 - 10.0
    assert differences["p100"] == 12.0 - 1.0
    assert differences["p90"] == pytest.approx((TREATMENT["p90"] or 0) - (CONTROL["p10"] or 0))
    assert differences["mean"] == pytest.approx(1.2)
    assert differences["MAD"] == 0.0
    assert differences.keys() >= {"stdev", "cv"}


def test_fractional_percentiles_are_mirrored() -> None:
    assert diff_summary(TREATMENT, CONTROL)["p99.9"] == pytest.approx(
        (TREATMENT["p99.9"] or 0) - (CONTROL["p0.1"] or 0)
    )


def test_statistics_without_a_counterpart_are_left_out() -> None:
    assert diff_summary(TREATMENT, CONTROL).keys().isdisjoint({"min", "max", "n", "p25"})
    assert control_summary(CONTROL).keys() == CONTROL.keys() - {"min", "max", "n"}


def test_differences_are_rounded_to_fifteen_digits() -> None:
    assert diff_summary({"mean": 0.3}, {"mean": 0.1}) == {"mean": 0.2}


def test_undefined_statistics_stay_undefined() -> None:
    assert diff_summary({"cv": None, "mean": 1.0}, {"cv": 0.1, "mean": None}) == {"cv": None, "mean": None}
