"""The part of a series that a picture shows, and where the change lies in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from harness.core.alarm import AlarmEvent, AlarmReport
from harness.core.commit import Commit
from reporters.alarms.dots import Dot, dots, on_one_scale

MOST: Final = 200
"""Points that a picture shows; more are not told apart."""
_BESIDE: Final = 12
"""So many points beside a change show the levels that it lies between; farther ones may belong to other changes."""


@dataclass(frozen=True, slots=True)
class Level:
    """The median of the points next to the change, on one side of it.

    Attributes:
        first: Place in the history of the first of them.
        last: That of the last.
        difference: Relative to the first control.
    """

    first: int
    last: int
    difference: float


@dataclass(frozen=True, slots=True)
class Window:
    """What a picture shows.

    Attributes:
        dots: In the order of measurement.
        before: Place in the history of the last point without the change; None where it was not measured.
        after: That of the first point with it.
        culprits: The culprits that were measured, with their places.
        levels: Before and after the change.
    """

    dots: tuple[Dot, ...]
    before: int | None
    after: int | None
    culprits: tuple[tuple[Commit, int], ...]
    levels: tuple[Level, ...]

    @property
    def first(self) -> int:
        """The earliest place."""
        return min((dot.point.order for dot in self.dots), default=0)

    @property
    def last(self) -> int:
        """The latest place."""
        return max((dot.point.order for dot in self.dots), default=0)


def window(report: AlarmReport) -> Window:
    """The newest points, but never without the change."""
    found = dots(report.series)
    after = _place(report.candidates[-1].commit, found) if report.candidates else None
    before = _place(report.before, found)
    if before is None and after is not None:
        before = max((dot.point.order for dot in found if dot.point.order < after), default=None)

    def side(order: int) -> int:
        """-1 up to the change, 1 from its end on, 0 within it."""
        if before is not None and order <= before:
            return -1
        return 1 if after is not None and order >= after else 0

    shown = on_one_scale(_around(found, before if before is not None else after), side)
    sides = ([dot for dot in shown if side(dot.point.order) == one] for one in (-1, 1))
    places = ((commit, _place(commit, shown)) for culprit in report.culprits for commit in culprit.commits)
    return Window(
        dots=shown,
        before=before,
        after=after,
        culprits=tuple((commit, place) for commit, place in places if place is not None),
        levels=() if report.event is AlarmEvent.CLOSED else tuple(_levels(*sides)),
    )


def _levels(before: Sequence[Dot], after: Sequence[Dot]) -> Iterator[Level]:
    for beside in (before[-_BESIDE:], after[:_BESIDE]):
        if len(beside) > 1:
            orders = [dot.point.order for dot in beside]
            yield Level(min(orders), max(orders), median(dot.difference for dot in beside))


def _around(found: Sequence[Dot], change: int | None) -> Sequence[Dot]:
    newest = len(found) - MOST
    if newest <= 0:
        return found
    number = next((number for number, dot in enumerate(found) if dot.point.order == change), newest)
    start = max(0, min(newest, number - MOST // 2))
    return found[start : start + MOST]


def _place(commit: Commit, found: Sequence[Dot]) -> int | None:
    """Where a commit was measured, if it was."""
    names = {commit.id, commit.short}
    return next((dot.point.order for dot in found if dot.point.commit in names), None)
