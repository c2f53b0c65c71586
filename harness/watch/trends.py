"""Trends of the series of a state, read point by point: each point once, also by a watcher that was started again.

What a reader knows is stored in the transaction that records the newest point. It is bounded, so the work for a commit
does not depend on the length of the history.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.core.change import Trend
from harness.core.series import SeriesKey, SeriesPoint
from harness.watch.store.points import PointTable
from harness.watch.tasks import IncrementalReader, ReadTrend


@dataclass(slots=True)
class _Progress:
    """How far a series was read.

    Attributes:
        reader: Its reader.
        last: Number of the last point that was read.
    """

    reader: IncrementalReader
    last: int = 0


class SeriesTrends:
    """Trends of all series of a state.

    Args:
        points: The stored points.
        read_trend: Begins to read a series.
    """

    def __init__(self, points: PointTable, read_trend: ReadTrend) -> None:
        self._points = points
        self._read_trend = read_trend
        self._progress: dict[SeriesKey, _Progress] = {}

    def update(self, points: Sequence[SeriesPoint]) -> Sequence[Trend]:
        """Return the trends of the series to which points were added, which are stored already."""
        keys = dict.fromkeys(key for point in points for key in self._points.keys(point))
        return [self._read(key) for key in keys]

    def forget(self) -> None:
        """Read every series from its beginning when it is wanted next: its history is another one."""
        self._progress.clear()
        self._points.forget_progress()

    @contextlib.contextmanager
    def forget_on_failure(self) -> Iterator[None]:
        """Forget points that were read in a transaction that then failed; what is stored was rolled back with it."""
        try:
            yield
        except BaseException:
            self._progress.clear()
            raise

    def _read(self, key: SeriesKey) -> Trend:
        progress = self._progress.get(key) or self._load(key)
        if progress is None or not self._read_new(key, progress):
            progress = _Progress(self._read_trend(key, None))
            self._read_new(key, progress)
        self._progress[key] = progress
        self._points.save_progress(key, progress.last, progress.reader.progress)
        return progress.reader.trend()

    def _load(self, key: SeriesKey) -> _Progress | None:
        """Return how far an earlier watcher read a series; None where that cannot be continued."""
        stored = self._points.load_progress(key)
        if stored is None:
            return None
        try:
            return _Progress(self._read_trend(key, stored[1]), stored[0])
        except ValueError:
            return None

    def _read_new(self, key: SeriesKey, progress: _Progress) -> bool:
        """Read the points that were stored since; return False where an earlier commit has a new one."""
        for number, point in self._points.stored_after(key, progress.last):
            try:
                progress.reader.add(point)
            except ValueError:
                return False
            progress.last = max(number, progress.last)
        return True
