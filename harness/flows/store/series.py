"""Series of commits from stored comparisons: what the watcher keeps in its state, made again from results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harness.analysis.trend.points import series_point
from harness.core.build import BuildInfo
from harness.core.comparison import Comparison
from harness.core.result import Result
from harness.core.series import Series, SeriesKey, SeriesPoint
from harness.store.database.engine import Database
from harness.store.database.selection import StoredSelection, iterate_selected
from harness.store.history import compute_cell_key

_OF_SERIES = "benchmark"
"""Kind of the runs whose comparisons are points: those that verify or search repeat what a series shows already."""


def load_series(database: Database, key: SeriesKey) -> Series:
    """Return the series of a metric of a cell, as `harness.analysis.trend.changes.find_changes` reads it.

    Raises:
        EnvironmentProblem: The database cannot be read, or a result in it is damaged.
    """
    cell = compute_cell_key(key.benchmark, key.device)
    return make_series(key, iterate_selected(database, StoredSelection(cell=cell)))


def make_series(key: SeriesKey, results: Iterable[Result]) -> Series:
    """Make a series from results of one benchmark on one device; those without a comparison are passed over.

    The place of a commit is its rank by time among all commits and controls of these results. A history in which a
    commit has an earlier time than its parent is therefore read in another order than the watcher's, who asks the
    repository.

    Args:
        key: Identity of the series.
        results: The results, those of one commit in the order of measurement.
    """
    compared = [
        (result, result.comparison, result.build)
        for result in results
        if result.comparison is not None and result.build is not None and result.run_type == _OF_SERIES
    ]
    places = _rank_commits(compared)
    points = [
        point
        for result, comparison, build in compared
        if (point := _make_point(result, comparison, build, places)) is not None
        and (point.metric is None or point.metric.name == key.metric)
    ]
    return Series(key=key, points=tuple(sorted(points, key=lambda point: point.order)))


def _make_point(result: Result, comparison: Comparison, build: BuildInfo, places: dict[str, int]) -> SeriesPoint | None:
    control = comparison.control.commit
    return series_point(result, build.commit, places[build.commit], control=control, control_order=places.get(control))


def _rank_commits(compared: Iterable[tuple[Result, Comparison, BuildInfo]]) -> dict[str, int]:
    """Return the place of each commit in the order of time; one that has no time has that of its first measurement."""
    times: dict[str, float] = {}
    for result, comparison, build in compared:
        for commit, time in (
            (comparison.control.commit, comparison.control.commit_time),
            (build.commit, build.commit_time),
        ):
            known = float(time) if time is not None else result.started
            times[commit] = min(times.get(commit, known), known)
    ordered = sorted(times, key=lambda commit: times[commit])
    return {commit: place for place, commit in enumerate(ordered)}


def iterate_keys(results: Iterable[Result]) -> Iterator[SeriesKey]:
    """Yield the key of each series that results are part of, once."""
    known: set[SeriesKey] = set()
    for result in results:
        if result.comparison is None or result.device is None or not result.comparison.metric:
            continue
        key = SeriesKey(
            benchmark=result.benchmark.digest, device=result.device.identity, metric=result.comparison.metric
        )
        if key not in known:
            known.add(key)
            yield key
