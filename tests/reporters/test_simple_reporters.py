"""Reporters for scripts: one file, or one line, of JSON per result."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from harness.config.settings import Settings
from harness.core.errors import ReporterFailed
from harness.core.result import Result
from harness.testing.results import LATENCIES_MS, failed_result, ok_result, report_of
from reporters import simple_local, simple_screen
from reporters.screen import ScreenReporter
from reporters.simple_local import SimpleLocalReporter
from reporters.simple_screen import SimpleScreenReporter

_INTO_A_PIPE = """
import sys
from harness.core.errors import ReporterFailed
from harness.testing.results import ok_result, report_of
from reporters.simple_screen import SimpleScreenReporter
reporter = SimpleScreenReporter(sys.stdout)
failures = 0
for _ in range(3):
    try:
        reporter.report(report_of(ok_result()))
    except ReporterFailed:
        failures += 1
reporter.close()
sys.exit(40 + failures)
"""


def test_simple_reporters_are_created_only_on_request(tmp_path: Path) -> None:
    assert simple_local.create(Settings()) is None
    assert simple_screen.create(Settings()) is None
    assert simple_local.create(Settings(simple_local_reporter=tmp_path)) is not None
    assert simple_screen.create(Settings(simple_screen_reporter=True)) is not None


def test_a_file_holds_one_line_that_reads_back_equal(tmp_path: Path) -> None:
    result = ok_result(model="a/b\u2028", meta={"text": "line\nline"})
    place = SimpleLocalReporter(tmp_path).report(report_of(result, stdout="not kept"))
    assert place == str(tmp_path / "a%2Fb%E2%80%A8" / "mv2-xnnpack_fp32-t1" / "0" / "data.txt")
    text = Path(place).read_text(encoding="ascii")
    assert text.splitlines() == [text.rstrip("\n")]
    assert Result.model_validate_json(text) == result


def test_equal_identifiers_of_two_models_and_two_runs_are_all_kept(tmp_path: Path) -> None:
    results = [ok_result(model=model, identifier="0") for model in ("mv2", "mv3", "mv2")]
    for result in results:
        SimpleLocalReporter(tmp_path).report(report_of(result))
    kept = {Result.model_validate_json(path.read_bytes()).uid for path in tmp_path.rglob("data.txt")}
    assert kept == {result.uid for result in results}


def test_existing_files_in_the_folder_are_kept(tmp_path: Path) -> None:
    existing = tmp_path / "mv2" / "0" / "notes.txt"
    existing.parent.mkdir(parents=True)
    existing.write_text("mine")
    SimpleLocalReporter(tmp_path).report(report_of(ok_result(identifier="0")))
    assert existing.read_text() == "mine"


def test_a_line_is_the_result_without_samples_and_launches() -> None:
    stream = io.StringIO()
    result = ok_result(meta={"text": "two\nlines \u2028 and ü"})
    SimpleScreenReporter(stream).report(report_of(result))
    (line,) = stream.getvalue().splitlines()
    document = json.loads(line)
    assert "launches" not in document
    assert all(not {"samples", "launches"} & set(metric) for metric in document["metrics"])
    assert document["metrics"][0]["summary"]["n"] == len(LATENCIES_MS)
    read = Result.model_validate_json(line)
    assert (read.uid, read.meta, read.benchmark) == (result.uid, result.meta, result.benchmark)


def test_each_line_is_flushed_at_once() -> None:
    reader, writer = os.pipe()
    with open(writer, "w") as stream, open(reader, "rb") as lines:  # noqa: PTH123 - descriptors, not paths
        reporter = SimpleScreenReporter(stream)
        for result in (ok_result(), failed_result()):
            reporter.report(report_of(result))
            assert json.loads(lines.readline())["uid"] == result.uid


def test_a_closed_stream_is_a_failure_each_time() -> None:
    stream = io.StringIO()
    stream.close()
    reporter = SimpleScreenReporter(stream)
    for _ in range(2):
        with pytest.raises(ReporterFailed, match="closed file"):
            reporter.report(report_of(ok_result()))


def test_a_closed_pipe_is_reported_for_every_result_and_keeps_the_exit_status() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _INTO_A_PIPE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    error_text = process.stderr.read()
    process.stderr.close()
    assert (process.wait(30), error_text) == (43, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_is_a_failure_and_keeps_the_exit_status() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", _INTO_A_PIPE], stdout=full, stderr=subprocess.PIPE, timeout=30, check=False
        )
    assert (done.returncode, done.stderr) == (43, b"")


def test_a_table_that_cannot_be_shown_lacks_all_results() -> None:
    stream = io.StringIO()
    reporter = ScreenReporter(Console(file=stream))
    for _ in range(2):
        reporter.report(report_of(ok_result()))
    stream.close()
    assert reporter.unreported == 0
    with pytest.raises(ReporterFailed):
        reporter.close()
    assert reporter.unreported == 2
