"""Generations that programs print, compared."""

from __future__ import annotations

import pytest

from frameworks.observations.collector import describe_text, describe_tokens
from harness.core.errors import BenchmarkFailed
from harness.core.metric import Observation
from harness.core.verdict import OutputVerdict
from harness.flows.compare.printed_generation import GenerationText, compare_generations, find_generation
from harness.presentation.outputs import describe_outputs


def tokens(*numbers: int) -> GenerationText:
    return GenerationText("new token", describe_tokens(numbers))


def text(content: str) -> GenerationText:
    return GenerationText("character", describe_text(content, 20))


@pytest.mark.parametrize(
    ("control", "treatment", "words"),
    [
        (tokens(5, 7, 9), tokens(5, 7, 9), "3 new tokens"),
        (tokens(*range(100)), tokens(*range(100)), "100 new tokens"),
        (text("a b"), text("a b"), "3 characters"),
        (text("x" * 30), text("x" * 30), "30 characters"),
    ],
)
def test_equal_generations_are_identical(control: GenerationText, treatment: GenerationText, words: str) -> None:
    compared = compare_generations(control, treatment)
    assert compared.verdict is OutputVerdict.IDENTICAL
    assert words in describe_outputs(compared)


@pytest.mark.parametrize(
    ("control", "treatment", "words"),
    [
        (tokens(5, 7, 9, 4), tokens(5, 7, 8, 1), "first at new token 3 of 4, 8 instead of 9"),
        (tokens(5, 7, 9), tokens(5, 7), "first at new token 3 of 3, or later, 2 new tokens there"),
        (tokens(*range(100)), tokens(*range(99), 7), "first at new token 65 of 100, or later, 100 new tokens there"),
        (text("sky is blue"), text("sky is grey"), "first at character 8 of 11, g instead of b"),
        (text("x" * 30), text("x" * 29 + "y"), "first at character 21 of 30, or later, 30 characters there"),
    ],
)
def test_the_first_part_that_differs_is_named(control: GenerationText, treatment: GenerationText, words: str) -> None:
    compared = compare_generations(control, treatment)
    assert compared.verdict is OutputVerdict.DIFFERENT
    assert describe_outputs(compared).endswith(words)


def test_tokens_and_a_text_cannot_be_compared() -> None:
    with pytest.raises(BenchmarkFailed, match="the control prints each new token, and the treatment each character"):
        compare_generations(tokens(1), text("a"))


def test_tokens_go_before_a_text() -> None:
    both = [Observation(type="LLM", metric=name, info=name) for name in ("text", "tokens")]
    assert find_generation(both) == GenerationText("new token", "tokens")
    assert find_generation(both[:1]) == GenerationText("character", "text")
    assert find_generation([]) is None
