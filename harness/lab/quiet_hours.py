"""Hours in which the devices of a host get no jobs, by the local time of that host."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final

from pydantic import Field

from harness.core.errors import UsageError
from harness.core.values import Value

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY_MINUTES: Final = 24 * 60
_WEEK_MINUTES: Final = 7 * _DAY_MINUTES
_HOURS: Final = re.compile(r"(?:(?P<days>[a-z,-]+)\s+)?(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})", re.IGNORECASE)
_HINT: Final = "write 22:00-07:00, or with days: 'Sat-Sun 00:00-24:00', 'Mon,Wed 08:00-12:30'"

Minute = Annotated[int, Field(ge=0, le=_DAY_MINUTES)]


class QuietHours(Value):
    """Hours of some days of the week.

    Attributes:
        days: Days on which they begin; Monday is 0.
        start: First minute of the day.
        end: Minute after the last; not after `start` means that of the next day.
    """

    days: tuple[Annotated[int, Field(ge=0, le=6)], ...] = tuple(range(7))
    start: Minute
    end: Minute

    @property
    def minutes(self) -> int:
        """Length in minutes."""
        return self.end - self.start if self.end > self.start else self.end - self.start + _DAY_MINUTES

    def contains(self, minute: int) -> bool:
        """Return whether a minute of the week is in them."""
        return any((minute - day * _DAY_MINUTES - self.start) % _WEEK_MINUTES < self.minutes for day in self.days)


def parse_quiet_hours(texts: Sequence[str]) -> tuple[QuietHours, ...]:
    """Parse `22:00-07:00` or `Sat-Sun 00:00-24:00`, each over midnight where it ends before it begins.

    Raises:
        UsageError: A text is none, or all of them together leave no minute of the week.
    """
    hours = tuple(map(_parse, texts))
    if all(any(each.contains(minute) for each in hours) for minute in range(_WEEK_MINUTES)):
        raise UsageError("--quiet-hours leave no minute of the week for jobs", hint=_HINT)
    return hours


def quiet_until(hours: Sequence[QuietHours], now: datetime) -> datetime | None:
    """Return when quiet hours end; None where it is none.

    Args:
        hours: The hours.
        now: Local time. Its changes of summer time move the end with the clock on the wall.
    """
    minute = now.weekday() * _DAY_MINUTES + now.hour * 60 + now.minute
    begin = now.replace(second=0, microsecond=0)
    for later in range(_WEEK_MINUTES):
        if not any(each.contains((minute + later) % _WEEK_MINUTES) for each in hours):
            return begin + timedelta(minutes=later) if later else None
    return None


def _parse(text: str) -> QuietHours:
    match = _HOURS.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--quiet-hours {text}: no hours", hint=_HINT)
    start, end = (int(match[place]) * 60 + int(match[place + 1]) for place in (2, 4))
    if int(match[3]) > 59 or int(match[5]) > 59 or not (0 <= start < _DAY_MINUTES and 0 <= end <= _DAY_MINUTES):
        raise UsageError(f"--quiet-hours {text}: no time of a day", hint=_HINT)
    days = tuple(range(7)) if match["days"] is None else _parse_days(match["days"], text)
    return QuietHours(days=days, start=start, end=end)


def _parse_days(words: str, text: str) -> tuple[int, ...]:
    days: dict[int, None] = {}
    for word in words.lower().split(","):
        first, _, last = word.partition("-")
        if first not in _DAYS or (last or first) not in _DAYS:
            raise UsageError(f"--quiet-hours {text}: no day {word}", hint=_HINT)
        begin, end = _DAYS.index(first), _DAYS.index(last or first)
        days.update(dict.fromkeys((begin + step) % 7 for step in range((end - begin) % 7 + 1)))
    return tuple(sorted(days))
