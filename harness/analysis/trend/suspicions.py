"""Regressions that one comparison proved and that a series does not show: they are verified before more points come.

A series takes two points or more to show a change, and many where it is small beside the noise of a point. The
comparison of a single commit, which may take a hundred pairs and looks at five figures together, may know earlier.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from harness.analysis.trend.progress import CommitPlace, Suspicion
from harness.analysis.trend.samples import Stretch
from harness.analysis.trend.segmentation import DetectionThresholds
from harness.core.metric import Direction
from harness.core.series import SeriesPoint
from harness.core.verdict import Verdict

_EXPLAINED: Final = 3.0
"""Standard errors within which the level that the series has already explains a regression."""

_LEAST_SCORE: Final = 1.5
"""Standard errors by which the figure must be worse of which the size counts."""


def find_suspicion(
    point: SeriesPoint,
    identity: str,
    stretch: Stretch,
    *,
    offsets: Sequence[float],
    earlier: Sequence[Suspicion],
    thresholds: DetectionThresholds,
) -> Suspicion | None:
    """Return the suspicion that the newest point raises.

    A regression against the control is explained where the series is known to be that much worse than the control, or
    where an earlier suspicion of the same size lasts. One that is small in all figures is none: builds of the same code
    are not equally fast.

    Args:
        point: The newest point.
        identity: Identity of a suspicion with this point.
        stretch: Samples since the newest change, the newest point last.
        offsets: Level of the control in each figure.
        earlier: Suspicions since the newest change.
        thresholds: Thresholds of detection.
    """
    if point.verdict is not Verdict.REGRESSION or point.metric is None:
        return None
    worse = -1 if point.metric.direction is Direction.HIGHER else 1
    best: tuple[float, int, float, float] | None = None
    for figure, offset in enumerate(offsets):
        distance = stretch.distance_of_newest(figure)
        if distance is None:
            continue
        away, error = distance
        score = worse * away / error
        if worse * away < thresholds.smallest_log_ratio or score < _LEAST_SCORE:
            continue
        level = stretch.tracks[figure].between(stretch.first, stretch.end - 1).level
        known = 0.0 if level is None else worse * (level - offset)
        if known >= thresholds.smallest_log_ratio and score < _EXPLAINED:
            continue
        if best is None or score > best[0]:
            best = score, figure, away, error
    if best is None or any(_explains(suspicion, *best[1:]) for suspicion in earlier):
        return None
    _, figure, away, error = best
    newest = stretch.samples[-1]
    before = next((sample for sample in reversed(stretch.samples) if sample.order < newest.order), stretch.samples[0])
    last_without = _last_surely_without(stretch, figure, worse, offsets[figure])
    return Suspicion(
        identity=identity,
        place=CommitPlace(commit=newest.commit, order=newest.order),
        figure=figure,
        before=CommitPlace(commit=before.commit, order=before.order),
        last_without=last_without.commit,
        log_ratio=away,
        error=error,
        covers=tuple(other.identity for other in earlier if other.place.order > last_without.order),
    )


def _explains(suspicion: Suspicion, figure: int, away: float, error: float) -> bool:
    """Return whether a suspicion that lasts explains a later point."""
    if not suspicion.lasts:
        return False
    larger = abs(away) - abs(suspicion.log_ratio)
    return suspicion.figure != figure or larger < _EXPLAINED * math.hypot(error, suspicion.error)


def _last_surely_without(stretch: Stretch, figure: int, worse: int, control_level: float) -> CommitPlace:
    """Return the last commit that is surely better than the newest; the first of the stretch where none is.

    What is the same bytes as the control is surely better, for the newest is proven to be worse than that.
    """
    track, first = stretch.tracks[figure], stretch.samples[0]
    newest, error = float(track.levels[-1]), float(track.errors[-1])
    for place in range(track.numbers.size - 2, -1, -1):
        apart = worse * (newest - float(track.levels[place]))
        is_control = bool(track.is_exact[place]) and float(track.levels[place]) == control_level
        if is_control or apart >= _EXPLAINED * math.hypot(error, float(track.errors[place])):
            sample = stretch.sample(int(track.numbers[place]))
            if sample.order < stretch.samples[-1].order:
                return CommitPlace(commit=sample.commit, order=sample.order)
    return CommitPlace(commit=first.commit, order=first.order)
