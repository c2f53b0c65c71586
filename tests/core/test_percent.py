"""Shares and relative changes in percent."""

from __future__ import annotations

import pytest

from harness.core.percent import in_percent


@pytest.mark.parametrize(
    ("share", "decimals", "signed", "text"),
    [
        (0.286, 0, False, "29 %"),
        (0.286, 1, True, "+28.6 %"),
        (-0.0249, 2, True, "-2.49 %"),
        (0.0, 1, True, "+0.0 %"),
        (1.5, 0, False, "150 %"),
    ],
)
def test_a_space_stands_before_the_sign(share: float, decimals: int, signed: bool, text: str) -> None:
    assert in_percent(share, decimals, signed=signed) == text
