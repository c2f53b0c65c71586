"""A series read point by point, as it grew: what was seen then stays seen, and what is learnt later refines it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.trend.points import Array, Sample, errors
from harness.analysis.trend.shapes import Shape, fit
from harness.analysis.trend.steps import Sensitivity, best_split
from harness.core.trend import Point, SeriesKey, Suspicion

_WINDOW = 200
"""Points that a change is looked for in: with more, the errors of builds count and not those of pairs."""

_SETTLED = 2
"""Samples since the last change from which on the newest can stand out."""

_FITTED = 64
"""Points before a change, and after it, that its shape is taken from."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A change as it is understood now.

    Attributes:
        identity: Stays.
        seen: The commit with which it was first seen.
        score: Its distance in standard errors then.
        first: Number of the first sample that its shape is taken from.
        shape: Its shape, numbered from `first`.
        samples: Those that its shape was taken from.
    """

    identity: str
    seen: str
    score: float
    first: int
    shape: Shape
    samples: tuple[Sample, ...]

    @property
    def before(self) -> Sample:
        """Last sample at the old level."""
        return self.samples[self.shape.start]

    @property
    def after(self) -> Sample:
        """First sample at the new level."""
        return self.samples[self.shape.end]

    def passed_by(self, order: int) -> float:
        """How much of it had happened at a place in the history: 0 before, its size behind it."""
        way = (order - self.before.order) / (self.after.order - self.before.order)
        return self.shape.size * min(1.0, max(0.0, way))


class Reader:
    """What was read so far. Each point is read with nothing but those before it.

    Args:
        key: What the series is of.
        sensitivity: When a change is one.

    Attributes:
        changes: Those that were seen, oldest first.
    """

    def __init__(self, key: SeriesKey, sensitivity: Sensitivity) -> None:
        self._key = key
        self._sensitivity = sensitivity
        self._samples: list[Sample] = []
        self._errors: Array = np.empty(0)
        self._begin = 0
        self._control: str | None = None
        self._offset = 0.0
        self.changes: list[Seen] = []

    def add(self, point: Point) -> None:
        """Read one more point.

        Raises:
            ValueError: It is older in the history than the one before it.
        """
        if self._samples and point.order < (newest := self._samples[-1]).order:
            raise ValueError(f"{point.commit} is older than {newest.commit}, which is before it in the series")
        if point.control != self._control:
            self._hold_against(point)
        self._samples.append(
            Sample(point.commit, point.order, self._offset + point.difference, point.error, point.pairs)
        )
        self._errors = errors(self._samples)
        if not self._look(point) and not self._stands_out():
            self._refine()

    def level(self) -> float | None:
        """The level of the newest samples, as a log ratio to the newest control."""
        return self._newest_level() - self._offset if self._samples else None

    def suspicion(self) -> Suspicion | None:
        """The newest sample, if it is far from the level before it and was not measured again yet."""
        if not self._stands_out() or self._samples[-2].commit == self._samples[-1].commit:
            return None
        away, score = self._newest_away()
        return Suspicion(commit=self._samples[-1].commit, difference=away, score=score)

    def _hold_against(self, point: Point) -> None:
        """Go on with another control: it stands where the series stood at its place, and is worth one measurement."""
        now = self._newest_level() if self._samples else 0.0
        since = sum(change.shape.size - change.passed_by(point.control_order) for change in self.changes)
        self._offset = now - since
        self._control = point.control
        self._begin = len(self._samples)
        order = max((point.control_order, *(sample.order for sample in self._samples[-1:])))
        self._samples.append(Sample(point.control, min(order, point.order), now))

    def _newest_level(self) -> float:
        weights = self._errors[self._begin :] ** -2 if self._errors.size > self._begin else np.ones(1)
        values = np.array([sample.level for sample in self._samples[self._begin :]])
        return float(weights @ values / weights.sum())

    def _newest_away(self) -> tuple[float, float]:
        """How far the newest sample is from the level before it, as a log ratio and in standard errors."""
        before = slice(self._begin, -1)
        weights = self._errors[before] ** -2
        values = np.array([sample.level for sample in self._samples[before]])
        away = self._samples[-1].level - float(weights @ values / weights.sum())
        return away, abs(away) / math.hypot(float(self._errors[-1]), float(weights.sum()) ** -0.5)

    def _stands_out(self) -> bool:
        """Whether the newest sample may be the first of a change: then it does not belong to the one before."""
        if len(self._samples) - self._begin < _SETTLED:
            return False
        away, score = self._newest_away()
        return abs(away) >= self._sensitivity.smallest and score >= self._sensitivity.suspicious

    def _is_young(self, change: Seen) -> bool:
        return self._begin == change.first + change.shape.end and len(self._samples) - self._begin <= _FITTED

    def _refine(self) -> None:
        """Learn the shape of the newest change from the newest sample, unless it is long past."""
        if not self.changes or not self._is_young(self.changes[-1]):
            return
        newest = self.changes[-1]
        self.changes[-1] = refined = self._shaped(newest.first, newest.identity, newest.seen, newest.score)
        self._begin = refined.first + refined.shape.end

    def _look(self, point: Point) -> bool:
        """See whether the level has changed since the last change."""
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
        seen = self._shaped(first, self._identity(point), point.commit, split.score)
        self.changes.append(seen)
        self._begin = seen.first + seen.shape.end
        return True

    def _shaped(self, first: int, identity: str, seen: str, score: float) -> Seen:
        samples = tuple(self._samples[first:])
        levels = np.array([sample.level for sample in samples])
        shape = fit(_orders(samples), levels, self._errors[first:])
        return Seen(identity, seen, score, first, shape, samples)

    def _identity(self, point: Point) -> str:
        again = sum(sample.commit == point.commit for sample in self._samples)
        text = "\n".join((self._key.model_dump_json(), point.control, point.commit, str(again)))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _orders(samples: Sequence[Sample]) -> Array:
    return np.array([sample.order for sample in samples], dtype=np.float64)
