"""Axes of the picture of a history: places of commits in order, and figures in the unit in which they are read."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from harness.dashboard.wording import has_figure
from harness.presentation.numbers import choose_scale
from harness.store.history import CellHistory, ChangeRow, HistoryPoint
from reporters.document.axis import Axis, fit_axis

_LEFT, _RIGHT, _TOP, _BOTTOM = 100, 10, 30, 30
_INSET: Final = 10
"""Free units beside the first and the last point."""
_LANE: Final = 18
"""Height of the lane of failed results."""
_NARROWEST: Final = 0.04
"""The axis spans at least this share of the level, so that noise looks like noise."""
_RANK: Final = 50
"""The axis holds all but one in so many figures at each end; those beyond are drawn at the edge."""


class HistoryFrame(Struct, frozen=True):
    """Axes and edges of a picture of a history.

    Attributes:
        across: Places of commits.
        along: Figures, multiplied by `factor`.
        factor: What brings figures into `unit`.
        unit: Unit of the labels.
        places: Place of each point: results of one commit in a row share one.
        times: Time of each point, ascending.
        left: Left edge of the grid.
        right: Right edge.
        top: Upper edge.
        bottom: Lower edge, below the lane of failed results.
        lane: Height at which failed results are.
        commits: Place of each commit by its id, the first where it was measured again later.
    """

    across: Axis
    along: Axis
    factor: float
    unit: str
    places: Sequence[int]
    times: Sequence[float]
    left: float
    right: float
    top: float
    bottom: float
    lane: float
    commits: dict[str, int]

    def x(self, number: int) -> float:
        """Return the coordinate of a point by its index."""
        return self.across.place(self.places[number])

    def y(self, value: float) -> float:
        """Return the coordinate of a figure; one that is beyond the picture lies at its edge."""
        return self.along.place(self.factor * value)

    def contains(self, value: float) -> bool:
        """Return whether a figure is inside."""
        return self.along.contains(self.factor * value)

    def x_of_time(self, time: float, *, before: bool = False) -> float:
        """Return the coordinate of the last point up to a time, or of the first from it on."""
        number = bisect_left(self.times, time) if before else bisect_right(self.times, time) - 1
        return self.x(min(max(number, 0), len(self.places) - 1))

    def x_of_change(self, change: ChangeRow) -> float | None:
        """Return the coordinate between the states before and after a change; None where it is not in the picture."""
        after = self.commits.get(change.after.id) if change.after is not None else None
        if after is None:
            if not self.times[0] <= change.time <= self.times[-1]:
                return None
            after = self.places[bisect_left(self.times, change.time)]
        return self.across.place(max(after - 0.5, self.across.low))


def fit_history(history: CellHistory, width: float, height: float) -> HistoryFrame | None:
    """Fit axes to a history; None where no point has a figure."""
    points = history.points
    known = [point.median for point in points if point.median is not None and has_figure(point)]
    if not known:
        return None
    has_failed = len(known) < len(points)
    bottom = height - _BOTTOM
    low, high = _choose_ends(points, known, [end for band in history.bands for end in (band.low, band.high)])
    factor, unit = choose_scale(max(abs(low), abs(high)), history.metric.unit if history.metric is not None else "")
    floor = bottom - (_LANE if has_failed else 0)
    along = fit_axis([factor * low, factor * high], floor, _TOP, padding=0.08)
    places = _count_places(points)
    left, right = float(_LEFT + _INSET), width - _RIGHT - _INSET
    if places[-1] == 0:
        left = right = (left + right) / 2
    return HistoryFrame(
        across=Axis(0, max(places[-1], 1), left, right),
        along=along,
        factor=factor,
        unit=unit,
        places=places,
        times=[point.time for point in points],
        left=_LEFT,
        right=width - _RIGHT,
        top=_TOP,
        bottom=bottom,
        lane=bottom - _LANE / 2 + 1,
        commits=_place_commits(points, places),
    )


def _choose_ends(points: Sequence[HistoryPoint], known: Sequence[float], bands: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis that holds the levels, and intervals as far as they are not much wider."""
    ordered = sorted(known)
    rank = len(ordered) // _RANK
    central = [ordered[rank], ordered[-1 - rank], *bands]
    low, high = min(central), max(central)
    level = max(abs(low), abs(high))
    room = max(high - low, _NARROWEST * level) / 2
    ends = [end for point in points for end in (point.low, point.high) if end is not None and math.isfinite(end)]
    low, high = max(low - room, min([low, *ends])), min(high + room, max([high, *ends]))
    missing = max(_NARROWEST * level - (high - low), 0.0) / 2
    return low - missing, high + missing


def _count_places(points: Sequence[HistoryPoint]) -> list[int]:
    """Return a place for each point; results of one commit in a row share theirs."""
    places = [0]
    for earlier, later in pairwise(points):
        is_same = earlier.commit is not None and later.commit is not None and earlier.commit.id == later.commit.id
        places.append(places[-1] + (not is_same))
    return places


def _place_commits(points: Sequence[HistoryPoint], places: Sequence[int]) -> dict[str, int]:
    commits: dict[str, int] = {}
    for point, place in zip(points, places, strict=True):
        if point.commit is not None:
            commits.setdefault(point.commit.id, place)
    return commits
