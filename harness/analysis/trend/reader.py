"""A series read point by point, as it grew: detected changes stay, and later points refine their shape."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.trend.points import Array, PointLevel, standard_errors
from harness.analysis.trend.segmentation import Sensitivity, Shape, best_split, fit_shape
from harness.core.change import Outlier
from harness.core.series import SeriesKey, SeriesPoint

_WINDOW = 200
"""Newest points among which a change is looked for: with more, the errors of builds count and not those of pairs."""

_SETTLED = 2
"""Samples since the last change from which on the newest can stand out."""

_FITTED = 64
"""Points before a change, and after it, that its shape is taken from."""


@dataclass(frozen=True, slots=True)
class DetectedChange:
    """A change with the shape that all points so far give it.

    Attributes:
        identity: Never changes.
        detected_with: The commit with which it was detected.
        score: Its distance in standard errors then.
        first: Number of the first sample that its shape is taken from.
        shape: Its shape, numbered from `first`.
        samples: The samples that its shape was taken from.
    """

    identity: str
    detected_with: str
    score: float
    first: int
    shape: Shape
    samples: tuple[PointLevel, ...]

    @property
    def before(self) -> PointLevel:
        """Last sample at the old level."""
        return self.samples[self.shape.start]

    @property
    def after(self) -> PointLevel:
        """First sample at the new level."""
        return self.samples[self.shape.end]

    def passed_at(self, order: int) -> float:
        """Return how much of it had happened at a place in the history: 0 before it, its whole log ratio behind it."""
        share = (order - self.before.order) / (self.after.order - self.before.order)
        return self.shape.log_ratio * min(1.0, max(0.0, share))


class SeriesReader:
    """Reader of a series. Each point is read with nothing but those before it.

    Args:
        key: Identity of the series.
        sensitivity: Thresholds of detection.

    Attributes:
        changes: The changes detected so far, oldest first.
    """

    def __init__(self, key: SeriesKey, sensitivity: Sensitivity) -> None:
        self._key = key
        self._sensitivity = sensitivity
        self._samples: list[PointLevel] = []
        self._errors: Array = np.empty(0)
        self._begin = 0
        self._control: str | None = None
        self._offset = 0.0
        self.changes: list[DetectedChange] = []

    def add(self, point: SeriesPoint, log_ratio: float) -> None:
        """Read one more point.

        Args:
            point: The point.
            log_ratio: Its log ratio to its control.

        Raises:
            ValueError: It is older in the history than the one before it.
        """
        if self._samples and point.order < (newest := self._samples[-1]).order:
            raise ValueError(f"{point.commit} is older than {newest.commit}, which is before it in the series")
        if point.control != self._control:
            self._change_control(point)
        self._samples.append(
            PointLevel(point.commit, point.order, self._offset + log_ratio, point.standard_error, point.pairs)
        )
        self._errors = standard_errors(self._samples)
        if not self._detect(point) and not self._newest_stands_out():
            self._refine()

    def level(self) -> float | None:
        """Return the level of the newest samples, as a log ratio to the newest control."""
        return self._newest_level() - self._offset if self._samples else None

    def outlier(self) -> Outlier | None:
        """Return the newest sample, if it is far from the level before it and was not measured again yet."""
        if not self._newest_stands_out() or self._samples[-2].commit == self._samples[-1].commit:
            return None
        away, score = self._newest_away()
        return Outlier(commit=self._samples[-1].commit, log_ratio=away, score=score)

    def _change_control(self, point: SeriesPoint) -> None:
        """Go on with another control: its level is that of the series at its place, worth one measurement."""
        now = self._newest_level() if self._samples else 0.0
        control_order = -1 if point.control_order is None else point.control_order
        since = sum(change.shape.log_ratio - change.passed_at(control_order) for change in self.changes)
        self._offset = now - since
        self._control = point.control
        self._begin = len(self._samples)
        order = max((control_order, *(sample.order for sample in self._samples[-1:])))
        self._samples.append(PointLevel(point.control, min(order, point.order), now))

    def _newest_level(self) -> float:
        weights = self._errors[self._begin :] ** -2 if self._errors.size > self._begin else np.ones(1)
        values = np.array([sample.level for sample in self._samples[self._begin :]])
        return float(weights @ values / weights.sum())

    def _newest_away(self) -> tuple[float, float]:
        """Return the distance of the newest sample from the level before it, as a log ratio and in standard errors."""
        before = slice(self._begin, -1)
        weights = self._errors[before] ** -2
        values = np.array([sample.level for sample in self._samples[before]])
        away = self._samples[-1].level - float(weights @ values / weights.sum())
        return away, abs(away) / math.hypot(float(self._errors[-1]), float(weights.sum()) ** -0.5)

    def _newest_stands_out(self) -> bool:
        """Return whether the newest sample may be the first of a change: then it does not belong to the one before."""
        if len(self._samples) - self._begin < _SETTLED:
            return False
        away, score = self._newest_away()
        return abs(away) >= self._sensitivity.smallest_log_ratio and score >= self._sensitivity.outlier_score

    def _is_young(self, change: DetectedChange) -> bool:
        return self._begin == change.first + change.shape.end and len(self._samples) - self._begin <= _FITTED

    def _refine(self) -> None:
        """Fit the shape of the newest change to the newest sample too, unless it is long past."""
        if not self.changes or not self._is_young(self.changes[-1]):
            return
        newest = self.changes[-1]
        self.changes[-1] = refined = self._fitted(newest.first, newest.identity, newest.detected_with, newest.score)
        self._begin = refined.first + refined.shape.end

    def _detect(self, point: SeriesPoint) -> bool:
        """Return whether the level has changed since the last change, and keep the change."""
        begin = max(self._begin, len(self._samples) - _WINDOW)
        if len(self._samples) - begin < 3:
            return False
        part = self._samples[begin:]
        orders, levels = _orders(part), np.array([sample.level for sample in part])
        allowed = np.diff(orders, prepend=-math.inf) > 0
        exact = np.array([sample.error is None for sample in part])
        split = best_split(levels, self._errors[begin:], exact, allowed, self._sensitivity)
        if split is None:
            return False
        first = max(begin, begin + split.index - _FITTED)
        detected = self._fitted(first, self._identity(point), point.commit, split.score)
        self.changes.append(detected)
        self._begin = detected.first + detected.shape.end
        return True

    def _fitted(self, first: int, identity: str, detected_with: str, score: float) -> DetectedChange:
        samples = tuple(self._samples[first:])
        levels = np.array([sample.level for sample in samples])
        shape = fit_shape(_orders(samples), levels, self._errors[first:])
        return DetectedChange(identity, detected_with, score, first, shape, samples)

    def _identity(self, point: SeriesPoint) -> str:
        """Name the change by its series and by the point with which it was detected."""
        again = sum(sample.commit == point.commit for sample in self._samples)
        text = "\n".join((self._key.model_dump_json(), point.control, point.commit, str(again)))
        return f"{hashlib.sha256(text.encode()).hexdigest()[:16]}-{self._key.benchmark[:8]}"


def _orders(samples: Sequence[PointLevel]) -> Array:
    return np.array([sample.order for sample in samples], dtype=np.float64)
