"""Query parameters: selections, parts of lists, and times as seconds, dates or commits."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from fastapi import Query

from harness.server.answers import BodyProblem, RequestRefused
from harness.store.history import HistoryReader, Page, Period, Selection

_MOST: Final = 50
_CHARACTERS: Final = 300
_LATEST_S: Final = 1e11

Words = Annotated[list[Annotated[str, Query(max_length=_CHARACTERS)]], Query(max_length=_MOST)]
"""A condition that may be given several times."""

TimeText = Annotated[str, Query(max_length=_CHARACTERS, description="Unix seconds, a date (UTC) or a commit")]
"""A time."""


def select_in_api(
    *,
    model: Annotated[Words, Query(description="Names of models")] = [],  # noqa: B006 - FastAPI copies it
    backend: Annotated[Words, Query(description="Names of backends")] = [],  # noqa: B006
    device: Annotated[Words, Query(description="Identities of devices")] = [],  # noqa: B006
    framework: Annotated[Words, Query(description="Names of frameworks")] = [],  # noqa: B006
    category: Annotated[Words, Query(description="Categories of reports")] = [],  # noqa: B006
    text: Annotated[str, Query(max_length=_CHARACTERS, description="Part of a name")] = "",
) -> Selection:
    """Return the selection of a request to the API."""
    return Selection(
        models=_given(model),
        backends=_given(backend),
        devices=_given(device),
        frameworks=_given(framework),
        categories=_given(category),
        text=text.strip(),
    )


def select_in_page(
    *,
    models: Words = [],  # noqa: B006 - FastAPI copies it
    backends: Words = [],  # noqa: B006
    devices: Words = [],  # noqa: B006
    frameworks: Words = [],  # noqa: B006
    categories: Words = [],  # noqa: B006
    text: Annotated[str, Query(max_length=_CHARACTERS)] = "",
) -> Selection:
    """Return the selection of a page, as its links and forms name it."""
    return Selection(
        models=_given(models),
        backends=_given(backends),
        devices=_given(devices),
        frameworks=_given(frameworks),
        categories=_given(categories),
        text=text.strip(),
    )


def choose_part(
    limit: Annotated[int, Query(ge=1, le=1000, description="Most rows")] = 100,
    offset: Annotated[int, Query(ge=0, le=10**9, description="Rows to leave out")] = 0,
) -> Page:
    """Return which part of a list is asked for."""
    return Page(limit=limit, offset=offset)


def read_period(history: HistoryReader, start: str, end: str) -> Period:
    """Return a period whose ends are texts; a date as its end means the end of that day.

    Raises:
        RequestRefused: A text is none of seconds, a date and a commit of the store.
    """
    return Period(
        start=read_time(history, start, "since", is_end=False), end=read_time(history, end, "until", is_end=True)
    )


def read_time(history: HistoryReader, text: str, name: str, *, is_end: bool) -> float | None:
    """Return Unix seconds for a text; None for an empty one.

    Args:
        history: Finds commits.
        text: Unix seconds, a date or time (UTC unless it says otherwise), or a commit.
        name: Name of the parameter, for messages.
        is_end: Whether a date means its last second.

    Raises:
        RequestRefused: It is none of these.
    """
    words = text.strip()
    if not words:
        return None
    time = _parse_number(words)
    if time is None:
        time = _parse_date(words, is_end=is_end)
    if time is None:
        row = history.commit(words)
        if row is not None:
            time = row.commit.time if row.commit.time is not None else row.measured
    if time is None or abs(time) > _LATEST_S:
        raise RequestRefused(
            422,
            f"{name} is no time",
            hint="give Unix seconds, a date such as 2026-11-20, or a commit that has results",
            problems=[BodyProblem(pointer=f"?{name}", message="expected seconds, a date or a commit")],
        )
    return time


def _parse_number(text: str) -> float | None:
    """Return seconds; None for what may be a date or a commit: a hash can consist of digits."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and abs(number) <= _LATEST_S and len(text) < 20 else None


def _parse_date(text: str, *, is_end: bool) -> float | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    zoned = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    is_day = len(text) == len("2026-11-20")
    try:
        return (zoned + timedelta(days=1, microseconds=-1)).timestamp() if is_end and is_day else zoned.timestamp()
    except OverflowError:
        return None


def _given(words: list[str]) -> tuple[str, ...]:
    """Leave out empty texts: fields of a form that were left open."""
    return tuple(dict.fromkeys(word for word in words if word))
