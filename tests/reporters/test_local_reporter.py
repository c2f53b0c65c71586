"""Tree of results: the folder of each, its files, and failures that do not lose it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.errors import EnvironmentProblem, ReporterFailed
from harness.core.result import Outcome, RawLog, Report, Result
from harness.store.canonical_json import load_result
from harness.store.index import read_index, rebuild_index
from harness.store.tree import DRAFTS
from harness.testing.results import BUILD, DEVICE, failed_result, ok_result, report_of
from reporters.local import LocalReporter, create

_REPORT_MANY = """
import sys
from pathlib import Path
from harness.testing.results import ok_result, report_of
from reporters.local import LocalReporter
reporter = LocalReporter(Path(sys.argv[1]))
for i in range(int(sys.argv[2])):
    reporter.report(report_of(ok_result(), stdout=f"line {i}"))
"""


def _keep(folder: Path, result: Result, **logs: str) -> Path:
    return Path(LocalReporter(folder).report(report_of(result, **logs)))


def _draft_names(folder: Path) -> list[str]:
    """The hidden files that are left, but for a lock and the folder of drafts, which is empty."""
    return [path.name for path in folder.rglob(".*") if path.name not in {".index.lock", DRAFTS}]


def test_the_local_reporter_is_always_active(tmp_path: Path) -> None:
    assert create(Settings(local_reporter=tmp_path)) is not None


def test_the_path_is_fai_peps_hierarchy(tmp_path: Path) -> None:
    place = _keep(tmp_path, ok_result())
    assert place.relative_to(tmp_path).as_posix() == (
        "Example%20CPU%20@%202.10GHz/executorch/mv2/delay/mv2-xnnpack_fp32-t1/2025/10/02/1.5.1/0"
    )


def test_without_a_commit_time_the_date_is_that_of_the_measurement(tmp_path: Path) -> None:
    build = BUILD.model_copy(update={"commit_time": None})
    assert _keep(tmp_path, ok_result(build=build)).parts[-5:] == ("2025", "10", "09", "1.5.1", "0")


@pytest.mark.parametrize("seconds", [-1, 0, 10**18])
def test_an_invalid_commit_time_does_not_lose_the_result(tmp_path: Path, seconds: int) -> None:
    place = _keep(tmp_path, ok_result(build=BUILD.model_copy(update={"commit_time": seconds})))
    assert place.parts[-5:-2] == (("9999", "12", "31") if seconds > 0 else ("1970", "01", "01"))


def test_the_path_marks_a_missing_device_or_build(tmp_path: Path) -> None:
    place = _keep(tmp_path, failed_result(Outcome.SKIPPED, device=None, build=None))
    parts = place.relative_to(tmp_path).parts
    assert (parts[0], parts[-2]) == ("no-device", "no-commit")


@pytest.mark.parametrize(
    ("name", "kind", "folder"), [("", "Pixel 8", "Pixel%208"), ("null", "", "host"), (" ", "", "host")]
)
def test_the_device_folder_is_never_empty_or_null(tmp_path: Path, name: str, kind: str, folder: str) -> None:
    device = DEVICE.model_copy(update={"name": name, "kind": kind})
    assert _keep(tmp_path, ok_result(device=device)).relative_to(tmp_path).parts[0] == folder


def test_a_result_reads_back_equal(tmp_path: Path) -> None:
    result = ok_result(meta={"nested": {"list": [1, 2.5, None, "ü"]}})
    place = _keep(tmp_path, result)
    assert load_result(place) == result
    assert load_result(place / "result.json") == result


def test_the_file_is_exactly_the_canonical_result(tmp_path: Path) -> None:
    result = ok_result()
    text = (_keep(tmp_path, result) / "result.json").read_text(encoding="utf-8")
    assert json.loads(text) == result.model_dump(mode="json")
    assert text.count("\n") > 50


def test_logs_are_kept_as_they_were_written(tmp_path: Path) -> None:
    place = _keep(tmp_path, ok_result(), **{"launch-0.stdout": "a\r\nb\n", "../odd": "x"})
    assert (place / "logs" / "launch-0.stdout.txt").read_bytes() == b"a\r\nb\n"
    assert (place / "logs" / "%2E.%2Fodd.txt").read_bytes() == b"x"


def test_logs_of_one_name_are_all_kept(tmp_path: Path) -> None:
    logs = tuple(RawLog(name="stdout", text=text) for text in ("one", "two", "three"))
    place = Path(LocalReporter(tmp_path).report(Report(result=ok_result(), logs=logs)))
    assert sorted(path.read_text() for path in (place / "logs").iterdir()) == ["one", "three", "two"]


def test_folder_numbers_continue(tmp_path: Path) -> None:
    assert [_keep(tmp_path, ok_result()).name for _ in range(12)] == [str(n) for n in range(12)]


def test_an_existing_number_is_not_reused(tmp_path: Path) -> None:
    first = _keep(tmp_path, ok_result())
    (first.parent / "1").write_text("somebody's file")
    assert _keep(tmp_path, ok_result()).name == "2"
    assert (first.parent / "1").read_text() == "somebody's file"


def test_a_folder_that_cannot_be_created_is_reported_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ReporterFailed, match="Not a directory") as failure:
        LocalReporter(tmp_path / "file").report(report_of(ok_result()))
    assert "--local-reporter" in (failure.value.hint or "")


def test_an_unwritable_index_does_not_lose_the_result(tmp_path: Path) -> None:
    (tmp_path / "index.jsonl").mkdir()
    with pytest.raises(ReporterFailed, match="is kept in") as failure:
        LocalReporter(tmp_path).report(report_of(ok_result(uid="kept")))
    assert "index.jsonl" in (failure.value.hint or "")
    assert [load_result(path).uid for path in tmp_path.rglob("result.json")] == ["kept"]


def test_loading_names_the_problem(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="No such file"):
        load_result(tmp_path / "0")
    (tmp_path / "result.json").write_text('{"schema_version": "9.0"}')
    with pytest.raises(EnvironmentProblem, match="schema_version"):
        load_result(tmp_path)


@pytest.mark.slow
def test_two_processes_never_share_a_folder_or_a_line(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", _REPORT_MANY, str(tmp_path), "50"]
    processes = [subprocess.Popen(argv) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    folders = list(tmp_path.rglob("result.json"))
    lines = (tmp_path / "index.jsonl").read_text().splitlines()
    assert (len(folders), len(lines)) == (100, 100)
    assert {load_result(folder).uid for folder in folders} == {json.loads(line)["uid"] for line in lines}
    assert {folder.parent.name for folder in folders} == {str(n) for n in range(100)}
    assert _draft_names(tmp_path) == []


def test_invalid_unicode_does_not_lose_the_result(tmp_path: Path) -> None:
    launch = ok_result().launches[0].model_copy(update={"commands": (("runner", os.fsdecode(b"\xff.pte")),)})
    result = ok_result(identifier="\ud800").model_copy(update={"launches": (launch,)})
    place = _keep(tmp_path, result)
    kept = load_result(place)
    assert (kept.uid, kept.benchmark.identifier) == (result.uid, "\ufffd")
    assert kept.launches[0].commands == (("runner", "\ufffd.pte"),)
    assert [note.code for note in kept.notes] == ["replaced_text"]
    assert read_index(tmp_path).entries == rebuild_index(tmp_path).entries
