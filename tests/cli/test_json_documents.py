"""`--json` of every command that prints a table: standard output holds one versioned document, and nothing else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.cli import main
from harness.core.alarm import AlarmStage
from harness.core.errors import EnvironmentProblem
from harness.core.note import Note
from harness.core.result import Result
from harness.core.values import Value
from harness.flows.inspect.measured import open_document
from harness.flows.inspect.status import WatchStatus
from harness.flows.store.contents import StoreDocument
from harness.flows.store.queries import QueryDocument
from harness.flows.store.tokens import TokenList
from harness.presentation import documents
from harness.store.canonical_json import load_result
from harness.store.database.engine import open_database
from harness.store.database.writing import NewResult, store_results
from harness.testing.results import STARTED, failed_result, ok_result, report_of
from harness.watch.store.state import open_state
from reporters.local import LocalReporter
from tests.cli.project import Project, generic, observe, one_test
from tests.cli.test_import import LEADERBOARD
from tests.command_line import EVERY_COMMAND, arguments_of
from tests.presentation.comparison_samples import compared, made_pairs
from tests.watch.watching import alarm, change

WITHOUT_TABLE = {
    "watch": "shows progress; `harness status` has a document",
    "history": "writes pages; `query --json` shows the same results",
    "init": "asks a person",
    "serve": "answers programs with JSON until it is stopped",
    "lab serve": "shows progress; `harness lab status` has a document",
    "lab join": "shows progress; `harness lab status` has a document",
    "lab dispatch": "results go to the server, which has documents",
    "lab withdraw": "says one thing; `harness lab status` has a document",
    "lab return": "says one thing; `harness lab status` has a document",
    "lab check": "says one thing; `harness lab status` has a document",
    "lab certificate": "writes files",
    "schema": "prints JSON",
    "completion": "prints a script for a shell",
}
"""Commands without `--json`, and why."""

ELSEWHERE = {"bisect", "evaluate", "lab status"}
"""Commands whose document tests/e2e and tests/lab look at: they need a history, a model or a lab."""

DOCUMENTS: dict[str, type[Value] | None] = {
    "alarms": documents.AlarmsDocument,
    "builds": documents.BuildsDocument,
    "compare": documents.ResultsDocument,
    "devices": documents.DevicesDocument,
    "doctor": documents.DoctorDocument,
    "export": documents.ExportDocument,
    "profile": documents.ProfileDocument,
    "import": documents.ResultsDocument,
    "list": None,  # a list for each section
    "query": QueryDocument,
    "rank": documents.RankingDocument,
    "report": documents.ReportDocument,
    "run": documents.ResultsDocument,
    "self-check": documents.SelfCheckDocument,
    "status": WatchStatus,
    "store": StoreDocument,
    "token": TokenList,
    "validate": documents.ValidationDocument,
}


@dataclass(frozen=True)
class Surroundings:
    """What the commands show."""

    project: Project
    tree: Path
    state: Path
    spec: Path
    comparisons: Path


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Surroundings:
    for name, value in project.environment.items():
        if name.startswith("HARNESS_"):
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(project.folder)
    tree = project.folder / "results"
    for result in (ok_result(uid="one", identifier="a\u20ac[b]"), failed_result(uid="two")):
        LocalReporter(tree).report(report_of(result))
    comparisons = project.folder / "comparisons"
    LocalReporter(comparisons).report(report_of(compared("slow", made_pairs(0.05, 40))))
    with open_state(project.folder / "watch.db") as state:
        state.alarms.open(change("5f2b5f2b-mv2"), 1.0)
        state.alarms.update(alarm(AlarmStage.REPORTED, change("5f2b5f2b-mv2")))
    project.write("model.bin", "a model")
    files = {"model": {"filename": "model.bin", "location": str(project.folder / "model.bin")}}
    spec = project.write("spec.json", generic(one_test("t {n}", observe(1, 2), matrix={"n": [1, 2]}), files=files))
    return Surroundings(project, tree, project.folder / "watch.db", spec, comparisons)


def _words(command: str, here: Surroundings) -> tuple[str, ...]:
    """Return the command with arguments that keep it from reaching beyond the folder of the test."""
    arguments: dict[str, tuple[str | Path, ...]] = {
        "alarms": ("--state", here.state),
        "status": ("--state", here.state),
        "compare": ("--from", here.comparisons),
        "export": (here.spec, "-o", here.project.folder / "out"),
        "devices": ("-p", "host"),
        "import": (LEADERBOARD,),
        "profile": (here.spec,),
        "run": (here.spec,),
        "validate": (here.spec,),
    }
    if command in {"query", "store", "token"}:
        database = here.project.folder / "results.db"
        with open_database(database) as opened:
            new = [NewResult(load_result(file)) for file in sorted(here.tree.rglob("result.json"))]
            store_results(opened, new, now=STARTED)
        arguments[command] = ("list",) * (command == "token") + ("--database", database)
    if command == "self-check":
        program = here.project.write("runner", "#!/bin/sh\nexit 3\n")
        program.chmod(0o755)
        spec = here.project.write("checked.json", generic(one_test("a", "{program}")))
        arguments[command] = (spec, "--program", program, "--minutes", "0.01")
    if command == "rank":
        files = {"model": {"filename": "m.onnx", "location": str(here.project.folder / "missing.onnx")}}
        model = {"name": "m", "format": "onnx", "framework": "onnxruntime", "files": files}
        test = {"metric": "delay", "identifier": "t {recipe}", "matrix": {"recipe": [1, 2]}}
        arguments[command] = (here.project.write("ranked.json", {"model": model, "tests": [test]}),)
    return (command, *map(str, arguments.get(command, ())))


def _run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--json"])
    return int(ended.value.code or 0)


def _by_benchmark(document: dict[str, Any]) -> dict[str, Any]:
    return {result["benchmark"]["identifier"]: result for result in document["results"]}


def _document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    text = capsys.readouterr().out
    assert text.isascii()
    document: dict[str, Any] = json.loads(text)
    return document


def test_every_command_has_a_document_or_a_reason() -> None:
    assert set(EVERY_COMMAND) == DOCUMENTS.keys() | WITHOUT_TABLE.keys() | ELSEWHERE
    for name in EVERY_COMMAND:
        flags = {flag for argument in arguments_of(name) for flag in argument.names}
        assert ("--json" in flags) == (name in DOCUMENTS or name in ELSEWHERE), name


@pytest.mark.parametrize("command", DOCUMENTS)
def test_standard_output_holds_one_versioned_document(
    command: str, here: Surroundings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(*_words(command, here)) in {0, 1, 3, 4, 5}
    document = _document(capsys)
    assert document["schema_version"]
    kind = DOCUMENTS[command]
    if kind is not None:
        assert kind.model_validate_json(json.dumps(document)).model_dump(mode="json") == document


def test_listed_results_have_their_folders_and_reasons(here: Surroundings, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("report") == 0
    results = {result["uid"]: result for result in _document(capsys)["results"]}
    assert load_result(Path(results["one"]["folder"])).uid == "one"
    assert (results["one"]["median"], results["one"]["unit"]) == (0.81375, "ms")
    assert results["two"]["reason"] == "was ended by SIGSEGV without output"
    assert _run("report", str(here.tree), "--only", "*/a?[[]*") == 0
    assert [result["uid"] for result in _document(capsys)["results"]] == ["one"]


def test_problems_of_a_specification_are_in_the_document(
    here: Surroundings, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = here.project.write("broken.json", generic({"metric": "delay", "iterr": 3}))
    for place in (broken, here.project.folder):
        assert _run("validate", str(place)) == 2
        problems = _document(capsys)["problems"]
        assert {problem["file"] for problem in problems} == {str(broken)}
        assert any("iterr" in problem["message"] for problem in problems)


def test_exported_files_are_named(here: Surroundings, capsys: pytest.CaptureFixture[str]) -> None:
    output = here.project.folder / "out"
    assert _run("export", str(here.spec), "-o", str(output)) == 0
    (exported,) = _document(capsys)["files"]
    assert exported["output"] == str(output / "model.bin")
    assert (output / "model.bin").read_text() == "a model"


def test_a_verdict_is_in_the_document_and_in_the_exit_code(
    here: Surroundings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("compare", "--from", str(here.comparisons)) == 1
    (result,) = _document(capsys)["results"]
    assert result["comparison"]["verdict"] == "regression"
    assert result["metrics"][0]["samples"] == []


def test_what_is_compared_has_the_document_of_what_is_stored(
    here: Surroundings, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = here.project.write("compared.json", generic(one_test("a", "{program}"), one_test("b", "false {program}")))
    old = here.project.write("old", f"#!/bin/sh\n{observe(100, 101, 102)}\n")
    new = here.project.write("new", f"#!/bin/sh\n{observe(120, 121, 122)}\n")
    for program in (old, new):
        program.chmod(0o755)
    sides = ("--control-program", str(old), "--treatment-program", str(new))
    assert _run("compare", str(spec), *sides, "--pairs", "12", "--seed", "1") == 1
    now = _by_benchmark(_document(capsys))
    assert now["a"]["comparison"]["verdict"] == "regression"
    assert (now["b"]["outcome"], now["b"]["comparison"]["pairs"]) == ("failed", [])
    assert [metric["regressed"] for metric in now["a"]["metrics"]] == [None]
    assert _run("compare", "--from", "LAST") == 1
    again = _by_benchmark(_document(capsys))
    assert [now[name]["uid"] for name in "ab"] == [again[name]["uid"] for name in "ab"]
    assert now["a"] == again["a"]


@pytest.mark.parametrize("error", [KeyboardInterrupt("SIGINT"), EnvironmentProblem("the disk is full")], ids=type)
def test_what_was_measured_until_an_error_is_in_the_document(
    error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    def end(*results: Result) -> None:
        with open_document(Console()) as (listener,):
            for result in results:
                listener.report(report_of(result))
            raise error

    with pytest.raises(type(error)):
        end(ok_result(uid="one"))
    assert [result["uid"] for result in _document(capsys)["results"]] == ["one"]
    with pytest.raises(type(error)):
        end()
    if isinstance(error, KeyboardInterrupt):  # what was measured until then, though that is nothing
        assert _document(capsys)["results"] == []
    else:
        assert capsys.readouterr().out == ""


def test_listed_results_have_their_notes(here: Surroundings, capsys: pytest.CaptureFixture[str]) -> None:
    doubt = Note(code="busy", message="other programs took 40 % of the CPUs", trust=False)
    LocalReporter(here.tree).report(report_of(ok_result(uid="busy", notes=(doubt,))))
    assert _run("report") == 0
    results = {result["uid"]: result for result in _document(capsys)["results"]}
    assert not results["busy"]["trusted"]
    assert Note.model_validate(results["busy"]["notes"][0]) == doubt


def test_json_stands_alone(here: Surroundings, capsys: pytest.CaptureFixture[str]) -> None:
    spec = str(here.spec)
    for words in (
        ("report", "--export", "x.csv"),
        ("compare", spec, "--self-check", "--dry-run"),
        ("run", spec, "--dry-run"),
        ("run", spec, "--simple-screen-reporter"),
        ("rank", spec, "--simple-screen-reporter"),
    ):
        assert _run(*words) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "--json" in captured.err
