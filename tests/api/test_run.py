"""`harness.run`: measurements from Python."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.api import keywords as keywords_of_run
from tests.cli.project import generic, observe, one_test
from tests.processes import is_running, wait_until

GOOD = observe(1, 2, 3, 4, 5, 6)
BAD = observe(after="raise SystemExit(3)")


def write(place: Path, content: dict[str, Any]) -> Path:
    path = place / "spec.json"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("spec", [3, None, [3]])
def test_what_is_no_specification_is_refused_with_what_is_one(spec: object) -> None:
    with pytest.raises(harness.UsageError) as refused:
        harness.run(spec)  # type: ignore[arg-type]
    assert "specification" in refused.value.message
    assert refused.value.hint


def test_a_run_returns_its_results_and_prints_nothing(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    results = harness.run(write(place, generic(one_test("a", GOOD))))
    assert capfd.readouterr() == ("", "")
    assert [result.benchmark.identifier for result in results] == ["a"]
    assert results.ok
    assert results[0].ok
    metric = results[0].metric("NET latency")
    assert metric is not None
    assert metric.median == 3.5
    assert any("1 ok" in message for message in results.messages)
    assert harness.load(place / "results").results == results.results


def test_a_failure_is_a_result(place: Path) -> None:
    results = harness.run(write(place, generic(one_test("bad", BAD), one_test("good", GOOD))))
    assert not results.ok
    assert results.exit_code is harness.ExitCode.BENCHMARK_FAILED
    assert [result.benchmark.identifier for result in results.failed] == ["bad"]
    assert results.failed[0].outcome is harness.Outcome.FAILED
    assert results.failed[0].reason
    assert len(results) == 2


def test_a_dictionary_is_a_specification(place: Path) -> None:
    (place / "in.txt").write_text("data")
    spec = generic(
        one_test("a", observe(1, 2, 3), files={"data": {"filename": "in.txt", "location": "in.txt"}}), tags=("quick",)
    )
    results = harness.run(spec, only="tag:quick", meta={"purpose": "test"})
    assert results.ok, results
    assert results[0].meta["purpose"] == "test"
    assert (results[0].reproduction, results[0].reproduce) == (None, "")
    assert results[0].files["files.data"].size_bytes == 4


def test_a_mistake_in_a_dictionary_is_named_by_its_place() -> None:
    with pytest.raises(harness.SpecificationError) as raised:
        harness.run(generic({**one_test("a", GOOD), "iterr": 3}))
    assert "<specification>: /tests/0/iterr: unknown key `iterr`" in str(raised.value)
    assert "did you mean `iter`?" in str(raised.value)


def test_default_arguments_of_a_dictionary_count_below_keywords() -> None:
    spec = {**generic(one_test("a", GOOD), one_test("b", GOOD)), "default_args": {"only": "*a"}}
    assert [result.benchmark.identifier for result in harness.run(spec)] == ["a"]
    assert [result.benchmark.identifier for result in harness.run(spec, only="*b")] == ["b"]
    with pytest.raises(harness.UsageError, match="a specification may not set `local_reporter`"):
        harness.run({**spec, "default_args": {"local_reporter": "/tmp/elsewhere"}})
    with pytest.raises(harness.UsageError, match="no setting `onlyy`"):
        harness.run({**spec, "default_args": {"onlyy": "*a"}})


def test_several_specifications_are_measured_in_one_run(place: Path) -> None:
    file = write(place, generic(one_test("a", GOOD)))
    other = generic(one_test("b", GOOD))
    assert [result.benchmark.identifier for result in harness.run([file, other])] == ["a", "b"]
    assert [result.benchmark.identifier for result in harness.run(str(file))] == ["a"]
    with pytest.raises(harness.UsageError, match="no specification"):
        harness.run([])


def test_names_of_built_in_specifications_are_known() -> None:
    (file,) = keywords_of_run.read_run("mv2", {}).settings.benchmark_file
    assert file.name == "mv2.json"
    with pytest.raises(harness.UsageError, match="mv2"):
        harness.run("mv22")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"timout": 3}, "harness.run takes no option `timout`\n  hint: did you mean `timeout`?"),
        ({"timeout": -1}, "--timeout -1"),
        ({"dry_run": True}, "harness.run takes no option `dry_run`"),
        ({"control": "1.0"}, "harness.run takes no option `control`\n  hint: harness.compare takes it"),
        ({"run_type": "weekly"}, "run_type 'weekly': not one of benchmark, verify, regress"),
        ({"reporters": ["htlm"]}, "htlm"),
    ],
)
def test_wrong_keywords_are_refused(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(harness.UsageError) as raised:
        harness.run(generic(one_test("a", GOOD)), options=keywords)
    assert message in str(raised.value)


def test_a_reporter_writes_to_standard_output_only_if_a_keyword_asks(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HARNESS_SCREEN_REPORTER", "true")
    file = write(place, generic(one_test("a", GOOD)))
    harness.run(file)
    assert capfd.readouterr().out == ""
    harness.run(file, screen_reporter=True)
    assert "a" in capfd.readouterr().out


def test_progress_goes_to_standard_error_if_asked_and_always_to_the_log(
    place: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    file = write(place, generic(one_test("a", GOOD)))
    with caplog.at_level(logging.INFO, logger="harness"):
        results = harness.run(file, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert results.messages[-1] in err
    assert results.messages[-1] in caplog.messages


def test_a_reporter_that_fails_is_in_the_exit_code_and_the_messages(place: Path) -> None:
    folder = place / "pages"
    replace = f"import pathlib, shutil; p = {str(folder)!r}; shutil.rmtree(p); pathlib.Path(p).write_text('')"
    spec = generic(one_test("a", observe(1, 2, 3, before=replace)))
    results = harness.run(spec, reporters={"html": str(folder / "page.html")})
    assert results[0].ok
    assert results.exit_code is harness.ExitCode.ENVIRONMENT
    assert any("reporter html" in message for message in results.messages)


def test_it_runs_in_any_thread_and_leaves_the_handlers_of_signals_alone(place: Path) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    file = write(place, generic(one_test("a", observe(1, 2, 3))))
    returned: list[harness.Results] = []
    thread = threading.Thread(target=lambda: returned.append(harness.run(file)))
    thread.start()
    thread.join()
    assert returned[0].ok
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == handlers


def test_an_interruption_ends_the_program_that_is_measured(place: Path) -> None:
    note = place / "pid"
    before = f"import os, time, pathlib; pathlib.Path({str(note)!r}).write_text(str(os.getpid())); time.sleep(600)"
    spec = generic(one_test("slow", observe(1, before=before)), one_test("never", GOOD))

    def interrupt() -> None:
        wait_until(lambda: note.exists() and note.read_text() != "")
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        harness.run(spec)
    thread.join()
    assert not is_running(int(note.read_text()))
    assert harness.run(generic(one_test("next", GOOD))).ok  # the process goes on
