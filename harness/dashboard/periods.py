"""Periods that a reader chooses: by dates, by commits, by presets, or by a number of results."""

from __future__ import annotations

import math
from typing import Final

from msgspec import Struct

from harness.dashboard.links import Site
from harness.dashboard.wording import format_moment
from harness.store.history import Period, Selection

_DAY: Final = 86400.0
_PRESETS: Final = (("1 day", 1), ("7 days", 7), ("30 days", 30), ("a year", 365))
_NEAR: Final = 61.0
"""Forms show minutes."""


class Preset(Struct, frozen=True):
    """Period that a link offers."""

    text: str
    href: str
    is_current: bool = False


class PeriodForm(Struct, frozen=True):
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
            presets.append(Preset(text, links.changes(since, selection), _is_near(period, since)))
        everything = links.changes(None, selection)
        everything += f"{'&' if '?' in everything else '?'}start="  # without any, a server shows the last month
        presets.append(Preset("all time", everything, period == Period()))
    conditions = selection.model_dump(exclude_defaults=True)
    hidden = tuple(
        (name, each)
        for name, value in conditions.items()
        for each in (value if isinstance(value, tuple | list) else (value,))
    )
    start, end = format_ends(period)
    return PeriodForm(links.changes(), start, end, presets=tuple(presets), hidden=hidden)


def _is_near(first: Period, second: Period) -> bool:
    """Return whether two periods without an end begin in the same minute."""
    if first.end is not None or first.start is None or second.start is None:
        return False
    return abs(first.start - second.start) < _NEAR


def format_ends(period: Period) -> tuple[str, str]:
    """Return both ends as a form shows them, so that it asks for the same again."""
    start, end = period.start, period.end
    return "" if start is None else format_moment(start), "" if end is None else format_moment(end)
