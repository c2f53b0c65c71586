"""The part of a series that a picture shows, on one scale, and where the change lies in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from harness.core.alarm import AlarmEvent, AlarmReport
from harness.core.commit import short_id
from harness.core.comparison import GAIN_STATISTICS, STATISTICS, tail_figure
from harness.core.effect import Effect
from harness.core.series import SeriesPoint

MOST: Final = 200
"""Most points of a picture; more cannot be distinguished."""
_BESIDE: Final = 12
"""Points beside a change that show the levels it lies between; farther ones may belong to other changes."""
_FARTHEST: Final = 1e6
"""Relative changes beyond this are drawn as if they were this large."""
_OF_INTERVAL: Final = 1.96
"""Standard errors of a 95 % interval."""
_NEIGHBOURS: Final = 5
"""Points that show the level at a place: enough for a median that one of them does not move."""


class Dot(Struct, frozen=True):
    """A point that has a number, as it is drawn.

    Attributes:
        point: The point.
        change: Relative change to the first control.
        low: Lower end of its interval; None where nothing is excluded.
        high: Upper end.
    """

    point: SeriesPoint
    change: float
    low: float | None
    high: float | None

    def relative_to(self, control: float) -> Dot:
        """Return the dot where its control is at this relative change."""
        ends = [None if end is None else _compound(control, end) for end in (self.low, self.high)]
        return replace(self, change=_compound(control, self.change), low=ends[0], high=ends[1])


class LevelLine(Struct, frozen=True):
    """The median of the points next to the change, on one side of it.

    Attributes:
        first: Place in the history of the first of them.
        last: That of the last.
        change: Relative change to the first control.
    """

    first: int
    last: int
    change: float


class SeriesWindow(Struct, frozen=True):
    """The part of a series that a picture shows.

    Attributes:
        dots: In the order of measurement.
        before: Place in the history of the last point without the change; None where it was not measured.
        after: That of the first point with it.
        culprits: Ids of the culprits that were measured, with their places.
        levels: Before and after the change.
    """

    dots: tuple[Dot, ...]
    before: int | None
    after: int | None
    culprits: tuple[tuple[str, int], ...]
    levels: tuple[LevelLine, ...]

    @property
    def first(self) -> int:
        """The earliest place."""
        return min((dot.point.order for dot in self.dots), default=0)

    @property
    def last(self) -> int:
        """The latest place."""
        return max((dot.point.order for dot in self.dots), default=0)


def choose_window(report: AlarmReport) -> SeriesWindow:
    """Choose the newest points, but never without the change."""
    every = dots(report.series, report.alarm.change.figure)
    candidates = report.alarm.candidates
    after = _place(candidates[-1].commit.id, every) if candidates else None
    before = _place(report.before.id, every)
    if before is None and after is not None:
        before = max((dot.point.order for dot in every if dot.point.order < after), default=None)

    def side(order: int) -> int:
        """Return -1 up to the change, 1 from its end on, 0 within it."""
        if before is not None and order <= before:
            return -1
        return 1 if after is not None and order >= after else 0

    shown = on_one_scale(_around(every, before if before is not None else after), side)
    sides = ([dot for dot in shown if side(dot.point.order) == wanted] for wanted in (-1, 1))
    commits = [commit for culprit in report.alarm.culprits for commit in culprit.commits]
    places = ((commit, _place(commit, shown)) for commit in commits)
    return SeriesWindow(
        dots=shown,
        before=before,
        after=after,
        culprits=tuple((commit, place) for commit, place in places if place is not None),
        levels=() if report.event is AlarmEvent.CLOSED else tuple(_levels(*sides, size=_size_of(report))),
    )


def _size_of(report: AlarmReport) -> float:
    return abs(report.alarm.change.effect.relative_change)


def _levels(before: Sequence[Dot], after: Sequence[Dot], *, size: float) -> Iterator[LevelLine]:
    for nearest_first in (before[: -_BESIDE - 1 : -1], after[:_BESIDE]):
        beside = _at_one_level(nearest_first, size)
        if len(beside) > 1:
            orders = [dot.point.order for dot in beside]
            yield LevelLine(min(orders), max(orders), median(dot.change for dot in beside))


def _at_one_level(dots: Sequence[Dot], size: float) -> Sequence[Dot]:
    """Return the first dots, up to where another change begins: two in a row that differ from them in one direction.

    Args:
        dots: Those on one side of a change, the nearest first.
        size: Size of that change; what differs by less than half of it is noise.
    """
    for number in range(1, len(dots) - 1):
        level = median(dot.change for dot in dots[:number])
        away = [dot.change - level for dot in dots[number : number + 2] if _excludes(dot, level)]
        if len(away) == 2 and (min(away) > size / 2 or max(away) < -size / 2):
            return dots[:number]
    return dots


def _excludes(dot: Dot, level: float) -> bool:
    """Return whether a dot surely is at another level; the same bytes as the control are, without an interval."""
    if dot.low is None and dot.high is None:
        return dot.point.pairs == 0
    return (dot.low is not None and dot.low > level) or (dot.high is not None and dot.high < level)


def _around(every: Sequence[Dot], change: int | None) -> Sequence[Dot]:
    newest = len(every) - MOST
    if newest <= 0:
        return every
    number = next((number for number, dot in enumerate(every) if dot.point.order == change), newest)
    start = max(0, min(newest, number - MOST // 2))
    return every[start : start + MOST]


def _place(commit: str, every: Sequence[Dot]) -> int | None:
    """Return the place of a commit in the history, if it was measured."""
    names = {commit, short_id(commit)}
    return next((dot.point.order for dot in every if dot.point.commit in names), None)


def dots(series: Sequence[SeriesPoint], figure: str = "") -> list[Dot]:
    """Return the points that have a number, each relative to its own control.

    Args:
        series: The points.
        figure: The figure that shows a change; one of the tail is drawn as such, where points have it.
    """
    known = ((point, effect) for point in series if (effect := _effect_in(point, figure)) is not None)
    return [
        Dot(point, effect.relative_change, effect.low_relative_change, effect.high_relative_change)
        for point, effect in known
    ]


def _effect_in(point: SeriesPoint, figure: str) -> Effect | None:
    """Return the difference of a point in a figure of the tail; what its comparison states in any other."""
    if not tail_figure(figure) or not point.figures:
        return point.effect
    names = STATISTICS if figure in STATISTICS else GAIN_STATISTICS
    log_ratio, error = point.figures[names.index(figure)].log_ratio, point.figures[names.index(figure)].standard_error
    reach = _OF_INTERVAL * (error or 0.0)
    return Effect(log_ratio=log_ratio, low_log_ratio=log_ratio - reach, high_log_ratio=log_ratio + reach)


def on_one_scale(measured: Sequence[Dot], side: Callable[[int], int]) -> tuple[Dot, ...]:
    """Return the dots relative to the first control.

    Another control is at the level of the commits around it, so that it does not look like a change.

    Args:
        measured: In the order of measurement, each relative to its own control.
        side: For each place in the history its side of the change: commits of another side say nothing of a control.
    """
    placed: list[Dot] = []
    controls: dict[str, float] = {}
    for dot in measured:
        name = dot.point.control
        if name not in controls:
            controls[name] = _level_at(name, placed, side) if placed else 0.0
        placed.append(dot.relative_to(controls[name]))
    return tuple(placed)


def _level_at(commit: str, placed: Sequence[Dot], side: Callable[[int], int]) -> float:
    """Return the level of the series at a commit, or the present level when that was not measured itself."""
    place = next((dot.point.order for dot in placed if dot.point.commit == commit), placed[-1].point.order)
    alike = [dot for dot in placed if side(dot.point.order) == side(place)]
    nearest = sorted(alike, key=lambda dot: abs(dot.point.order - place))[:_NEIGHBOURS]
    return median(dot.change for dot in nearest)


def _compound(control: float, change: float) -> float:
    near = max(-_FARTHEST, min(_FARTHEST, change))
    return max(-_FARTHEST, min(_FARTHEST, (1 + control) * (1 + near) - 1))
