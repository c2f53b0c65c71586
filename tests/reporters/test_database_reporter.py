"""The reporter of a database keeps the contract on SQLite and PostgreSQL, and loses nothing when the database fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.errors import EnvironmentProblem, ReporterFailed
from harness.core.protocols import is_archive
from harness.store.database.engine import open_database
from harness.store.database.writing import iterate_results
from harness.testing.reporters import CHECKS, Check, ReporterCase
from harness.testing.results import failed_result, ok_result, report_of
from reporters import database
from reporters.database import DatabaseReporter
from reporters.local import LocalReporter

NOWHERE = "/dev/null/results.db"


def reporter_of(url: str | Path, folder: Path) -> DatabaseReporter:
    return DatabaseReporter(Settings(database=str(url), local_reporter=folder / "results"))


def stored(url: str) -> list[str]:
    with open_database(url) as opened:
        return sorted(result.uid for result in iterate_results(opened))


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check: Check, database_url: str, tmp_path: Path) -> None:
    check(ReporterCase(lambda: reporter_of(database_url, tmp_path), lambda: reporter_of(NOWHERE, tmp_path)))


def test_it_works_only_where_a_database_is_named(tmp_path: Path) -> None:
    assert database.create(Settings()) is None
    reporter = database.create(Settings(database=str(tmp_path / "results.db")))
    assert reporter is not None
    assert not is_archive(reporter), "the folder of results is the archive"


def test_preparing_makes_the_database_and_writes_into_it(tmp_path: Path) -> None:
    reporter = reporter_of(tmp_path / "new" / "results.db", tmp_path)
    reporter.prepare()
    reporter.close()
    assert stored(str(tmp_path / "new" / "results.db")) == []
    (tmp_path / "text.db").write_text("not a database, but a long enough text to be looked at " * 100)
    with pytest.raises(EnvironmentProblem, match="not a database"):
        reporter_of(tmp_path / "text.db", tmp_path).prepare()


def test_a_password_is_in_no_message(tmp_path: Path) -> None:
    reporter = reporter_of("postgresql://user:s3cret@127.0.0.1:1/none", tmp_path)
    with pytest.raises(EnvironmentProblem) as raised:
        reporter.prepare()
    assert "s3cret" not in str(raised.value)
    assert "127.0.0.1" in str(raised.value)


def test_what_a_database_missed_is_stored_from_the_folder_at_the_end(tmp_path: Path) -> None:
    tree, file = tmp_path / "results", tmp_path / "folder" / "results.db"
    (tmp_path / "folder").write_text("in the way")
    reporter = reporter_of(file, tmp_path)
    local = LocalReporter(tree)
    for result in (ok_result(uid="1"), failed_result(uid="2")):
        report = report_of(result, log="text")
        with pytest.raises(ReporterFailed, match="not stored in the database") as raised:
            reporter.report(report.model_copy(update={"place": local.report(report)}))
        assert raised.value.hint is not None
        assert "harness store import" in raised.value.hint
    assert reporter.unreported == 2
    (tmp_path / "folder").unlink()
    reporter.close()
    assert reporter.unreported == 0
    assert stored(str(file)) == ["1", "2"]


def test_what_is_still_missing_at_the_end_is_said(tmp_path: Path) -> None:
    reporter = reporter_of(NOWHERE, tmp_path)
    report = report_of(ok_result())
    place = LocalReporter(tmp_path / "results").report(report)
    with pytest.raises(ReporterFailed):
        reporter.report(report.model_copy(update={"place": place}))
    with pytest.raises(ReporterFailed, match="not stored in the database"):
        reporter.close()
    assert reporter.unreported == 1
