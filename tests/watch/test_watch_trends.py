"""Series that are read while they grow: each point once, and all anew where that would be wrong."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from harness.analysis.trend.changes import TrendReader, find_changes
from harness.core.change import Trend
from harness.core.effect import Effect
from harness.core.errors import EnvironmentProblem
from harness.core.series import SeriesKey, SeriesPoint
from harness.watch.store.commits import CommitStatus
from harness.watch.store.state import State
from harness.watch.trends import SeriesTrends
from tests.watch.watching import Line, point

LEVELS = [0.001 * (number % 3) for number in range(20)] + [0.05 + 0.001 * (number % 3) for number in range(10)]
KEY = SeriesKey(benchmark="mv2", device="board", metric="NET latency")


class _CountingReader:
    """The reader of the product, which keeps what it was given."""

    def __init__(self, key: SeriesKey, progress: str | None) -> None:
        self._reader = TrendReader(key, progress)
        self.is_continued = progress is not None
        self.commits: list[str] = []

    @property
    def progress(self) -> str:
        return self._reader.progress

    def add(self, added: SeriesPoint) -> None:
        self.commits.append(added.commit)
        self._reader.add(added)

    def trend(self) -> Trend:
        return self._reader.trend()


class Reading:
    """Trends of a state, and the readers that were begun."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.readers: list[_CountingReader] = []
        self.trends = SeriesTrends(state.points, self._begin)

    def measure(self, commit: str, log_ratio: float = 0.0) -> Sequence[Trend]:
        """Store a point of a commit, and return the trends of its series."""
        if self.state.commits.find(commit) is None:
            self.state.commits.add(Line().commit(commit), CommitStatus.DONE)
        entry = self.state.commits.get(commit)
        measured = point("c0", commit=commit).model_copy(
            update={"effect": Effect(log_ratio=log_ratio), "standard_error": 0.002}
        )
        self.state.points.add(entry.model_copy(update={"rounds": len(self.state.points.of_commit(commit))}), measured)
        return self.trends.update([measured])

    def _begin(self, key: SeriesKey, progress: str | None) -> _CountingReader:
        self.readers.append(_CountingReader(key, progress))
        return self.readers[-1]


def test_each_point_is_read_once_and_shows_what_the_whole_series_shows(state: State) -> None:
    reading = Reading(state)
    for number, level in enumerate(LEVELS):
        (trend,) = reading.measure(f"c{number}", level)
        assert trend == find_changes(state.points.series(KEY))
    assert len(trend.changes) == 1
    (reader,) = reading.readers
    assert reader.commits == [f"c{number}" for number in range(len(LEVELS))]


def test_a_newest_commit_that_is_measured_again_is_one_more_point(state: State) -> None:
    reading = Reading(state)
    for commit in ("c0", "c1", "c1"):
        reading.measure(commit)
    assert [reader.commits for reader in reading.readers] == [["c0", "c1", "c1"]]


def test_a_series_is_read_anew_where_an_earlier_commit_was_measured_again(state: State) -> None:
    reading = Reading(state)
    for commit in ("c0", "c1", "c2"):
        reading.measure(commit)
    (trend,) = reading.measure("c1", 0.01)
    assert reading.readers[-1].commits == ["c0", "c1", "c1", "c2"]
    assert trend == find_changes(state.points.series(KEY))


def test_points_of_a_transaction_that_failed_are_not_kept_in_mind(state: State) -> None:
    reading = Reading(state)
    reading.measure("c0")

    def fail() -> None:
        with reading.trends.forget_on_failure(), state.transaction():
            reading.measure("c1", 0.5)
            raise EnvironmentProblem("the disk went away")

    with pytest.raises(EnvironmentProblem):
        fail()
    (trend,) = reading.measure("c1")
    assert reading.readers[-1].commits == ["c1"], "it goes on where the last transaction was"
    assert trend == find_changes(state.points.series(KEY))


def test_a_program_of_the_same_bytes_is_a_point_of_every_series_of_its_benchmark(state: State) -> None:
    reading = Reading(state)
    reading.measure("c0")
    state.commits.add(Line().commit("c1"), CommitStatus.DONE)
    same = point("c0", commit="c1").model_copy(update={"metric": None, "effect": Effect(log_ratio=0.0)})
    state.points.add(state.commits.get("c1"), same)
    assert len(reading.trends.update([same])) == 1
    assert [reader.commits for reader in reading.readers] == [["c0", "c1"]]


def test_a_watcher_that_was_started_again_reads_the_new_points_alone(state: State) -> None:
    read = []
    for number, level in enumerate(LEVELS):
        reading = Reading(state)  # a watcher without an interval is started for each commit
        (trend,) = reading.measure(f"c{number}", level)
        assert trend == find_changes(state.points.series(KEY))
        (reader,) = reading.readers
        assert reader.is_continued == (number > 0)
        read.append(len(reader.commits))
    assert read == [1] * len(LEVELS), "points read per commit do not grow with the history"


def test_progress_of_another_harness_is_not_continued(state: State) -> None:
    for commit in ("c0", "c1"):
        Reading(state).measure(commit)
    state.points.save_progress(KEY, 2, '{"version": 0}')
    reading = Reading(state)
    reading.measure("c2")
    assert reading.readers[-1].commits == ["c0", "c1", "c2"]


def test_a_history_that_is_another_one_is_read_from_its_beginning_by_the_next_watcher_too(state: State) -> None:
    reading = Reading(state)
    for commit in ("c0", "c1"):
        reading.measure(commit)
    reading.trends.forget()
    reading = Reading(state)
    reading.measure("c2")
    assert reading.readers[-1].commits == ["c0", "c1", "c2"]
