"""Periods that a reader chooses: by dates, by commits, by presets, or by a number of results."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from harness.core.errors import UsageError
from harness.dashboard.links import Site
from harness.dashboard.wording import format_moment
from harness.store.history import HistoryReader, Period, Selection

_DAY: Final = 86400.0
_PRESETS: Final = (("1 day", 1), ("7 days", 7), ("30 days", 30), ("a year", 365))
_LONGEST: Final = 200
"""Most characters of a date or commit."""
_DATE: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?))?Z?")
_SECONDS: Final = re.compile(r"-?\d{9,11}(\.\d+)?")
"""Unix seconds, as links write them; shorter numbers may be the beginning of a commit's id."""


@dataclass(frozen=True, slots=True)
class Preset:
    """Period that a link offers."""

    text: str
    href: str
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class PeriodForm:
    """Form that asks for a period.

    Attributes:
        action: Address that answers it.
        start: Beginning as it was given.
        end: End.
        limit: Most results; 0 where a view has no limit.
        presets: Periods as links.
        hidden: Further parameters that stay as they are.
    """

    action: str
    start: str
    end: str
    limit: int = 0
    presets: tuple[Preset, ...] = ()
    hidden: tuple[tuple[str, str], ...] = ()


def resolve_period(reader: HistoryReader, start: str, end: str) -> Period:
    """Return the period between two dates or commits, as forms and links give them; empty texts leave it open.

    A date without a time means all of that day, in UTC.

    Raises:
        UsageError: A text is neither a date nor a commit that the store knows, or the end is before the beginning.
    """
    first, last = _resolve(reader, start, is_end=False), _resolve(reader, end, is_end=True)
    if first is not None and last is not None and last < first:
        raise UsageError(
            f"the period ends before it begins: {format_moment(first)} to {format_moment(last)}",
            hint="exchange the two",
        )
    return Period(start=first, end=last)


def format_period(period: Period) -> str:
    """Say which period it is: `from 2026-01-01 00:00 to 2026-01-31 23:59`; `all time` without ends."""
    parts = [
        f"from {format_moment(period.start)}" if period.start is not None else "",
        f"to {format_moment(period.end)}" if period.end is not None else "",
    ]
    return " ".join(filter(None, parts)) or "all time"


def offer_periods(site: Site, period: Period, selection: Selection) -> PeriodForm:
    """Return the form of the page of changes, with presets that end with the newest measurement."""
    links, newest = site.links, site.options.last
    presets = []
    if site.live and newest is not None:
        for text, days in _PRESETS:
            since = Period(start=float(math.floor(newest - days * _DAY)))
            presets.append(Preset(text, links.changes(since, selection), period == since))
    everything = Preset("all time", links.changes(None, selection), period == Period())
    conditions = selection.model_dump(exclude_defaults=True)
    hidden = tuple(
        (name, each)
        for name, value in conditions.items()
        for each in (value if isinstance(value, tuple | list) else (value,))
    )
    start, end = format_ends(period)
    return PeriodForm(links.changes(), start, end, presets=(*presets, everything), hidden=hidden)


def format_ends(period: Period) -> tuple[str, str]:
    """Return both ends as a form shows them, so that it asks for the same again."""
    start, end = period.start, period.end
    return "" if start is None else format_moment(start), "" if end is None else format_moment(end)


def _resolve(reader: HistoryReader, text: str, *, is_end: bool) -> float | None:
    shown = text.strip()
    if not shown:
        return None
    if len(shown) > _LONGEST:
        raise UsageError("a date or a commit is not as long as this", hint="give a date such as 2026-01-31")
    if _SECONDS.fullmatch(shown):
        return float(shown)
    if match := _DATE.fullmatch(shown):
        return _read_date(shown, match[1], match[2], is_end=is_end)
    row = reader.commit(shown)
    if row is None or row.commit.time is None:
        raise UsageError(
            f"{shown} is neither a date nor a commit with a time that this store knows",
            hint="give a date such as 2026-01-31, a date with a time, or the beginning of a commit's id",
        )
    return row.commit.time


def _read_date(text: str, day: str, clock: str | None, *, is_end: bool) -> float:
    try:
        moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}").replace(tzinfo=UTC)
        if is_end:
            moment += timedelta(days=1) if clock is None else timedelta(minutes=1)
        seconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text} is no date", hint="give a date such as 2026-01-31") from error
    return seconds - 1 if is_end else seconds
