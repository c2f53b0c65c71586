"""What a build says of its commit is what lists of commits show."""

from __future__ import annotations

from pathlib import Path

from harness.core.build import BuildInfo
from harness.store.database.engine import open_database
from harness.store.database.views.reader import History
from harness.store.database.writing import NewResult, store_results
from harness.store.history import CommitRow
from harness.testing.results import BUILD, ok_result


def _stored_commit(folder: Path, *builds: BuildInfo) -> CommitRow | None:
    with open_database(folder / "results.db") as database:
        for build in builds:
            store_results(database, [NewResult(ok_result(build=build))], now=1.0)
        return History(database).commit(BUILD.commit)


def test_a_commit_has_the_subject_and_author_of_its_build(tmp_path: Path) -> None:
    build = BUILD.model_copy(
        update={"commit_subject": "Sort twice", "commit_author": "Ada", "commit_url": "https://example.org/c/1"}
    )
    row = _stored_commit(tmp_path, build)
    assert row is not None
    assert (row.commit.subject, row.commit.author) == ("Sort twice", "Ada")
    assert row.commit.url == "https://example.org/c/1"


def test_a_later_result_adds_what_an_older_harness_left_out(tmp_path: Path) -> None:
    row = _stored_commit(tmp_path, BUILD, BUILD.model_copy(update={"commit_subject": "Sort twice"}))
    assert row is not None
    assert row.commit.subject == "Sort twice"
