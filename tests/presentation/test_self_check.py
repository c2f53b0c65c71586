"""Self-checks in words."""

from __future__ import annotations

import pytest

from harness.core.self_check import Disturbance, Rate
from harness.presentation.self_check import (
    build_columns,
    conclude,
    explain_columns,
    format_age,
    is_no_chance,
    list_remedies,
)
from tests.presentation.self_check_samples import CHECK, sensitivity_of


def test_the_verdict_is_one_sentence_with_the_smallest_change() -> None:
    conclusion = conclude(sensitivity_of(CHECK))
    assert conclusion.is_good
    assert conclusion.text == (
        "nothing speaks against verdicts of this machine: changes of 0.84 % can be shown with 100 pairs; "
        "equal programs were told apart in 0 of 12 comparisons"
    )


def test_several_benchmarks_give_a_range() -> None:
    noisier = CHECK.model_copy(update={"detectable": {"0.8": 0.03, "0.9": 0.034, "0.95": 0.04}})
    assert "changes of 0.84 % to 3.4 % can be shown" in conclude(sensitivity_of(CHECK, noisier)).text


def test_a_budget_that_mostly_ends_undecided_is_named() -> None:
    (same, *further) = CHECK.costs
    assert same.change == 0.0
    rarely = CHECK.model_copy(
        update={
            "title": "m/noisy",
            "costs": (same.model_copy(update={"rate": Rate(count=1, trials=100, low=0.0, high=0.05)}), *further),
        }
    )
    text = conclude(sensitivity_of(CHECK, rarely)).text
    assert "with 100 pairs, too few to show that nothing changed in m/noisy (`--pairs` allows more); equal" in text
    assert "nothing changed in 2 of 3 benchmarks" in conclude(sensitivity_of(CHECK, rarely, rarely)).text


def test_a_benchmark_that_shows_nothing_is_no_success() -> None:
    hidden = CHECK.model_copy(update={"detectable": {"0.8": 0.9, "0.9": None, "0.95": None}})
    assert "not even a doubling" in conclude(sensitivity_of(hidden)).text
    assert ">100 %" in [cell.text for column in build_columns([hidden]) for cell in column.cells][5]


@pytest.mark.parametrize(("count", "expected"), [(0, False), (1, False), (3, True)])
def test_false_alarms_beyond_chance_condemn_the_machine(count: int, expected: bool) -> None:
    assert is_no_chance(count, 12) is expected
    check = CHECK.model_copy(update={"told_apart": Rate(count=count, trials=12, low=0.0, high=1.0)})
    conclusion = conclude(sensitivity_of(check))
    assert conclusion.is_good is not expected
    assert ("which may be chance" in conclusion.text) is (count == 1)


def test_one_overwhelming_difference_condemns_the_machine() -> None:
    check = CHECK.model_copy(update={"evidence": 400.0})
    assert not conclude(sensitivity_of(check)).is_good
    assert conclude(sensitivity_of(check, *[CHECK] * 9)).is_good  # among ten benchmarks it may be chance


def test_a_self_check_without_numbers_is_not_good() -> None:
    assert conclude(sensitivity_of()).is_good is False


def test_remedies_come_in_order_with_failures_last() -> None:
    found = Disturbance(kind="heat", size=0.5, message="hot", remedy="wait")
    sensitivity = sensitivity_of(CHECK, disturbances=(found,)).model_copy(update={"failures": ("m/b: crashed",)})
    assert list(list_remedies(sensitivity)) == ["1. hot: wait", "not checked: m/b: crashed"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(5, "just now"), (60, "1 minute ago"), (7300, "2 hours ago"), (3 * 86400, "3 days ago")]
)
def test_an_age_is_in_its_largest_unit(seconds: float, text: str) -> None:
    assert format_age(seconds) == text


def test_only_columns_that_are_shown_are_explained() -> None:
    assert "re-tossed" in "".join(explain_columns([CHECK]))
    assert "re-tossed" not in "".join(explain_columns([CHECK.model_copy(update={"relabelled": None})]))
