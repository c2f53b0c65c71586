"""A series that a watcher keeps and the same series from a database show the same changes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from harness.analysis.trend.changes import find_changes
from harness.core.change import Change
from harness.core.commit import Commit, Source
from harness.core.result import Result
from harness.core.series import SeriesKey
from harness.flows.compare.commits import CommitComparer
from harness.flows.store.series import load_series, make_series
from harness.flows.watch.worker import WatchWorker
from harness.store.database.engine import open_database
from harness.store.database.writing import NewResult, store_results
from harness.testing.progress import RecordedProgress
from harness.testing.results import STARTED
from harness.watch.store.commits import CommitStatus
from harness.watch.store.state import State, open_state
from tests.presentation.comparison_samples import compared, made_pairs

COMMITS = tuple(
    Commit(source="git:/src", id=f"{number:02d}" * 20, time=int(STARTED) + 3600 * number) for number in range(30)
)
CONTROL = COMMITS[0]
STEP = 15


class Laboratory:
    """Compares a commit with the control, and keeps its results."""

    def __init__(self) -> None:
        self.results: list[Result] = []

    def compare(self, control: Commit, treatment: Commit, *, resume: bool) -> tuple[Result, ...]:
        place = COMMITS.index(treatment)
        shift = (0.05 if place >= STEP else 0.0) + 0.0004 * (place % 3)
        result = compared("mv2", made_pairs(shift, 12))
        assert result.comparison is not None
        assert result.build is not None
        sides = {
            "build": result.build.model_copy(
                update={"source": treatment.source, "commit": treatment.id, "commit_time": treatment.time}
            ),
            "comparison": result.comparison.model_copy(
                update={
                    "control": result.comparison.control.model_copy(
                        update={"source": control.source, "commit": control.id, "commit_time": control.time}
                    )
                }
            ),
            "uid": f"{place}-{len(self.results)}",
            "started": STARTED + 100 * len(self.results),
        }
        self.results.append(result.model_copy(update=sides))
        return (self.results[-1],)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with open_state(tmp_path / "watch.db") as opened:
        yield opened


def places_of(change: Change) -> tuple[object, ...]:
    return change.kind, change.last_without, change.first_with, change.before, change.after, change.effect


def watch_commits(state: State, laboratory: Laboratory) -> None:
    worker = WatchWorker([cast("CommitComparer", laboratory)], cast("Source", None), state, None, RecordedProgress())
    for commit in COMMITS:
        state.commits.add(commit, CommitStatus.RUNNING)
    for commit in COMMITS[1:]:
        for point in worker.compare(CONTROL, commit).points:
            state.points.add(state.commits.get(commit.id), point)


def test_a_series_from_a_database_shows_the_changes_that_the_watcher_sees(
    state: State, database_url: str, tmp_path: Path
) -> None:
    laboratory = Laboratory()
    watch_commits(state, laboratory)
    (kept,) = state.points.every_series()
    repeated = laboratory.results[-1].model_copy(update={"uid": "verified", "run_type": "verify"})
    new = [NewResult(result) for result in (*reversed(laboratory.results), repeated)]  # in any order
    with open_database(database_url, artifacts=tmp_path / "files") as database:
        store_results(database, new, now=time.time())
        series = load_series(database, kept.key)
        other = load_series(database, SeriesKey(benchmark="other", device="x", metric="y"))
    assert [point.commit for point in series.points] == [point.commit for point in kept.points]
    assert [point.effect for point in series.points] == [point.effect for point in kept.points]
    watched, stored = find_changes(kept), find_changes(series)
    assert len(watched.changes) == 1
    assert watched.changes[0].first_with in {commit.id for commit in COMMITS[STEP : STEP + 3]}
    assert [places_of(change) for change in stored.changes] == [places_of(change) for change in watched.changes]
    assert stored.level_log_ratio == watched.level_log_ratio
    assert other.points == ()


def test_results_without_a_comparison_are_passed_over() -> None:
    result = compared("mv2", made_pairs(0.0, 12))
    key = SeriesKey(benchmark=result.benchmark.digest, device="board", metric="NET latency")
    assert make_series(key, [result.model_copy(update={"comparison": None})]).points == ()
