"""The `reproduce` line of a stored result measures the same cell again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from harness.cli import main
from harness.core.errors import ExitCode
from harness.core.result import Outcome, Result
from harness.store.canonical_json import load_result
from tests.cli.project import Project, generic, observe, one_test
from tests.cli.scripts import git_of_scripts, script, text

CALM = (1, 2, 3)


@pytest.fixture
def bench(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name, value in project.environment.items():
        if name.startswith("HARNESS_"):
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(project.folder)
    return project


def _run(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def _stored(project: Project) -> list[Result]:
    return sorted(map(load_result, (project.folder / "results").rglob("result.json")), key=lambda each: each.finished)


def _measure(project: Project, *words: object) -> list[Result]:
    """Run a command, and return the results that it stored."""
    known = {result.uid for result in _stored(project)}
    _run(*words)
    results = [result for result in _stored(project) if result.uid not in known]
    assert results
    return results


def _cell(result: Result) -> dict[str, object]:
    """Return what must be the same when a result is measured again."""
    comparison = result.comparison
    first = result.launches[0] if result.launches else None
    return {
        "benchmark": result.benchmark,
        "device": result.device.identity if result.device else None,
        "build": (result.build.digest, result.build.commit) if result.build else None,
        "control": (comparison.control.digest, comparison.metric, comparison.parameters) if comparison else None,
        "notes": {note.code for note in result.notes if note.code == "unequal_build_options"},
        "outcome": result.outcome,
        "env": first.env if first else None,
        "words": [[Path(word).name for word in command] for command in first.commands] if first else None,
        "cpus": first.cpus if first else None,
        "line": result.reproduce,
    }


def _make_rows(project: Project) -> list[Result]:
    """Measure cells of many kinds; the folders and names have blanks and other special characters."""
    folder = "my specs [1]"
    matrix = project.write(
        f"{folder}/the 'matrix' \u00fc.json",
        generic(
            one_test(
                "t {size} {mode}",
                observe(*CALM, before="# {size} {mode} {extra}"),
                matrix={
                    "size": ["1 x", "a,b"],
                    "mode": ["*", "q[1]", "x:y"],
                },
            )
        ),
    )
    plain = project.write(f"{folder}/plain.json", generic(one_test("plain", observe(*CALM)), name="other model"))
    every = project.write("list.json", {"meta": {"group": "all"}, "benchmarks": [f"{folder}/plain.json", "crash.json"]})
    same = [
        project.write(f"{name}.json", generic(one_test(name, observe(value, value, value))))
        for name, value in (("one", 1), ("two", 2))
    ]
    project.write("crash.json", generic(one_test("crash", "sh -c 'exit 3'")))
    runner = project.write("runner.json", generic(one_test("run", "{program}"), one_test("again", "{program} 2")))
    program, other = script(project, "bin/a=b c", text()), script(project, "bin/other", text())
    history = git_of_scripts(project)
    few = ("--pairs", "2", "--seed", "5")
    commits = ("--source", f"git:{history.folder}", "--frameworks-dir", history.recipes)
    return [
        *_measure(
            project,
            "-b",
            matrix.relative_to(project.folder),
            "--string-map",
            '{"extra": "e \\"f\\""}',
            "--env",
            "A=1 2",
            "B=x=y",
            "--command-args",
            "-v 'w w'",
        ),
        *_measure(project, "-b", plain, matrix, "--string-map", '{"extra": 1}', "--only", "other model/*", "*q?1?"),
        *_measure(project, "-b", *same),
        *_measure(project, "-b", every, "--timeout", "20"),
        *_measure(project, "-b", runner, "--program", f"program={program}", "--cpus", "0"),
        *_measure(project, "run", "-b", runner, *commits, "--treatment", history.commits["base"]),
        *_measure(
            project,
            "compare",
            "-b",
            runner,
            *commits,
            "--control",
            history.commits["base"],
            "--treatment",
            history.commits["slower"],
            "--unequal-options",
            "all",
            "--margin",
            "0.02",
            *few,
        ),
        *_measure(
            project,
            "compare",
            "-b",
            runner,
            "--control-program",
            f"program={program}",
            "--treatment-program",
            other,
            *few,
        ),
    ]


@pytest.mark.slow
def test_the_lines_of_twenty_rows_measure_the_same_cells(bench: Project, capfd: pytest.CaptureFixture[str]) -> None:
    rows = _make_rows(bench)
    assert len(rows) >= 20
    assert len({row.reproduce for row in rows}) == len(rows)
    for row in rows:
        words = shlex.split(row.reproduce)
        assert words[0] == "harness"
        again = _measure(bench, *words[1:])
        assert len(again) == 1, row.reproduce
        assert _cell(again[0]) == _cell(row), capfd.readouterr().err


def test_a_line_refuses_a_benchmark_that_has_changed(bench: Project, capfd: pytest.CaptureFixture[str]) -> None:
    spec = bench.write("spec.json", generic(one_test("a", observe(*CALM)), one_test("b", observe(*CALM))))
    (row,) = _measure(bench, "-b", spec, "--only", "m/a")
    words = shlex.split(row.reproduce)[1:]
    bench.write("spec.json", generic(one_test("a", observe(*CALM)), one_test("b", observe(9))))
    (again,) = _measure(bench, *words)  # the file has changed, and the benchmark has not
    assert _cell(again) == _cell(row)
    bench.write("spec.json", generic(one_test("a", observe(9)), one_test("b", observe(9))))
    capfd.readouterr()
    assert _run(*words) == ExitCode.USAGE
    assert "the specification has changed" in capfd.readouterr().err
    assert len(_stored(bench)) == 2


def test_a_line_refuses_a_runner_that_has_changed(bench: Project) -> None:
    spec = bench.write("spec.json", generic(one_test("a", "{program}")))
    program = script(bench, "runner", text())
    (row,) = _measure(bench, "-b", spec, "--program", program)
    script(bench, "runner", text(2000.0))
    (again,) = _measure(bench, *shlex.split(row.reproduce)[1:])
    assert again.outcome is Outcome.FAILED
    assert "the runner has changed" in str(again.reason)
    assert "--build-digest" in str(again.hint)


@pytest.mark.parametrize("is_named", [False, True])
def test_a_program_that_a_benchmark_does_not_start_has_no_part_in_its_result(
    bench: Project, is_named: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    spec = bench.write("spec.json", generic(one_test("bare", observe(*CALM)), one_test("started", "{program}")))
    program = script(bench, "my_program", text())
    treatment = {"commit": "abc", "programs": {"program": {"location": str(program)}}}
    given = ("--info", json.dumps({"treatment": treatment})) if is_named else ("--program", program)
    results = _measure(bench, "-b", spec, *given)
    bare, started = sorted(results, key=lambda result: result.benchmark.identifier)
    assert bare.build is not None
    assert started.build is not None
    assert (bare.build.source, bare.build.digest, started.build.source) == ("none", "", "prebuilt")
    assert bare.build.commit == ("abc" if is_named else "none")
    assert "my_program" not in bare.reproduce
    assert "my_program" in started.reproduce
    capfd.readouterr()
    (again,) = _measure(bench, *shlex.split(bare.reproduce)[1:])
    assert _cell(again) == _cell(bare)
    assert "my_program" not in "".join(capfd.readouterr())


def test_a_line_of_a_ranking_ranks_all_of_its_programs_again(bench: Project) -> None:
    program, spec = script(bench, "runner", text()), _specify_programs(bench, "abc")
    words = ("--rounds", "7", "--margin", "0.2", "--seed", "3", "--only", "m/[ab]", "--program", program)
    first = _measure(bench, "rank", "-b", spec, *words)
    lines = {frozenset(shlex.split(result.reproduce)) for result in first}
    assert len(lines) == 1
    again = _measure(bench, *shlex.split(first[0].reproduce)[1:])
    assert [_ranked(result) for result in again] == [_ranked(result) for result in first]


def test_a_line_of_a_ranking_names_the_programs_of_all_that_it_ranks(bench: Project) -> None:
    program = script(bench, "runner", text())
    spec = _specify_programs(bench, "ab", one_test("c", observe(*CALM)))
    first = _measure(bench, "rank", "-b", spec, "--rounds", "7", "--seed", "3", "--program", program)
    lines = {frozenset(shlex.split(result.reproduce)) for result in first}
    assert len(lines) == 1
    assert f"program={program}" in next(iter(lines))


def _specify_programs(bench: Project, names: str, *more: dict[str, object]) -> Path:
    """Write tests that a runner of ExecuTorch could execute; a given one is started in its place."""
    (bench.folder / "m.pte").write_bytes(b"a model")
    files = {"model": {"filename": "m.pte", "location": str(bench.folder / "m.pte")}}
    model = {"name": "m", "format": "executorch", "framework": "executorch", "files": files}
    tests = ({"identifier": name, "metric": "delay"} for name in names)
    return bench.write("spec.json", {"model": model, "tests": [*tests, *more]})


def _ranked(result: Result) -> tuple[object, ...]:
    assert result.rank is not None
    return result.benchmark, result.rank.ranking, result.rank.parameters


@pytest.mark.parametrize("exchanged", [False, True])
def test_a_line_of_a_comparison_holds_each_side_to_its_runner(bench: Project, exchanged: bool) -> None:
    spec = bench.write("spec.json", generic(one_test("a", "{program}")))
    control, treatment = script(bench, "old", text()), script(bench, "new", text(2000.0))
    sides = ("--control-program", control, "--treatment-program", treatment)
    (row,) = _measure(bench, "compare", "-b", spec, *sides, "--pairs", "2")
    older, newer = control.read_text(), treatment.read_text()
    treatment.write_text(older)
    if exchanged:
        control.write_text(newer)
    (again,) = _measure(bench, *shlex.split(row.reproduce)[1:])
    assert again.outcome is Outcome.FAILED
    assert "the runner has changed" in str(again.reason)


@pytest.mark.parametrize("compares", [False, True])
def test_programs_of_an_info_json_are_measured_again_under_their_commits(bench: Project, compares: bool) -> None:
    spec = bench.write("spec.json", generic(one_test("a", "{program} {size}"), category="{kind}"))
    programs = {"program": {"location": str(script(bench, "runner", text()))}}
    side = {"commit": "abc", "commit_time": 1, "programs": programs, "string_map": {"size": "3", "token": "t"}}
    info: dict[str, object] = {"treatment": side, "meta": {"kind": "k"}}
    if compares:
        other = {"program": {"location": str(script(bench, "older", text(2000.0)))}}
        info["control"] = {**side, "commit": "abb", "programs": other}
    (row,) = _measure(bench, "-b", spec, "--info", json.dumps(info))
    assert row.build is not None
    assert row.build.commit == "abc"
    assert '"token"' not in row.reproduce
    (again,) = _measure(bench, *shlex.split(row.reproduce)[1:])
    assert _cell(again) == _cell(row)


def test_a_line_refuses_a_file_that_has_changed(bench: Project) -> None:
    (bench.folder / "data").write_text("first")
    files = {"data": {"filename": "data", "location": str(bench.folder / "data")}}
    spec = bench.write("spec.json", generic(one_test("a", observe(*CALM), input_files=files)))
    (row,) = _measure(bench, "-b", spec)
    words = shlex.split(row.reproduce)[1:]
    assert _cell(_measure(bench, *words)[0]) == _cell(row)
    (bench.folder / "data").write_text("second")
    (again,) = _measure(bench, *words)
    assert again.outcome is Outcome.FAILED
    assert "data has changed: its MD5 is" in str(again.reason)
    assert "--file-digest" in str(again.hint)
    place = words.index("--file-digest")
    (without,) = _measure(bench, *words[:place], *words[place + 2 :])
    assert without.outcome is Outcome.OK
