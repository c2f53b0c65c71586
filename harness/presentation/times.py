"""Times of day for people, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime


def to_datetime(seconds: float | None) -> datetime | None:
    """Return a time in UTC; None for none, and for one that no calendar has: clocks can be wrong by anything."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def format_time(seconds: float | None, form: str = "%Y-%m-%d %H:%M") -> str:
    """Format a time; empty where there is none, and for one that no calendar has."""
    moment = to_datetime(seconds)
    return f"{moment:{form}}" if moment is not None else ""
