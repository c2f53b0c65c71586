"""Quiet hours of a host: over midnight, on some days, several at once."""

from __future__ import annotations

from datetime import datetime

import pytest

from harness.core.errors import UsageError
from harness.lab.quiet_hours import parse_quiet_hours, quiet_until


@pytest.mark.parametrize(
    ("hours", "now", "until"),
    [
        # 2026-11-23 is a Monday
        (["22:00-07:00"], "2026-11-23T21:59:59", None),
        (["22:00-07:00"], "2026-11-23T22:00:00", "2026-11-24T07:00"),
        (["22:00-07:00"], "2026-11-24T06:59:59", "2026-11-24T07:00"),
        (["22:00-07:00"], "2026-11-24T07:00:00", None),
        (["08:00-12:30"], "2026-11-24T12:29:00", "2026-11-24T12:30"),
        (["Sat-Sun 00:00-24:00"], "2026-11-28T10:00", "2026-11-30T00:00"),
        (["Sat-Sun 00:00-24:00"], "2026-11-30T00:00", None),
        (["Fri 22:00-07:00"], "2026-11-28T03:00", "2026-11-28T07:00"),  # they began on Friday
        (["Fri 22:00-07:00"], "2026-11-27T03:00", None),
        (["Sun 22:00-07:00"], "2026-11-23T03:00", "2026-11-23T07:00"),  # over the end of the week
        (["sun-mon,wed 9:00-10:00"], "2026-11-25T09:30", "2026-11-25T10:00"),
        (["sun-mon,wed 9:00-10:00"], "2026-11-24T09:30", None),
        (["22:00-00:00", "00:00-06:00", "06:00-07:00"], "2026-11-23T23:00", "2026-11-24T07:00"),
        ([], "2026-11-23T23:00", None),
    ],
)
def test_quiet_hours_end_when_they_say(hours: list[str], now: str, until: str | None) -> None:
    found = quiet_until(parse_quiet_hours(hours), datetime.fromisoformat(now))
    assert found == (None if until is None else datetime.fromisoformat(until))


@pytest.mark.parametrize(
    "text", ["", "22-07", "22:00", "24:00-07:00", "22:60-07:00", "22:00-24:01", "Funday 22:00-07:00", "Mon- 1:00-2:00x"]
)
def test_what_is_no_quiet_hour_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--quiet-hours"):
        parse_quiet_hours([text])


@pytest.mark.parametrize("hours", [["00:00-24:00"], ["12:00-12:00"], ["00:00-13:00", "13:00-00:00"]])
def test_hours_that_leave_no_time_are_refused(hours: list[str]) -> None:
    with pytest.raises(UsageError, match="no minute of the week"):
        parse_quiet_hours(hours)
