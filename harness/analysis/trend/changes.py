"""Changes that a series shows: detected point by point, then classified and placed between commits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from harness.analysis.compare.statistics import statistics_of
from harness.analysis.trend.progress import VERSION, DetectedChange, ReaderProgress, Suspicion
from harness.analysis.trend.reader import SeriesReader
from harness.analysis.trend.segmentation import DetectionThresholds
from harness.core.change import Change, ChangeKind, Trend
from harness.core.effect import Effect
from harness.core.metric import Direction, MetricInfo
from harness.core.series import Series, SeriesKey, SeriesPoint

_OF_INTERVAL: Final = 1.96
"""Standard errors of a 95 % interval."""

_LEFT: Final = 0.25
"""Part of a change that may be left when the level counts as back."""


class TrendReader:
    """Reader of a series that grows, point by point (`harness.watch.tasks.IncrementalReader`).

    A series that grew shows the same changes as before, with the same identities, and perhaps new ones. Work and memory
    for a point do not depend on how many were read before it.

    Args:
        key: Identity of the series.
        progress: What another reader knew after the points before, as its `progress` said; None before the first.
        thresholds: Thresholds of detection.

    Raises:
        ValueError: The progress is of a harness with other rules: the series must be read from its beginning.
    """

    def __init__(
        self, key: SeriesKey, progress: str | None = None, thresholds: DetectionThresholds | None = None
    ) -> None:
        before = None if progress is None else ReaderProgress.model_validate_json(progress)
        if before is not None and before.version != VERSION:
            raise ValueError(f"the series was read by rules of version {before.version}")
        self._reader = SeriesReader(key, thresholds or DetectionThresholds(), before)
        self._key = key

    @property
    def progress(self) -> str:
        """State that the next reader needs to go on, as JSON."""
        return self._reader.progress.model_dump_json()

    def add(self, point: SeriesPoint) -> None:
        """Read one more point; one without a number is passed over.

        Raises:
            ValueError: It is older in the history than the one before it.
        """
        self._reader.add(point)

    def trend(self) -> Trend:
        """Return what the points so far show."""
        reader = self._reader
        metric = reader.metric or MetricInfo(name=self._key.metric)
        labels = _Labels(self._key, reader.title or self._key.benchmark, metric)
        worse = -1 if metric.direction is Direction.HIGHER else 1
        return Trend(
            level_log_ratio=reader.level(),
            changes=tuple(labels.change(*classified) for classified in _classified(reader.changes, worse)),
            outlier=reader.outlier(),
            suspicion=None if reader.suspicion is None else labels.suspicion(reader.suspicion),
        )


def find_changes(series: Series, thresholds: DetectionThresholds | None = None) -> Trend:
    """Find what a series shows. Pure.

    Args:
        series: Points in the order of the history; those without a number are passed over.
        thresholds: Thresholds of detection.

    Raises:
        ValueError: A point is older in the history than the one before it.
    """
    reader = TrendReader(series.key, thresholds=thresholds)
    for point in series.points:
        reader.add(point)
    return reader.trend()


def _classified(
    changes: Sequence[DetectedChange], worse: int
) -> Iterator[tuple[DetectedChange, ChangeKind, Sequence[DetectedChange]]]:
    """Yield each change with its kind, and the earlier changes whose level it brings back."""
    unresolved: list[DetectedChange] = []
    for detected in changes:
        if worse * detected.log_ratio > 0:
            yield detected, ChangeKind.DRIFT if detected.shape.is_drift else ChangeKind.STEP, ()
            unresolved.append(detected)
        else:
            recovered = [earlier for earlier in unresolved if _is_level_back(earlier, detected, worse)]
            unresolved = [earlier for earlier in unresolved if earlier not in recovered]
            yield detected, ChangeKind.RECOVERY if recovered else ChangeKind.IMPROVEMENT, recovered


def _is_level_back(earlier: DetectedChange, detected: DetectedChange, worse: int) -> bool:
    """Return whether the level is again what it was before an earlier change for the worse, or better."""
    figure = earlier.figure
    before, old, change = earlier.shape.old[figure], detected.shape.old[figure], detected.shape.log_ratios[figure]
    if before is None or old is None or change is None:
        return False
    return worse * (old + change - before) <= _LEFT * abs(earlier.log_ratio)


class _Labels(Struct, frozen=True):
    """Names of what a series is about."""

    key: SeriesKey
    title: str
    metric: MetricInfo

    def change(self, detected: DetectedChange, kind: ChangeKind, recovers: Sequence[DetectedChange]) -> Change:
        shape = detected.shape
        return Change(
            identity=detected.identity,
            benchmark=self.key.benchmark,
            title=self.title,
            device=self.key.device,
            metric=self.metric,
            kind=kind,
            before=shape.before.commit,
            before_order=shape.before.order,
            after=shape.after.commit,
            after_order=shape.after.order,
            last_without=shape.last_without,
            first_with=shape.first_with,
            effect=_effect(detected.log_ratio, shape.error),
            score=detected.score,
            detected_with=detected.detected_with,
            recovers=tuple(earlier.identity for earlier in recovers),
            figure=self._figure(detected.figure),
            covers=detected.covers,
        )

    def suspicion(self, suspicion: Suspicion) -> Change:
        commit = suspicion.place.commit
        return Change(
            identity=suspicion.identity,
            benchmark=self.key.benchmark,
            title=self.title,
            device=self.key.device,
            metric=self.metric,
            kind=ChangeKind.STEP,
            before=suspicion.before.commit,
            before_order=suspicion.before.order,
            after=commit,
            after_order=suspicion.place.order,
            last_without=suspicion.last_without,
            first_with=commit,
            effect=_effect(suspicion.log_ratio, suspicion.error),
            score=abs(suspicion.log_ratio) / suspicion.error,
            detected_with=commit,
            figure=self._figure(suspicion.figure),
            covers=suspicion.covers,
        )

    def _figure(self, place: int) -> str:
        return statistics_of(higher_is_better=self.metric.direction is Direction.HIGHER)[place]


def _effect(log_ratio: float, error: float) -> Effect:
    reach = _OF_INTERVAL * error
    return Effect(log_ratio=log_ratio, low_log_ratio=log_ratio - reach, high_log_ratio=log_ratio + reach)
