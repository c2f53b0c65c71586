"""Changes that a series shows: detected point by point, then classified and placed between commits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from harness.analysis.trend.points import PointLevel, standard_errors
from harness.analysis.trend.reader import DetectedChange, SeriesReader
from harness.analysis.trend.segmentation import Sensitivity
from harness.core.change import Change, ChangeKind, Trend
from harness.core.effect import Effect
from harness.core.metric import Direction, MetricInfo
from harness.core.series import Series, SeriesKey, SeriesPoint

_OF_INTERVAL: Final = 1.96
"""Standard errors of a 95 % interval."""

_LEFT: Final = 0.25
"""Part of a change that may be left when it counts as made good."""

_OF_BRACKET: Final = 3.0
"""Standard errors by which a commit at an end of a bracket must differ from those beyond the change."""


class TrendReader:
    """Reader of a series that grows, point by point.

    A series that grew shows the same changes as before, with the same identities, and perhaps new ones.

    Args:
        key: Identity of the series.
        sensitivity: Thresholds of detection.
    """

    def __init__(self, key: SeriesKey, sensitivity: Sensitivity | None = None) -> None:
        self._reader = SeriesReader(key, sensitivity or Sensitivity())
        self._key, self._title, self._metric = key, key.benchmark, MetricInfo(name=key.metric)
        self._measured: list[tuple[SeriesPoint, float]] = []

    def add(self, point: SeriesPoint) -> None:
        """Read one more point; one without a number is passed over.

        Raises:
            ValueError: It is older in the history than the one before it.
        """
        self._title, self._metric = point.title, point.metric or self._metric
        if point.effect is not None:
            self._measured.append((point, point.effect.log_ratio))
            self._reader.add(point, point.effect.log_ratio)

    def trend(self) -> Trend:
        """Return what the points so far show."""
        reader = self._reader
        brackets = _brackets(reader.changes, self._measured)
        return Trend(
            level_log_ratio=reader.level(),
            changes=tuple(
                _change(detected, kind, recovers, bracket, (self._key, self._title, self._metric))
                for (detected, kind, recovers), bracket in zip(_classified(reader, self._metric), brackets, strict=True)
            ),
            outlier=reader.outlier(),
        )


def find_changes(series: Series, sensitivity: Sensitivity | None = None) -> Trend:
    """Find what a series shows. Pure.

    Args:
        series: Points in the order of the history; those without a number are passed over.
        sensitivity: Thresholds of detection.

    Raises:
        ValueError: A point is older in the history than the one before it.
    """
    reader = TrendReader(series.key, sensitivity)
    for point in series.points:
        reader.add(point)
    return reader.trend()


def _classified(
    reader: SeriesReader, metric: MetricInfo
) -> Iterator[tuple[DetectedChange, ChangeKind, Sequence[DetectedChange]]]:
    """Each change with its kind, and the earlier changes that it makes good."""
    worse = -1 if metric.direction is Direction.HIGHER else 1
    unresolved: list[DetectedChange] = []
    for detected in reader.changes:
        if worse * detected.shape.log_ratio > 0:
            yield detected, ChangeKind.DRIFT if detected.shape.is_drift else ChangeKind.STEP, ()
            unresolved.append(detected)
        else:
            recovered = [earlier for earlier in unresolved if _is_made_good(earlier, detected, worse)]
            unresolved = [earlier for earlier in unresolved if earlier not in recovered]
            yield detected, ChangeKind.RECOVERY if recovered else ChangeKind.IMPROVEMENT, recovered


def _is_made_good(earlier: DetectedChange, detected: DetectedChange, worse: int) -> bool:
    """Return whether the level is again what it was before an earlier change for the worse, or better."""
    left = worse * (detected.shape.old + detected.shape.log_ratio - earlier.shape.old)
    return left <= _LEFT * abs(earlier.shape.log_ratio)


def _change(
    detected: DetectedChange,
    kind: ChangeKind,
    recovers: Sequence[DetectedChange],
    bracket: tuple[str, str],
    series: tuple[SeriesKey, str, MetricInfo],
) -> Change:
    key, title, metric = series
    log_ratio, reach = detected.shape.log_ratio, _OF_INTERVAL * detected.shape.error
    last_without, first_with = bracket
    return Change(
        identity=detected.identity,
        benchmark=key.benchmark,
        title=title,
        device=key.device,
        metric=metric,
        kind=kind,
        before=detected.before.commit,
        before_order=detected.before.order,
        after=detected.after.commit,
        after_order=detected.after.order,
        last_without=last_without,
        first_with=first_with,
        effect=Effect(log_ratio=log_ratio, low_log_ratio=log_ratio - reach, high_log_ratio=log_ratio + reach),
        score=detected.score,
        detected_with=detected.detected_with,
        recovers=tuple(earlier.identity for earlier in recovers),
    )


def _brackets(
    changes: Sequence[DetectedChange], measured: Sequence[tuple[SeriesPoint, float]]
) -> Iterator[tuple[str, str]]:
    """Yield the commits between which each change surely is.

    The place where a series changes most is the likeliest, but a small step beside noise is easily taken for one a few
    commits away: that the best split is m commits off has a chance of about that of a normal value beyond
    sqrt(m) size / (2 error) (Hinkley, Biometrika 57, 1970). A bracket never reaches into the change beside it.
    """
    error = _usual_error(measured)
    orders = {point.commit: point.order for point, _ in measured}
    for change in changes:
        orders |= {change.before.commit: change.before.order, change.after.commit: change.after.order}
    commits = sorted(orders, key=orders.__getitem__)
    places = [(commits.index(change.before.commit), commits.index(change.after.commit)) for change in changes]
    ends = [-1, *(place for pair in places for place in pair), len(commits)]
    for number, (change, (before, after)) in enumerate(zip(changes, places, strict=True)):
        margin = math.ceil((2 * _OF_BRACKET * error / abs(change.shape.log_ratio)) ** 2)
        first = max(before - margin, min(before, ends[2 * number] + (number == 0)))
        last = min(after + margin, max(after, ends[2 * number + 3] - (number == len(changes) - 1)))
        yield commits[first], commits[last]


def _usual_error(measured: Sequence[tuple[SeriesPoint, float]]) -> float:
    """Return the median standard error of the measured points; 0 where none was measured."""
    samples = [
        PointLevel(point.commit, point.order, log_ratio, point.standard_error, point.pairs)
        for point, log_ratio in measured
        if point.standard_error is not None
    ]
    return float(np.median(standard_errors(samples))) if samples else 0.0
