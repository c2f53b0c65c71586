"""What benchmarks conclude from pairs."""

from __future__ import annotations

import pytest

from tests.benchmarks.figures import FEWEST_PAIRS, RatioOfPairs


@pytest.mark.parametrize(
    ("ratio", "holds"),
    [
        (RatioOfPairs(1.0, 0.995, 1.009, 9), True),
        (RatioOfPairs(1.03, 1.02, 1.04, 9), False),
        (RatioOfPairs(0.97, 0.96, 0.98, 9), False),
        (RatioOfPairs(1.0, 0.98, 1.005, 9), None),
        (RatioOfPairs(1.01, 0.9, 1.2, 9), None),
    ],
)
def test_claim_holds_fails_or_cannot_be_told(ratio: RatioOfPairs, holds: bool | None) -> None:
    assert ratio.holds(0.01) is holds


def test_interval_lies_between_two_of_the_ratios() -> None:
    ratio = RatioOfPairs.of([(100.0 + place, 100.0) for place in range(15)])
    assert (ratio.median, ratio.pairs) == (1.07, 15)
    assert 1.0 < ratio.low < ratio.median < ratio.high < 1.14


def test_too_few_pairs_have_no_interval() -> None:
    with pytest.raises(AssertionError):
        RatioOfPairs.of([(1.0, 1.0)] * (FEWEST_PAIRS - 1))
