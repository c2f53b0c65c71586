"""From the series that a watcher keeps to what they show, in the words of both."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.trend.changes import read
from harness.core import trend
from harness.watch import records


def judge(series: records.Series) -> records.Judgement:
    """Changes of a series as signs, and the newest commit when it stands out alone. Pure."""
    points = tuple(_points(series))
    if not points:
        return records.Judgement()
    key = trend.SeriesKey(benchmark=series.benchmark, device=series.device, metric=series.metric)
    higher = series.points[-1].point.higher_is_better
    found = read(trend.Series(key=key, higher_is_better=higher, points=points))
    title = series.points[-1].point.title
    signs = tuple(sign for change in found.changes for sign in _signs(change, key, title))
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


def _signs(change: trend.Change, key: trend.SeriesKey, title: str) -> Iterator[records.Sign]:
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
            first=change.before,
            last=change.after,
            document=document,
        )
