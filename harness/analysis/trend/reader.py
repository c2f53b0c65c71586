"""A series read point by point, as it grew: detected changes stay, and later points refine their shape.

Each point has five figures, and a change in any of them is a change of the series: the place where it happened, and its
shape, come from the figure that showed it. Work and memory for a point do not depend on how many were before it.
"""

from __future__ import annotations

import hashlib
import math
from typing import Final

from harness.analysis.trend.fitting import allowed_starts, fit_change
from harness.analysis.trend.progress import ChangeShape, DetectedChange, ReaderProgress, Suspicion
from harness.analysis.trend.samples import Sample, Stretch
from harness.analysis.trend.segmentation import DetectionThresholds, find_change_point
from harness.analysis.trend.suspicions import find_suspicion
from harness.core.change import Outlier
from harness.core.comparison import ESTIMATED_STATISTIC, STATISTICS
from harness.core.series import SeriesKey, SeriesPoint
from harness.core.verdict import Verdict

_WINDOW: Final = 200
"""Newest points among which a change is looked for: with more, the errors of builds count and not those of pairs."""

_SETTLED: Final = 2
"""Samples since the last change from which on the newest can stand out."""

_FITTED: Final = 64
"""Points before a change, and after it, that its shape is taken from."""

_KEPT: Final = _WINDOW + _FITTED
"""Newest samples that are kept."""

_CHANGES: Final = 64
"""Newest changes that are kept."""

_FIGURES: Final = range(len(STATISTICS))


class OutOfOrder(ValueError):
    """A point is older in the history than the one before it in the series."""


class SeriesReader:
    """Reader of a series. Each point is read with nothing but those before it.

    Args:
        key: Identity of the series.
        thresholds: Thresholds of detection.
        progress: What was known after the points before.

    Attributes:
        changes: The newest changes detected so far, oldest first.
        metric: The metric, as the newest point that was measured has it.
        title: Name of the benchmark, as the newest point has it.
        suspicion: A regression that the comparison of the newest point proved, and that the series does not show.
    """

    def __init__(self, key: SeriesKey, thresholds: DetectionThresholds, progress: ReaderProgress | None = None) -> None:
        progress = progress or ReaderProgress()
        self._key = key
        self._thresholds = thresholds
        self._kept = Stretch.of(progress.samples, progress.first)
        self._begin = progress.begin
        self._control = progress.control
        self._offsets = progress.offsets
        self._suspicions = list(progress.suspicions)
        self.changes = list(progress.changes)
        self.metric, self.title = progress.metric, progress.title
        self.suspicion: Suspicion | None = None

    @property
    def progress(self) -> ReaderProgress:
        """Return what another reader needs to go on."""
        return ReaderProgress(
            first=self._kept.first,
            samples=tuple(self._kept.samples),
            begin=self._begin,
            control=self._control,
            offsets=self._offsets,
            changes=tuple(self.changes),
            suspicions=tuple(self._suspicions),
            metric=self.metric,
            title=self.title,
        )

    def add(self, point: SeriesPoint) -> None:
        """Read one more point; one without a number is passed over.

        Raises:
            OutOfOrder: It is older in the history than the one before it.
        """
        self.suspicion = None
        self.metric, self.title = point.metric or self.metric, point.title
        effects = point.figure_effects
        if not any(effects):
            return
        samples = self._kept.samples
        if samples and point.order < samples[-1].order:
            raise OutOfOrder(f"{point.commit} is older than {samples[-1].commit}, which is before it in the series")
        if point.control != self._control:
            self._change_control(point)
        levels = tuple(
            None if effect is None else offset + effect.log_ratio
            for effect, offset in zip(effects, self._offsets, strict=True)
        )
        errors = tuple(None if effect is None else effect.standard_error for effect in effects)
        self._append(Sample(commit=point.commit, order=point.order, levels=levels, errors=errors, pairs=point.pairs))
        if not self._detect(point):
            if self._standing_out() is None:
                self._refine()
            self._suspect(point)

    def level(self) -> float | None:
        """Return the level of the newest samples in the better quartile, as a log ratio to the newest control."""
        level = self._newest_levels()[ESTIMATED_STATISTIC]
        return None if level is None else level - self._offsets[ESTIMATED_STATISTIC]

    def outlier(self) -> Outlier | None:
        """Return the newest sample, if it is far from the level before it and was not measured again yet."""
        standing_out = self._standing_out()
        if standing_out is None or self._kept.samples[-2].commit == self._kept.samples[-1].commit:
            return None
        figure, away, score = standing_out
        return Outlier(commit=self._kept.samples[-1].commit, log_ratio=away, score=score, figure=STATISTICS[figure])

    def _append(self, sample: Sample) -> None:
        samples = (*self._kept.samples, sample)
        surplus = max(0, len(samples) - _KEPT)
        self._kept = Stretch.of(samples[surplus:], self._kept.first + surplus)
        self._begin = max(self._begin, self._kept.first)

    def _change_control(self, point: SeriesPoint) -> None:
        """Go on with another control: its level is that of the series at its place, worth one measurement.

        In a figure that no earlier point has, levels begin anew with it.
        """
        newest = self._newest_levels()
        levels = tuple(0.0 if level is None else level for level in newest)
        control_order = -1 if point.control_order is None else point.control_order
        since = (
            math.fsum(
                (change.shape.log_ratios[figure] or 0.0) - change.shape.passed_at(control_order, figure)
                for change in self.changes
            )
            for figure in _FIGURES
        )
        self._offsets = tuple(
            0.0 if known is None else level - later for known, level, later in zip(newest, levels, since, strict=True)
        )
        order = max((control_order, *(sample.order for sample in self._kept.samples[-1:])))
        sample = Sample(
            commit=point.control,
            order=min(order, point.order),
            levels=levels,
            errors=(None,) * len(STATISTICS),
            is_later_control=self._control is not None,
        )
        self._control = point.control
        self._append(sample)
        self._begin = self._kept.end - 1

    def _newest_levels(self) -> tuple[float | None, ...]:
        return tuple(track.between(self._begin).level for track in self._kept.tracks)

    def _standing_out(self) -> tuple[int, float, float] | None:
        """Return whether the newest sample may be the first of a change: then it does not belong to the one before.

        Returns:
            The figure in which it is farthest from the level before it, the distance as a log ratio, and in errors.
        """
        stretch = self._kept.since(self._begin)
        if len(stretch.samples) < _SETTLED:
            return None
        farthest = None
        for figure in _FIGURES:
            away, error = stretch.distance_of_newest(figure) or (0.0, math.inf)
            score = abs(away) / error
            is_far = abs(away) >= self._thresholds.smallest_log_ratio and score >= self._thresholds.outlier_score
            if is_far and (farthest is None or score > farthest[2]):
                farthest = figure, away, score
        return farthest

    def _detect(self, point: SeriesPoint) -> bool:
        """Return whether a level has changed since the last change, and keep the change."""
        begin = max(self._begin, self._kept.end - _WINDOW)
        change_points = []
        for figure, track in enumerate(self._kept.tracks):
            part = track.between(begin)
            if part.numbers.size > _SETTLED:
                thresholds = self._thresholds.of_figure(figure)
                change_point = find_change_point(
                    part.levels, part.errors, part.is_exact, allowed_starts(part), thresholds
                )
                if change_point is not None:
                    change_points.append((figure, int(part.numbers[change_point.index]), change_point.score))
        if not change_points:
            return False
        figure, number, score = max(
            change_points, key=lambda change_point: (change_point[0] == ESTIMATED_STATISTIC, change_point[2])
        )
        first, before = max(begin, number - _FITTED), self.changes[-1] if self.changes else None
        if before is not None and number - before.shape.end <= _FITTED:
            # neighbouring steps share samples: each is fitted with those up to the other
            shape = self._fit(figure, (first, self._kept.end), len(self.changes))
            self._refit(len(self.changes) - 1, shape.start + 1)
            first = max(self.changes[-1].shape.end, number - _FITTED)
        shape = self._fit(figure, (first, self._kept.end), len(self.changes))
        limit = min(shape.before.order, self._order_of(shape.last_without))
        detected = DetectedChange(
            identity=self._identity(point),
            detected_with=point.commit,
            score=score,
            figure=figure,
            shape=shape,
            covers=tuple(other.identity for other in self._suspicions if other.place.order > limit),
        )
        self.changes = [*self.changes, detected][-_CHANGES:]
        self._suspicions = []
        self._begin = shape.end
        return True

    def _refine(self) -> None:
        """Fit the shape of the newest change to the newest sample too, unless it is long past."""
        if not self.changes:
            return
        end = self.changes[-1].shape.end
        if self._begin == end and self._kept.end - end <= _FITTED:
            self._refit(len(self.changes) - 1, self._kept.end)
            self._begin = self.changes[-1].shape.end

    def _refit(self, number: int, end: int) -> None:
        """Fit the shape of a change again, with the samples up to a number, unless some of its own are gone."""
        change = self.changes[number]
        if change.shape.first >= self._kept.first:
            shape = self._fit(change.figure, (change.shape.first, end), number)
            self.changes[number] = change.model_copy(update={"shape": shape})

    def _fit(self, figure: int, window: tuple[int, int], number: int) -> ChangeShape:
        """Fit the shape of the change that is, or becomes, this one in the list."""
        earlier, later = self.changes[:number][-1:], self.changes[number + 1 :][:1]
        limits = (
            earlier[0].shape.after.order if earlier else None,
            later[0].shape.before.order if later else None,
        )
        return fit_change(self._kept, figure, window, limits, self._thresholds)

    def _suspect(self, point: SeriesPoint) -> None:
        """Suspect the newest point of a regression that its comparison proved, unless it is measured again first."""
        if point.verdict is not Verdict.REGRESSION:
            self._suspicions = [suspicion.model_copy(update={"lasts": False}) for suspicion in self._suspicions]
        if self.outlier() is not None:
            return
        self.suspicion = find_suspicion(
            point,
            self._identity(point, "regression"),
            self._kept.since(self._begin),
            offsets=self._offsets,
            earlier=self._suspicions,
            thresholds=self._thresholds,
        )
        if self.suspicion is not None:
            self._suspicions = [*self._suspicions, self.suspicion][-_CHANGES:]

    def _order_of(self, commit: str) -> int:
        return max(sample.order for sample in self._kept.samples if sample.commit == commit)

    def _identity(self, point: SeriesPoint, *kind: str) -> str:
        """Name a change by its series and by the point with which it was detected."""
        again = sum(sample.commit == point.commit for sample in self._kept.samples)
        text = "\n".join((self._key.model_dump_json(), point.control, point.commit, str(again), *kind))
        return f"{hashlib.sha256(text.encode()).hexdigest()[:16]}-{self._key.benchmark[:8]}"
