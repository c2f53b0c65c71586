"""Samples of a series: the five figures of each point on the scale of the whole series, with errors to believe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from harness.analysis.compare.statistics import PRIOR_SCALE
from harness.core.comparison import STATISTICS
from harness.core.values import Value

Array = NDArray[np.float64]

_KNOWN: Final = 0.5
"""Standard error of what was not measured, in those of the other points: it is known, but one build is one build."""

_TRUSTED: Final = 8
"""Number of differences of neighbours that the stated errors count for."""

_FEW: Final = 12
"""Number of differences below which a change or two may be half of them, so that their median is no noise."""

_LARGEST_SPREAD: Final = 9.0
"""Largest variance of so few differences, in those that the stated errors allow."""


class Sample(Value):
    """A point on the scale of a whole series, whatever control it was compared with.

    Attributes:
        commit: The commit.
        order: Its place in the history.
        levels: Log ratio to the first control in each of the five figures; None where it is not known.
        errors: Standard errors as the comparison states them; None for what was not measured: a control compared with
            itself, or programs that are the same bytes.
        pairs: How many pairs it comes from.
        is_later_control: Whether it is a control that replaced another, placed where it did: it has the level of the
            series there.
    """

    commit: str
    order: int
    levels: tuple[float | None, ...]
    errors: tuple[float | None, ...]
    pairs: int = 0
    is_later_control: bool = False


class FigureTrack(Struct, frozen=True):
    """Samples of a series in one figure, those that have it.

    Attributes:
        numbers: Numbers of the samples in the series.
        orders: Places in the history, ascending; samples of the same commit have the same.
        levels: Log ratios to the first control.
        errors: Standard errors.
        is_exact: Whether the level is certain, because nothing was measured.
    """

    numbers: NDArray[np.int64]
    orders: Array
    levels: Array
    errors: Array
    is_exact: NDArray[np.bool_]

    def between(self, first: int, end: int | None = None) -> FigureTrack:
        """Return the samples from a number up to another, which is left out."""
        start = int(self.numbers.searchsorted(first))
        stop = None if end is None else int(self.numbers.searchsorted(end))
        part = slice(start, stop)
        return FigureTrack(
            self.numbers[part], self.orders[part], self.levels[part], self.errors[part], self.is_exact[part]
        )

    @property
    def level(self) -> float | None:
        """Return the mean level, weighted by errors; None without samples."""
        if not self.numbers.size:
            return None
        weights = self.errors**-2
        return float(weights @ self.levels / weights.sum())


def track_of(samples: Sequence[Sample], figure: int, first: int) -> FigureTrack:
    """Return the samples that have a figure.

    Args:
        samples: Samples in the order of the history.
        figure: Place of the figure in `harness.core.comparison.STATISTICS`.
        first: Number of the first of the samples in its series.
    """
    known = [
        (number, sample.order, level, math.nan if error is None else error, sample.pairs)
        for number, sample in enumerate(samples, first)
        if (level := sample.levels[figure]) is not None
        for error in (sample.errors[figure],)
    ]
    columns = np.array(known, dtype=np.float64).reshape(-1, 5).T
    numbers, orders, levels, stated, pairs = columns
    errors = standard_errors(levels, stated, pairs)
    return FigureTrack(numbers.astype(np.int64), orders, levels, errors, np.isnan(stated))


def standard_errors(levels: Array, stated: Array, pairs: Array) -> Array:
    """Estimate the standard errors of samples of one series: at least as large as neighbours seem to differ.

    The error that a comparison states of itself is drawn up to what is usual in the series, for a few pairs that happen
    to agree are not exact; and all of them are stretched when neighbours differ by more than they allow, which they do
    when two builds of the same code are not equally fast. The spread is that of first differences, in which a change of
    level counts once (von Neumann, Ann. Math. Statist. 12, 1941), by their median, in which it does not count at all.

    Args:
        levels: Of the samples, in the order of the history.
        stated: Stated standard errors; nan where nothing was measured.
        pairs: Numbers of pairs; 0 where they are not known.
    """
    known = ~np.isnan(stated) & (pairs > 0)
    usual = float(np.median((stated * np.sqrt(pairs))[known])) if known.any() else PRIOR_SCALE
    is_measured = ~np.isnan(stated)
    typical = float(np.median(stated[is_measured])) if is_measured.any() else PRIOR_SCALE
    pooled = np.where(known, usual / np.sqrt(np.where(known, pairs, 1.0)), typical)
    own = np.where(is_measured, np.fmax(stated, pooled), _KNOWN * typical)
    steps = np.diff(levels) / np.hypot(own[1:], own[:-1])
    if not steps.size:
        return np.asarray(own)
    spread = (float(np.median(np.abs(steps))) / 0.6745) ** 2
    if steps.size < _FEW:
        spread = min(spread, _LARGEST_SPREAD)
    return np.asarray(own * math.sqrt(max(1.0, (_TRUSTED + steps.size * spread) / (_TRUSTED + steps.size))))


class Stretch(Struct, frozen=True):
    """Successive samples of a series.

    Attributes:
        first: Number of the first of them in the series.
        samples: In the order of the history.
        tracks: The same in each figure, with errors that all of them together give.
    """

    first: int
    samples: Sequence[Sample]
    tracks: Sequence[FigureTrack]

    @classmethod
    def of(cls, samples: Sequence[Sample], first: int) -> Stretch:
        """Return the stretch of some samples, of which the first has a number."""
        return cls(first, samples, [track_of(samples, figure, first) for figure in range(len(STATISTICS))])

    @property
    def end(self) -> int:
        """Number behind the last sample."""
        return self.first + len(self.samples)

    def sample(self, number: int) -> Sample:
        """Return the sample of a number."""
        return self.samples[number - self.first]

    def since(self, number: int) -> Stretch:
        """Return the samples from a number on; their errors stay."""
        begin = max(0, number - self.first)
        return Stretch(self.first + begin, self.samples[begin:], [track.between(number) for track in self.tracks])

    def distance_of_newest(self, figure: int) -> tuple[float, float] | None:
        """Return how far the newest sample is from the level before it in a figure: as a log ratio, and its error.

        None where one of them is not known.
        """
        track = self.tracks[figure]
        before, newest = track.between(self.first, self.end - 1), track.between(self.end - 1)
        level = before.level
        if level is None or not newest.numbers.size:
            return None
        error = math.hypot(float(newest.errors[0]), float((before.errors**-2).sum()) ** -0.5)
        return float(newest.levels[0]) - level, error
