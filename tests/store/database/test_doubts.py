"""Devices in doubt in the database: every view marks their results, and no body is changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.device_doubt import IN_DOUBT, LAST_GOOD_CHECKS
from harness.core.result import Result
from harness.dashboard.changes import render_changes
from harness.dashboard.result import render_result
from harness.store.database.doubts import load_doubts, store_doubts
from harness.store.database.engine import Database
from harness.store.database.folder import import_folder
from harness.store.database.rebuilding import rebuild_columns
from harness.store.database.selection import StoredSelection, iterate_selected
from harness.store.database.views import History
from harness.store.database.writing import NewResult, store_results
from harness.store.history import Page, Period, Selection
from harness.testing.progress import RecordedProgress
from harness.testing.results import DEVICE, STARTED, failed_result, ok_result, report_of
from reporters.local import LocalReporter
from tests.core.test_device_doubt import DOUBT
from tests.dashboard.samples import make_site
from tests.store.database.views.samples import against

CLASS = DEVICE.model_copy(update={"identity": "class:cpu", "name": "cpu"})
POOLED = ok_result(
    uid="pooled", device=CLASS, started=STARTED - 100, meta={LAST_GOOD_CHECKS: {DEVICE.identity: [DOUBT.since]}}
)
RESULTS = (
    ok_result(uid="before", started=STARTED - 60),
    ok_result(uid="doubtful"),
    ok_result(uid="elsewhere", device=DEVICE.model_copy(update={"identity": "another"})),
    failed_result(uid="failed"),
    POOLED,
    ok_result(uid="sound", device=CLASS, meta={LAST_GOOD_CHECKS: {DEVICE.identity: [DOUBT.since - 9]}}),
)
RESOLVED = DOUBT.model_copy(update={"until": DOUBT.until + 9, "resolved": True})


def store(database: Database, *results: Result) -> None:
    store_results(database, [NewResult(result) for result in results], now=STARTED + 1000)


def distrusted(database: Database) -> set[str]:
    """Return the uids of good results that lists mark."""
    page = History(database).results(Selection(), Period(), Page())
    return {row.uid for row in page.rows if not row.trusted and not row.reason}


@pytest.mark.parametrize("results_first", [True, False])
def test_results_are_marked_whenever_they_arrive(database: Database, results_first: bool) -> None:
    if results_first:
        store(database, *RESULTS)
    assert store_doubts(database, [DOUBT]) == 1
    assert store_doubts(database, [DOUBT]) == 0
    if not results_first:
        store(database, *RESULTS)
    assert distrusted(database) == {"doubtful", "pooled"}
    rebuild_columns(database)
    assert distrusted(database) == {"doubtful", "pooled"}
    assert store_doubts(database, [RESOLVED, DOUBT]) == 1
    assert distrusted(database) == set()
    with database.read() as connection:
        assert load_doubts(connection) == ()


def test_a_result_that_was_not_trusted_stays_so_without_the_doubt(database: Database) -> None:
    store(database, ok_result(uid="noisy", notes=[DOUBT.note]))
    store_doubts(database, [DOUBT])
    store_doubts(database, [RESOLVED])
    assert distrusted(database) == {"noisy"}


def test_pages_and_histories_say_why_and_the_result_stays_as_it_was_measured(database: Database) -> None:
    store(database, *RESULTS)
    store_doubts(database, [DOUBT])
    history = History(database)
    result, row = history.result("doubtful"), history.row("doubtful")
    assert result == RESULTS[1]
    assert row is not None
    page = render_result(RESULTS[1], row, (), make_site(), history.doubts(RESULTS[1]))
    assert "! not trusted:" in page
    assert "had its last good check before this at 2025-10-09 08:53 UTC" in page
    assert "the reference changed by +12.0 %" in page
    assert history.doubts(RESULTS[0]) == ()
    cell = history.cell(row.cell.key, "", Period(), 10)
    assert cell is not None
    assert {point.uid: point.trusted for point in cell.points} == {"before": True, "doubtful": False, "failed": False}
    selection = StoredSelection(cell=row.cell.key)
    marked = {each.uid: [note.code for note in each.notes] for each in iterate_selected(database, selection)}
    assert IN_DOUBT in marked["doubtful"]
    assert IN_DOUBT not in marked["before"]
    assert RESULTS[1] in list(iterate_selected(database, selection, as_measured=True))


def test_a_proven_change_of_a_device_in_doubt_stays_in_the_list_and_is_marked(database: Database) -> None:
    changed = ok_result(uid="changed").model_copy(update={"comparison": against(0, 0.1)})
    store(database, changed)
    store_doubts(database, [DOUBT])
    changes = History(database).changes(Period(), Selection(), Page())
    assert [(change.result, change.trusted) for change in changes] == [("changed", False)]
    assert "! not trusted" in render_changes(changes, (), Period(), Selection(), make_site())


def test_the_doubts_of_a_tree_are_imported_with_it(database: Database, tmp_path: Path) -> None:
    tree = LocalReporter(tmp_path / "tree")
    tree.report(report_of(RESULTS[1]))
    tree.keep_doubts([DOUBT])
    for _ in range(2):
        import_folder(database, tmp_path / "tree", progress=RecordedProgress(), now=STARTED + 1000)
        assert distrusted(database) == {"doubtful"}
