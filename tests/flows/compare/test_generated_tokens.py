"""Tokens of both sides of a comparison."""

from __future__ import annotations

from harness.core.verdict import OutputVerdict
from harness.flows.compare.generated_tokens import compare_tokens
from harness.presentation.outputs import describe_outputs


def test_equal_tokens_are_identical() -> None:
    compared = compare_tokens([5, 7, 9], (5, 7, 9))
    assert compared.verdict is OutputVerdict.IDENTICAL
    assert "3 new tokens" in describe_outputs(compared)


def test_the_first_token_that_differs_is_named() -> None:
    compared = compare_tokens([5, 7, 9, 4], [5, 7, 8, 1])
    assert compared.verdict is OutputVerdict.DIFFERENT
    assert describe_outputs(compared).endswith("first at new token 3 of 4, 8 instead of 9")


def test_another_number_of_tokens_is_a_difference() -> None:
    compared = compare_tokens([5, 7, 9], [5, 7])
    assert compared.verdict is OutputVerdict.DIFFERENT
    assert "2 new tokens instead of 3" in describe_outputs(compared)
