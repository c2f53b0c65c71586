"""Devices in doubt beside the results of a tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.errors import EnvironmentProblem
from harness.flows.inspect.stored_results import StoredResults
from harness.store.doubts import DOUBTS_FILE, keep_doubts, read_doubts
from harness.testing.results import STARTED, ok_result, report_of
from reporters.local import LocalReporter
from tests.core.test_device_doubt import DOUBT

LATER = DOUBT.model_copy(update={"until": DOUBT.until + 3600})


def test_what_is_known_of_a_doubt_is_replaced_by_what_came_later(tmp_path: Path) -> None:
    assert read_doubts(tmp_path) == ()
    keep_doubts(tmp_path, [])
    assert not (tmp_path / DOUBTS_FILE).exists()
    other = DOUBT.model_copy(update={"since": DOUBT.since - 100})
    for doubts in ([DOUBT], [LATER, other], [DOUBT]):
        keep_doubts(tmp_path, doubts)
    assert read_doubts(tmp_path) == (LATER, other)


def test_stored_results_are_marked_and_not_rewritten(tmp_path: Path) -> None:
    reporter = LocalReporter(tmp_path)
    places = [reporter.report(report_of(ok_result(started=STARTED + shift))) for shift in (-60, 0)]
    content = Path(places[1], "result.json").read_bytes()
    reporter.keep_doubts([DOUBT])
    stored = StoredResults(None, tmp_path)
    assert [each.result.trusted for each in stored] == [True, False]
    assert [entry.trusted for entry in stored.list_newest(5)] == [True, False]
    assert [each.result.trusted for each in StoredResults(Path(places[1]), tmp_path)] == [False]
    assert Path(places[1], "result.json").read_bytes() == content
    reporter.keep_doubts([LATER.model_copy(update={"resolved": True})])
    assert [each.result.trusted for each in StoredResults(None, tmp_path)] == [True, True]


def test_a_damaged_file_is_said_and_the_results_are_shown(tmp_path: Path) -> None:
    LocalReporter(tmp_path).report(report_of(ok_result()))
    (tmp_path / DOUBTS_FILE).write_text("{")
    with pytest.raises(EnvironmentProblem, match="damaged"):
        read_doubts(tmp_path)
    stored = StoredResults(None, tmp_path)
    assert len(list(stored)) == 1
    assert [DOUBTS_FILE in problem.message for problem in stored.unreadable] == [True]
