"""Times of day for people."""

from __future__ import annotations

import pytest

from harness.presentation.times import format_time


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1_760_000_000.9, "2025-10-09 08:53"),
        (-1.0, "1969-12-31 23:59"),
        (253_402_300_799.0, "9999-12-31 23:59"),
        (253_402_300_800.0, ""),
        (1e300, ""),
        (None, ""),
    ],
)
def test_a_time_is_shown_in_utc_and_one_of_no_calendar_is_not(seconds: float | None, text: str) -> None:
    assert format_time(seconds) == text
