"""Probabilities as a reader sees them."""

from __future__ import annotations

import pytest

from harness.core.probability import format_probability


@pytest.mark.parametrize(
    ("probability", "expected"),
    [(0.0, "< 1 %"), (0.009, "< 1 %"), (0.01, "1 %"), (0.5, "50 %"), (0.994, "> 99 %"), (1.0, "> 99 %")],
)
def test_no_probability_is_certain_or_impossible(probability: float, expected: str) -> None:
    assert format_probability(probability) == expected
