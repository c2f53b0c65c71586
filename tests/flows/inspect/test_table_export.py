"""`harness report --export`: results as tables in files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from harness.config.settings import Settings
from harness.core.build import BuildInfo
from harness.core.errors import EnvironmentProblem, ExitCode, UsageError
from harness.files.installation import install_command
from harness.flows.inspect.stored_results import ResultFilter
from harness.flows.inspect.table_export import TABLE_VERSION, export_stored
from harness.testing.progress import RecordedProgress
from harness.testing.results import LATENCIES_MS, failed_result, ok_result, report_of
from reporters.local import LocalReporter


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    for result in (ok_result(uid="one", identifier='a "b", c\nd\u20ac'), failed_result(uid="two")):
        LocalReporter(tree).report(report_of(result))
    return tree


def _export(tree: Path, file: Path, *, samples: bool = False, only: tuple[str, ...] = ()) -> str:
    progress = RecordedProgress()
    selection = ResultFilter(only=only)
    code = export_stored(None, Settings(local_reporter=tree), selection, file, progress, samples=samples)
    assert code is ExitCode.OK
    return progress.lines[-1]


def test_csv_holds_exact_numbers_and_any_text(tree: Path, tmp_path: Path) -> None:
    file = tmp_path / "new" / "results.csv"
    assert _export(tree, file) == f"5 rows of 2 results: {file}"
    frame = pd.read_csv(file)
    assert list(frame["uid"]) == ["one"] * 4 + ["two"]
    assert frame.loc[0, "identifier"] == 'a "b", c\nd\u20ac'
    assert frame.loc[0, "median"] == 0.81375
    assert pd.isna(frame.loc[4, "metric"])
    assert frame.loc[4, "outcome"] == "crashed"


def test_csv_has_the_digits_of_statistics_that_say_something(tmp_path: Path) -> None:
    result = ok_result(uid="one")
    exact = {"p50": 0.0123456789012345, "mean": 1234567890.0, "stdev": 1234567.891, "min": 0.0}
    metric = result.metrics[0].model_copy(update={"summary": exact})
    LocalReporter(tmp_path / "tree").report(report_of(result.model_copy(update={"metrics": (metric,)})))
    file = tmp_path / "results.csv"
    _export(tmp_path / "tree", file)
    (row,) = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    assert (row["median"], row["mean"], row["stdev"], row["min"]) == ("0.0123457", "1234567890.0", "1234568.0", "0.0")
    _export(tmp_path / "tree", tmp_path / "results.json")
    (whole,) = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["rows"]
    assert whole["median"] == exact["p50"]


def test_samples_in_csv_are_as_they_were_measured(tmp_path: Path) -> None:
    result = ok_result(uid="one")
    metric = result.metrics[0].model_copy(update={"samples": (0.1234567890123456, 1e-9)})
    LocalReporter(tmp_path / "tree").report(report_of(result.model_copy(update={"metrics": (metric,)})))
    file = tmp_path / "samples.csv"
    _export(tmp_path / "tree", file, samples=True)
    values = [float(row["value"]) for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines())]
    assert values == [0.1234567890123456, 1e-9]


def test_a_result_without_a_runner_has_no_commit(tmp_path: Path) -> None:
    result = ok_result(uid="one").model_copy(update={"build": BuildInfo(source="none", commit="none")})
    LocalReporter(tmp_path / "tree").report(report_of(result))
    file = tmp_path / "results.csv"
    _export(tmp_path / "tree", file)
    row = next(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    assert (row["source"], row["commit"]) == ("", "")


def test_samples_are_a_table_too(tree: Path, tmp_path: Path) -> None:
    file = tmp_path / "samples.csv"
    _export(tree, file, samples=True)
    frame = pd.read_csv(file)
    assert list(frame[frame["metric"] == "NET latency"]["value"]) == list(LATENCIES_MS)


def test_json_rows_have_no_empty_columns(tree: Path, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    _export(tree, file)
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document["schema_version"] == TABLE_VERSION
    first, last = document["rows"][0], document["rows"][-1]
    assert (first["median"], first["started"], first["axis.threads"]) == (0.81375, "2025-10-09T08:53:20+00:00", 1)
    assert "metric" not in last
    assert (last["outcome"], last["trusted"]) == ("crashed", False)


def test_only_selected_results_are_exported(tree: Path, tmp_path: Path) -> None:
    assert "1 row of 1 result:" in _export(tree, tmp_path / "results.csv", only=("*t1",))


def test_parquet_keeps_types(tree: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="Parquet is an extra")
    file = tmp_path / "results.parquet"
    _export(tree, file)
    frame = pd.read_parquet(file)
    assert (frame.loc[0, "median"], frame.loc[0, "axis.threads"]) == (0.81375, 1)
    assert str(frame["started"].dtype).endswith("UTC]")


def test_parquet_without_its_package_names_the_extra(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_options: object) -> bytes:
        raise ImportError("no pyarrow")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", refuse)
    file = tmp_path / "results.parquet"
    with pytest.raises(EnvironmentProblem, match="pyarrow") as problem:
        _export(tree, file)
    assert problem.value.hint == f"{install_command(['parquet'])}, or export a .csv"
    assert not file.exists()


def test_another_ending_is_a_mistake(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown ending `\.xlsx`"):
        _export(tree, tmp_path / "results.xlsx")
