"""Cost of judging the series of one more commit, with a short history and with a long one."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from harness.analysis.trend.changes import TrendReader, find_changes
from harness.core.commit import Commit
from harness.core.series import SeriesPoint
from harness.watch.store.commits import CommitStatus
from harness.watch.store.state import State, open_state
from harness.watch.trends import SeriesTrends
from tests.analysis.trend.made_series import KEY, figures_point
from tests.benchmarks.figures import claim

SERIES = 3
WATCHED = 50
COMMITS = (200, 2000)
NEWEST = 50
"""Commits that the cost is averaged over."""

pytestmark = pytest.mark.benchmark


def points_of(order: int, chance: np.random.Generator) -> list[SeriesPoint]:
    noise = 0.005 * chance.standard_t(4, (SERIES, 10, 5))
    level = 0.02 * (order % 500 > 250)
    return [
        figures_point(order, noise[number] + level).model_copy(update={"benchmark": f"b{number}"})
        for number in range(SERIES)
    ]


def cpu_s_per_commit(state: State) -> dict[int, float]:
    """Return the CPU time of one more commit of one series, by length of the history."""
    chance, trends = np.random.default_rng(1), SeriesTrends(state.points, TrendReader)
    costs, begun = {}, 0.0
    for order in range(1, COMMITS[-1] + 1):
        points = points_of(order, chance)
        if order + NEWEST in {count + 1 for count in COMMITS}:
            trends = SeriesTrends(state.points, TrendReader)  # the watcher was started again
            begun = time.process_time()
        with state.transaction():
            commit = Commit(source="line:", id=f"c{order}")
            state.commits.add(commit, CommitStatus.DONE)
            for point in points:
                state.points.add(state.commits.get(commit.id), point)
            trends.update(points)
        if order in COMMITS:
            costs[order] = (time.process_time() - begun) / NEWEST / SERIES
    return costs


def test_cost_of_one_more_commit(tmp_path: Path) -> None:
    with open_state(tmp_path / "watch.db") as state:
        state._database.rows("PRAGMA synchronous = OFF")  # CPU time is measured, and no disk
        costs = cpu_s_per_commit(state)
        series = state.points.series(KEY.model_copy(update={"benchmark": "b0"}))
        begun = time.process_time()
        find_changes(series)
        whole_s = time.process_time() - begun
    print(f"\nCPU time to judge {WATCHED} series of one more commit; a series from its beginning: {whole_s:.2f} s")
    print("| commits | s |\n| --- | --- |")
    for commits, seconds in costs.items():
        print(f"| {commits} | {WATCHED * seconds:.2f} |")
    claim("cost after 2,000 commits in that after 200", costs[2000] / costs[200], 1.5)
    claim("cost of one more commit in that of a series from its beginning", costs[2000] / whole_s, 0.05)
