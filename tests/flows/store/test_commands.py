"""`harness store` and `harness query`: results go in, come out as they were, and are listed."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import harness
from harness.cli import main
from harness.config.settings import Settings
from harness.core.result import Result
from harness.store.canonical_json import to_json_line
from harness.store.database.opening import open_configured
from harness.testing.results import STARTED, failed_result, ok_result, report_of
from reporters.local import LocalReporter
from tests.presentation.comparison_samples import compared, made_pairs

RESULTS = (
    ok_result(uid="1", started=STARTED),
    compared("slower", made_pairs(0.05, 12)).model_copy(update={"uid": "2", "started": STARTED + 10}),
    failed_result(uid="3", reason="<b>\u202e"),
)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of results, with a working folder beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_LOCAL_REPORTER", str(tmp_path / "results"))
    monkeypatch.setenv("HARNESS_CONFIG_DIR", str(tmp_path / "config"))
    for result in RESULTS:
        LocalReporter(tmp_path / "results").report(report_of(result, log="text"))
    return tmp_path / "results"


@pytest.fixture
def named(migrated_url: str, monkeypatch: pytest.MonkeyPatch, tree: Path) -> Path:
    """The folder of results, with a database without results named by the variable."""
    monkeypatch.setenv("HARNESS_DATABASE", migrated_url)
    return tree


def call(*words: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(capsys.readouterr().out)
    return read


@pytest.mark.usefixtures("named")
def test_everything_comes_out_as_it_went_in_and_goes_in_again(tmp_path: Path) -> None:
    assert call("store", "import") == 0
    assert call("store", "export", "out.jsonl") == 0
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert sorted(lines) == sorted(map(to_json_line, RESULTS))
    assert call("store", "import", "out.jsonl", "--database", "copy.db") == 0
    assert call("store", "export", "again", "--database", "copy.db") == 0
    assert (tmp_path / "again" / "results.jsonl").read_text().splitlines() == lines


def test_an_import_says_what_became_of_each(named: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (named / "damaged").mkdir()
    (named / "damaged" / "result.json").write_text("{")
    assert call("store", "import", "--json") == 3
    read = document(capsys)
    assert (read["created"], read["known"], len(read["unreadable"])) == (3, 0, 1)
    (named.parent / "bad.jsonl").write_text(f"{to_json_line(RESULTS[0])}\n\n[]\n")
    assert call("store", "import", "bad.jsonl") == 3
    assert "bad.jsonl:3" in capsys.readouterr().err


@pytest.mark.usefixtures("named")
def test_tables_are_those_of_pandas(tmp_path: Path) -> None:
    assert call("store", "import") == 0
    assert call("store", "export", "all.parquet") == 0
    assert call("store", "export", "folder", "--format", "csv", "--samples") == 0
    assert call("query", "--export", "latency.parquet", "--metric", "NET latency") == 0
    frame = harness.frame(harness.load(tmp_path / "results"))
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "all.parquet"), frame, check_dtype=False)
    samples = pd.read_csv(tmp_path / "folder" / "results.csv")
    assert samples["value"].tolist() == harness.samples(harness.query())["value"].tolist()
    assert set(pd.read_parquet(tmp_path / "latency.parquet")["metric"].dropna()) == {"NET latency"}


@pytest.mark.usefixtures("named")
def test_a_history_of_any_database_has_the_files_of_results(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("store", "import") == 0
    assert call("history", "--output", "site") == 0, capsys.readouterr().err
    archives = [zipfile.ZipFile(file).namelist() for file in Path("site/results").glob("*.zip")]
    assert archives == [["result.json", "logs/log"]] * len(RESULTS)


@pytest.mark.usefixtures("named")
def test_archives_depend_on_no_clock_and_name_a_file_that_is_missing(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("store", "import") == 0
    settings = Settings(local_reporter=tree, database=os.environ["HARNESS_DATABASE"])
    with open_configured(settings) as database:
        copies = [file for file in database.artifacts.path.rglob("*") if file.is_file()]
    for file in copies:
        os.utime(file, (0, 0))
    assert call("history", "--output", "site") == 0, capsys.readouterr().err
    for archive in map(zipfile.ZipFile, Path("site/results").glob("*.zip")):
        assert {member.date_time[0] for member in archive.infolist()} == {1980}
    for file in copies:
        file.unlink()
    assert call("history", "--output", "again") == 3
    shown = capsys.readouterr().err
    assert "cannot read the file" in shown
    assert "belongs to its database" in shown


def _make_impossible(started: float) -> Result:
    """Return a result of numbers that a column, a calendar or an integer of 64 bits has no place for."""
    result = ok_result(uid=f"impossible {started}", started=started)
    metric, *others = result.metrics
    strange = metric.model_copy(
        update={"summary": {**metric.summary, "n": 1e300}, "launches": (10**30,) * len(metric.samples)}
    )
    asked = result.benchmark.model_copy(update={"threads": 10**30, "axes": {"size": 10**40}})
    return result.model_copy(update={"metrics": (strange, *others), "benchmark": asked})


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("started", [1e300, -1e300, 253_402_300_800.0])
def test_impossible_numbers_of_one_result_hide_no_other(
    tree: Path, started: float, capsys: pytest.CaptureFixture[str]
) -> None:
    LocalReporter(tree).report(report_of(_make_impossible(started)))
    assert call("store", "import") == 0
    for words in (
        ("store",),
        ("query",),
        ("report",),
        ("report", "--json"),
        ("report", str(tree)),
        ("report", str(tree), "--reporter", "html=page.html"),
        ("history", "--output", "site"),
        ("query", "--export", "rows.csv"),
        ("query", "--export", "rows.parquet"),
        ("query", "--export", "samples.parquet", "--samples"),
    ):
        assert call(*words) == 0, (words, capsys.readouterr().err)
    frame = pd.read_parquet("rows.parquet")
    strange = frame[frame["uid"] == f"impossible {started}"]
    assert strange["started"].isna().all()
    assert strange["n"].isna().tolist() == [True, False, False, True], "the last is a text"
    assert set(frame["uid"]) == {"1", "2", "3", f"impossible {started}"}


@pytest.mark.usefixtures("named")
def test_an_age_before_every_calendar_removes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("store", "import") == 0
    assert call("store", "prune", "--older-than", "99999999w", "--kind", "logs") == 0
    assert "logs of 0 results" in capsys.readouterr().err


@pytest.mark.usefixtures("named")
def test_rows_are_selected(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("store", "import") == 0
    for words, uids in {
        ("--failed",): {"3"},
        ("--only", "*slower*"): {"2"},
        ("--only", "model:nothing"): set(),
        ("--since", "2000-01-01"): {"1", "2", "3"},
        ("--limit", "1", "--only", "*"): {"2"} if RESULTS[2].started < STARTED + 10 else {"3"},
        ("--commit", "nothing"): set(),
    }.items():
        capsys.readouterr()
        assert call("query", "--json", *words) == 0
        assert {row["uid"] for row in document(capsys)["rows"]} == uids, words
    assert call("query") == 0
    assert "\u202e" not in capsys.readouterr().out
    assert call("query", "--commit", "nothing") == 2, "nothing is called so"
    assert call("query", "--commit", "nothing", "--failed") == 0, "nothing failed"


@pytest.mark.usefixtures("named")
def test_a_table_says_that_there_are_more_results(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("store", "import") == 0
    capsys.readouterr()
    for limit, says in (("2", True), ("3", False)):
        assert call("query", "--limit", limit) == 0
        assert (f"the newest {limit} are shown; `--limit COUNT` shows more" in capsys.readouterr().out) is says


@pytest.mark.usefixtures("named")
def test_a_plan_removes_nothing_and_yes_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("store", "import") == 0
    capsys.readouterr()
    assert call("store", "prune", "--older-than", "0s", "--kind", "logs", "--json") == 0
    plan = document(capsys)
    assert not plan["removed"]
    assert call("store", "prune", "--older-than", "0s", "--kind", "logs", "--json", "--yes", "--vacuum") == 0
    done = document(capsys)
    assert done["results"] == plan["results"]
    assert call("store", "check", "--json") == 0
    assert document(capsys)["problems"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("prune",),
        ("prune", "--older-than", "soon"),
        ("prune", "--older-than", "1d", "--keep", "0"),
        ("prune", "results"),
        ("info", "--yes"),
        ("import", "--format", "csv"),
        ("import", "table.parquet"),
        ("import", "nothing"),
        ("export",),
        ("export", "x.txt"),
        ("export", "x.csv", "--format", "parquet"),
        ("export", "x.jsonl", "--samples"),
        ("export", "x.jsonl", "--json"),
        ("info", "--database", "mysql://user:s3cret@host/x"),
    ],
)
def test_mistakes_are_named_with_a_remedy(
    words: tuple[str, ...], tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree.parent / "table.parquet").write_text("")
    assert call("store", "import") == 0
    capsys.readouterr()
    assert call("store", *words) == 2
    errors = capsys.readouterr().err
    assert "hint: " in errors
    assert "s3cret" not in errors


def test_the_database_beside_the_results_is_the_default(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("query") == 3
    assert "harness store import" in capsys.readouterr().err
    assert call("store", "import") == 0
    assert (tree / "results.db").exists()
    assert call("query") == 0
    assert call("store", "import") == 0
    assert "0 new, 3 known" in capsys.readouterr().err
