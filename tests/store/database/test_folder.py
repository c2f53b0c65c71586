"""Folders of results become part of a database: completely, once, and without being read again."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from sqlalchemy import func, select

from harness.core.result import RawLog, Report
from harness.store.canonical_json import to_json_line, to_pretty_json
from harness.store.database import folder as imports
from harness.store.database.engine import Database
from harness.store.database.folder import FolderImport, import_folder, read_uid
from harness.store.database.tables import ALARMS, ARTIFACTS_OF_RESULTS
from harness.store.database.writing import NewResult, iterate_results, load_stored, store_results
from harness.testing.progress import RecordedProgress
from harness.testing.results import failed_result, ok_result, report_of
from reporters.alarms.folder import AlarmFolder
from reporters.local import LocalReporter
from tests.reporters.alarms.alarm_samples import bisected_step

LATER = 10.0
"""Seconds by which an import is later than the files."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return tmp_path / "results"


def bring(database: Database, tree: Path) -> FolderImport:
    return import_folder(database, tree, progress=RecordedProgress(), now=time.time() + LATER)


def count(outcome: FolderImport) -> tuple[int, int, int, int]:
    return outcome.created, outcome.known, len(outcome.conflicts), len(outcome.unreadable)


def list_files(database: Database) -> list[str]:
    with database.read() as connection:
        return list(connection.execute(select(ARTIFACTS_OF_RESULTS.c.name).order_by("name")).scalars())


def test_every_result_of_a_tree_is_stored_as_it_is_with_its_logs(database: Database, tree: Path) -> None:
    results = [ok_result(uid="one"), failed_result(uid="two"), ok_result(uid='th"ree\n', identifier="<script>")]
    for result in results:
        LocalReporter(tree).report(report_of(result, **{"launch 0": "text"}))
    assert count(bring(database, tree)) == (3, 0, 0, 0)
    assert sorted(map(to_json_line, iterate_results(database))) == sorted(map(to_json_line, results))
    assert list_files(database) == ["logs/launch 0"] * 3


def test_a_second_import_reads_no_result(database: Database, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        LocalReporter(tree).report(report_of(ok_result(uid=f"{number}"), log="text"))
    bring(database, tree)
    monkeypatch.setattr(imports, "load_result", lambda file: pytest.fail(f"{file} was read"))
    assert count(bring(database, tree)) == (0, 5, 0, 0)


def test_results_at_any_depth_and_single_files_are_stored(database: Database, tree: Path) -> None:
    for name in ("a", "b/c/d"):
        (tree / name).mkdir(parents=True)
        (tree / name / "result.json").write_text(to_pretty_json(ok_result(uid=name)))
    assert count(bring(database, tree)) == (2, 0, 0, 0)
    assert count(bring(database, tree / "a" / "result.json")) == (0, 1, 0, 0)


def test_damaged_results_are_named_and_do_not_stop_the_rest(database: Database, tree: Path) -> None:
    for name, text in {"a": "{", "b": "", "c": to_pretty_json(ok_result(uid="c")), "d": "[1]", "e": "\x00"}.items():
        (tree / name).mkdir(parents=True)
        (tree / name / "result.json").write_text(text)
    os.mkfifo(tree / "pipe")
    (tree / "f").mkdir()
    os.mkfifo(tree / "f" / "result.json")
    outcome = bring(database, tree)
    assert count(outcome) == (1, 0, 0, 5)
    assert all(str(tree) in problem.message for problem in outcome.unreadable)


def test_a_result_that_was_changed_is_a_conflict_and_the_stored_one_stays(database: Database, tree: Path) -> None:
    LocalReporter(tree).report(report_of(ok_result(uid="one")))
    bring(database, tree)
    (file,) = tree.rglob("result.json")
    file.write_text(to_pretty_json(failed_result(uid="one")))
    os.utime(file, (time.time() + 2 * LATER,) * 2)
    outcome = bring(database, tree)
    assert [(conflict.uid, conflict.place) for conflict in outcome.conflicts] == [("one", str(file))]
    stored = load_stored(database, "one")
    assert stored is not None
    assert stored.ok


def test_logs_of_a_result_that_came_without_them_are_added(database: Database, tree: Path) -> None:
    result = ok_result(uid="one")
    store_results(database, [NewResult(result)], now=time.time() + LATER)
    LocalReporter(tree).report(Report(result=result, logs=(RawLog(name="launch/0", text="text"),)))
    assert count(bring(database, tree)) == (0, 1, 0, 0)
    assert list_files(database) == ["logs/launch/0"]


def test_reports_of_alarms_beside_results_are_stored_once(database: Database, tree: Path) -> None:
    AlarmFolder(tree / "alarms").report(bisected_step())
    (tree / "alarms" / "damaged").mkdir()
    (tree / "alarms" / "damaged" / "alarm.json").write_text('{"event": "reported"}')
    outcomes = [bring(database, tree) for _ in range(2)]
    assert [outcome.alarms for outcome in outcomes] == [1, 0]
    assert [len(outcome.unreadable) for outcome in outcomes] == [1, 1]
    with database.read() as connection:
        assert connection.execute(select(func.count()).select_from(ALARMS)).scalar_one() == 1


@pytest.mark.parametrize(
    ("head", "uid"),
    [
        (b'{"schema_version":"1.5","harness_version":"1","uid":"a"', "a"),
        (b'{\n  "schema_version": "1.5",\n  "harness_version": "1",\n  "uid": "a\\n\\u00e9\\""', 'a\n\xe9"'),
        (b'{"meta":{"uid":"x"},"uid":"a"', None),
        (b'{"schema_version":"1.5","harness_version":"1","uid":"endless', None),
        (b'{"schema_version":"1.5","harness_version":"1","uid":"\\x"', None),
        (b"", None),
    ],
)
def test_a_uid_is_read_from_the_beginning_of_canonical_json_alone(head: bytes, uid: str | None) -> None:
    assert read_uid(head) == uid
