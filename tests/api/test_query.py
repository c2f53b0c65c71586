"""`harness.query`: results of a database, for scripts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import harness
from harness.store.database.engine import open_database
from harness.store.database.writing import NewResult, store_results
from harness.testing.results import DEVICE, STARTED, failed_result, ok_result


@pytest.fixture
def file(tmp_path: Path) -> Path:
    other = ok_result(uid="2", model="mv3", started=STARTED + 100)
    other = other.model_copy(update={"benchmark": other.benchmark.model_copy(update={"digest": "b" * 64})})
    results = [ok_result(uid="1", model="mv2", started=STARTED), other, failed_result(uid="3")]
    with open_database(tmp_path / "results.db") as database:
        store_results(database, [NewResult(result) for result in results], now=STARTED)
    return tmp_path / "results.db"


def test_results_are_selected_and_made_a_frame(file: Path) -> None:
    results = harness.query(file, model="mv3")
    assert [result.uid for result in results] == ["2"]
    assert results.ok
    frame = harness.frame(results)
    assert set(frame["model"]) == {"mv3"}
    assert harness.query(file, model=["mv2", "mv3"], limit=1)[0].uid == "2"


def test_a_device_is_selected_by_its_whole_name(file: Path) -> None:
    assert {result.uid for result in harness.query(file, device=DEVICE.name)} == {"1", "2", "3"}
    assert DEVICE.name.count(" ") > 1


def test_failures_have_an_exit_code(file: Path) -> None:
    results = harness.query(file, failed=True)
    assert [result.uid for result in results] == ["3"]
    assert results.exit_code is harness.ExitCode.BENCHMARK_FAILED


def test_a_time_may_be_given_as_one(file: Path) -> None:
    time = datetime.fromtimestamp(STARTED, UTC) + timedelta(seconds=50)
    assert [result.uid for result in harness.query(file, since=time, model=["mv2", "mv3"])] == ["2"]


def test_a_database_is_named_by_the_variable(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARNESS_DATABASE", raising=False)
    monkeypatch.setenv("HARNESS_LOCAL_REPORTER", str(file.parent / "elsewhere"))
    with pytest.raises(harness.EnvironmentProblem, match="no database is named") as raised:
        harness.query()
    assert "HARNESS_DATABASE" in str(raised.value)
    monkeypatch.setenv("HARNESS_DATABASE", str(file))
    assert len(harness.query()) == 3
    monkeypatch.delenv("HARNESS_DATABASE")
    monkeypatch.setenv("HARNESS_LOCAL_REPORTER", str(file.parent))
    assert len(harness.query()) == 3, "that beside the results"


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(harness.EnvironmentProblem, match="there is no database"):
        harness.query(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
