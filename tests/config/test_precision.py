"""`--precision`, which is about medians and about comparisons."""

from __future__ import annotations

import math

import pytest

from harness.commands.from_flags import compare_request, wants_comparison
from harness.config import arguments, flags
from harness.config.flags import CompareFlags
from harness.config.parsing import parse_precision
from harness.core.errors import UsageError

RunFlags = flags.run_flags(arguments.installed_options())


@pytest.mark.parametrize(("text", "precision"), [("0.02", 0.02), (0.005, 0.005), ("1e-9", 1e-9), ("none", math.inf)])
def test_a_precision_is_a_share_or_none(text: object, precision: float) -> None:
    assert parse_precision(text) == precision


@pytest.mark.parametrize("text", ["0", "-1", "nan", "2 %", "", None])
def test_anything_else_is_a_mistake(text: object) -> None:
    with pytest.raises(UsageError, match="no share above 0"):
        parse_precision(text)


@pytest.mark.parametrize(
    ("text", "hint"), [("2", "did you mean 0.02?"), ("1", "did you mean 0.01?"), (0.5e3, "0.02 is 2 %")]
)
def test_a_share_that_was_probably_meant_in_percent_is_refused(text: object, hint: str) -> None:
    with pytest.raises(UsageError, match="below 1") as caught:
        parse_precision(text)
    assert caught.value.hint == hint


def test_infinity_is_any_precision() -> None:
    assert parse_precision("inf") == math.inf


@pytest.mark.parametrize("name", ["margin", "tail_margin"])
def test_so_is_a_margin(name: str) -> None:
    with pytest.raises(UsageError, match=r"below 1\n.*did you mean 0\.02\?"):
        compare_request(RunFlags(), CompareFlags(**{name: 2.0}))  # type: ignore[arg-type]


def test_it_is_no_wish_to_compare() -> None:
    given = RunFlags(precision="0.01")  # type: ignore[call-arg]  # its fields are known at run time only
    assert not wants_comparison(given, CompareFlags())
    assert compare_request(given, CompareFlags()).parameters == {"precision": 0.01}


@pytest.mark.parametrize("given", [RunFlags(), RunFlags(precision="none")])  # type: ignore[call-arg]
def test_comparisons_stop_at_the_verdict_without_it(given: flags.RunFlags) -> None:
    assert "precision" not in compare_request(given, CompareFlags()).parameters
