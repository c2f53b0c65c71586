"""From results to the points of the series that a watcher keeps, and from series to what they show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from harness.analysis.trend.changes import read
from harness.analysis.trend.points import Sample, errors, point_of
from harness.core import trend
from harness.core.result import Result
from harness.watch.store import records

_SURE: Final = 3.0
"""Standard errors by which a commit at the other end of a sign must differ from those beyond the change."""


def judge(series: records.Series) -> records.Judgement:
    """Changes of a series as signs, and the newest commit when it stands out alone. Pure."""
    points = tuple(_points(series))
    if not points:
        return records.Judgement()
    key = trend.SeriesKey(benchmark=series.benchmark, device=series.device, metric=series.metric)
    higher = any(placed.point.higher_is_better for placed in series.points)  # equal bytes know no direction
    found = read(trend.Series(key=key, higher_is_better=higher, points=points))
    title = series.points[-1].point.title
    signs = tuple(
        sign
        for change, (first, last) in zip(found.changes, _brackets(found.changes, points), strict=True)
        for sign in _signs(change, key, title, first, last)
    )
    return records.Judgement(signs=signs, again=() if found.suspicion is None else (found.suspicion.commit,))


def identity_of(change: str, key: trend.SeriesKey) -> str:
    """The name of an alarm: short, the same whenever the series is judged."""
    return f"{change}-{key.benchmark[:8]}"


def _points(series: records.Series) -> Iterator[trend.Point]:
    """The points that have a number, with controls that were never watched as old as can be."""
    for placed in series.points:
        point = placed.point
        if point.log_ratio is None:
            continue
        yield trend.Point(
            commit=placed.commit,
            order=placed.position,
            control=point.control,
            control_order=-1 if placed.control_position is None else placed.control_position,
            difference=point.log_ratio,
            error=point.error,
            pairs=point.pairs,
            verdict=point.verdict,
        )


def _brackets(changes: Sequence[trend.Change], points: Sequence[trend.Point]) -> Iterator[tuple[str, str]]:
    """The commits between which each change surely is.

    Where a series changes most is where it most probably changed, but a small step beside noise is easily taken for
    one a few commits away: that the best split is m commits off has a chance of about that of a normal value beyond
    sqrt(m) size / (2 error) (Hinkley, Biometrika 57, 1970). A bracket never reaches into the change beside it.
    """
    error = _error(points)
    orders = {point.commit: point.order for point in points}
    for change in changes:
        orders |= {change.before: change.before_order, change.after: change.after_order}
    commits = sorted(orders, key=orders.__getitem__)
    places = [(commits.index(change.before), commits.index(change.after)) for change in changes]
    ends = [-1, *(place for pair in places for place in pair), len(commits)]
    for number, (change, (before, after)) in enumerate(zip(changes, places, strict=True)):
        more = math.ceil((2 * _SURE * error / abs(math.log1p(change.size))) ** 2)
        first = max(before - more, min(before, ends[2 * number] + (number == 0)))
        last = min(after + more, max(after, ends[2 * number + 3] - (number == len(changes) - 1)))
        yield commits[first], commits[last]


def _error(points: Sequence[trend.Point]) -> float:
    """Usual standard error of the measured points; 0 where none was measured."""
    samples = [
        Sample(point.commit, point.order, point.difference, point.error, point.pairs)
        for point in points
        if point.error is not None
    ]
    return float(np.median(errors(samples))) if samples else 0.0


def _signs(change: trend.Change, key: trend.SeriesKey, title: str, first: str, last: str) -> Iterator[records.Sign]:
    common = {"benchmark": key.benchmark, "device": key.device, "metric": key.metric}
    document = {
        "title": title,
        **change.model_dump(mode="json", include={"size", "low", "high", "score", "seen"}),
    }
    for recovered in change.recovers:
        yield records.Sign(
            **common,
            identity=identity_of(recovered, key),
            kind=change.kind.value,
            first=change.before,
            last=change.after,
            over=True,
            document=document,
        )
    if change.kind is not trend.ChangeKind.RECOVERY:
        yield records.Sign(
            **common,
            identity=identity_of(change.identity, key),
            kind=change.kind.value,
            first=first,
            last=last,
            document=document,
        )


def point_of_result(result: Result, control: str) -> records.Point | None:
    """The point of a series that a result is; None where nothing was compared."""
    comparison, device = result.comparison, result.device
    if comparison is None or device is None or not (result.ok or comparison.identical):
        return None
    measured = point_of(comparison, "", 1, 0)
    return records.Point(
        benchmark=result.benchmark.digest,
        title=f"{result.benchmark.model}/{result.benchmark.identifier}",
        device=device.identity,
        control=control,
        metric=records.ANY_METRIC if comparison.identical else comparison.metric,
        higher_is_better=comparison.higher_is_better,
        verdict=comparison.effective_verdict,
        log_ratio=None if measured is None else measured.difference,
        low=_log(comparison.low),
        high=_log(comparison.high),
        error=None if measured is None else measured.error,
        pairs=len(comparison.pairs),
        result=result.uid,
    )


def _log(relative: float | None) -> float | None:
    return None if relative is None or relative <= -1 else math.log1p(relative)
