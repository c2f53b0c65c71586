"""The made-up laboratory: what was planted is found in the views, and counts agree with one another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.store.database.engine import open_database
from harness.store.database.views import History
from harness.store.history import Page, Period, ProofKind, Selection
from tests.store.big_store import fill_store, iterate_results, make_alarms
from tests.store.big_world import HOSTILE, Laboratory

LABORATORY = Laboratory(commits=40, models=2, backends=2, devices=3, samples=2, launches=2, hostile=True)
ALL, ALWAYS, MANY = Selection(), Period(), Page(limit=1000)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    folder: Path = tmp_path_factory.mktemp("laboratory")
    with open_database(folder / "lab.db") as database:
        fill_store(database, LABORATORY)
        yield History(database)


def test_a_laboratory_is_the_same_every_time() -> None:
    first, second = (list(iterate_results(Laboratory(commits=2, models=1, backends=2, devices=1))) for _ in range(2))
    assert first == second


def test_every_result_is_in_exactly_one_page_and_cell(reader: History) -> None:
    expected = {result.uid for result in iterate_results(LABORATORY)}
    pages = [reader.results(ALL, ALWAYS, Page(limit=100, offset=offset)) for offset in range(0, len(expected), 100)]
    assert {row.uid for page in pages for row in page.rows} == expected
    assert sum(len(page.rows) for page in pages) == len(expected)
    cells = [row.cell.key for row in reader.latest(ALL, MANY).rows]
    histories = [reader.cell(key, "", ALWAYS, 1000) for key in cells]
    assert sum(history.total for history in histories if history is not None) == len(expected)
    assert sum(len(history.points) for history in histories if history is not None) == len(expected)
    assert sum(row.results for row in reader.commits("", MANY).rows) == len(expected)


def test_what_was_planted_is_told_as_alarms_with_culprits(reader: History) -> None:
    alarms = {report.alarm.identity: report for report in make_alarms(LABORATORY)}
    changes = reader.changes(ALWAYS, ALL, MANY)
    assert {change.alarm for change in changes if change.proof is ProofKind.ALARM} == alarms.keys()
    assert alarms
    for change in changes:
        if change.proof is ProofKind.ALARM:
            culprits = alarms[change.alarm].alarm.culprits
            assert change.culprit == bool(culprits)
            assert change.after is not None
            assert not culprits or change.after.id == culprits[0].commits[0]
    sizes = [
        abs(change.effect.log_ratio) for change in changes if change.effect and change.proof is ProofKind.COMPARISON
    ]
    assert all(size < 0.02 for size in sizes), "every comparison across a planted step is explained by its alarm"


def test_counts_of_coverage_add_up(reader: History) -> None:
    coverage = reader.coverage(ALL, None)
    assert sum(coverage.counts.values()) == len(coverage.rows) * len(coverage.devices)
    assert all(len(row.cells) == len(coverage.devices) for row in coverage.rows)


def test_hostile_names_are_texts_like_others(reader: History) -> None:
    options = reader.options()
    assert HOSTILE in options.models
    page = reader.latest(Selection(models=(HOSTILE,), text="<SCRIPT>"), MANY)
    assert page.total == len(options.backends[1:]) * 3
    assert reader.backends(HOSTILE, ())
