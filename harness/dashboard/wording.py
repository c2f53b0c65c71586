"""Words and figures that several pages show in the same way."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from harness.core.commit import short_id
from harness.presentation.alarm_headlines import clip
from harness.presentation.numbers import choose_scale, format_number, format_quantity
from harness.store.history import CommitInfo, HistoryPoint

_NAME = 40


def name_commit(commit: CommitInfo | None) -> str:
    """Return the short id of a commit, or the file name of a given program; `no build` where there is none.

    A commit may have been asked for by a name that means another one by now, such as `main` or `HEAD~6`.
    """
    if commit is None or not commit.id:
        return "no build"
    return clip((commit.name if commit.is_given else "") or short_id(commit.id), _NAME)


def format_day(seconds: float) -> str:
    """Format the day of a time in UTC; `no date` beyond the calendar."""
    return format_moment(seconds)[:10] if format_moment(seconds) != _NO_DATE else _NO_DATE


def format_moment(seconds: float) -> str:
    """Format a time in UTC to the minute; `no date` beyond the calendar."""
    try:
        return f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds):%Y-%m-%d %H:%M}"
    except OverflowError:
        return _NO_DATE


def format_range(low: float | None, high: float | None, unit: str) -> str:
    """Format two ends in one unit, `12.1 … 12.5 ms`; an end that is None is unbounded, two are empty."""
    if low is None or high is None:
        ends = "" if low is None and high is None else f"{format_quantity(low, unit) or '-∞'} … "
        return f"{ends}{format_quantity(high, unit) or '∞'}" if ends else ""
    factor, shown = choose_scale(max(abs(low), abs(high)), unit)
    return f"{format_number(factor * low)} … {format_number(factor * high)} {shown}".rstrip()


_NO_DATE = "no date"


def has_figure(point: HistoryPoint) -> bool:
    """Return whether a point has a figure that can be drawn."""
    return point.median is not None and math.isfinite(point.median)
