"""Output of `validate` and `--dry-run`."""

from __future__ import annotations

import dataclasses
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness import plugins
from harness.config.settings import Settings
from harness.core.errors import ExitCode, SpecificationError, UsageError
from harness.flows.inspect import checks, devices
from harness.flows.measure.example_sets import open_model_cache
from harness.flows.measure.named_parts import find_problems, raise_for_problems
from harness.flows.measure.plan import Plan, assign
from harness.flows.measure.workload import load_benchmarks, load_workload
from harness.testing.progress import RecordedProgress
from harness.testing.results import DEVICE
from platforms.host.platform import Host

Members = dict[str, Any]
Write = Callable[..., Settings]
COMMAND = {"metric": "delay", "identifier": "t{ID}", "command": "true"}


def exported(definition: str, recipe: str = "portable") -> Members:
    return {"filename": "m.pte", "export": {"definition": definition, "recipe": recipe}}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a specification and returns the settings of its run."""

    def settings_of(model: Members, *tests: Members, **more: Any) -> Settings:  # noqa: ANN401 - any setting
        file = tmp_path / "spec.json"
        document = {"model": {"name": "m", "format": "f", **model}, "tests": list(tests) or [COMMAND]}
        file.write_text(json.dumps(document, indent=1))
        return Settings(benchmark_file=(file,), model_cache=tmp_path / "models", **more)

    return settings_of


def console() -> Console:
    return Console(file=io.StringIO(), width=80)


def validated(settings: Settings, to: Console | None = None) -> str:
    to = to or console()
    checks.validate(load_benchmarks(settings), settings, to)
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue()


def planned(settings: Settings, to: Console | None = None) -> str:
    to = to or console()
    benchmarks = load_benchmarks(settings)
    frameworks = {benchmark.framework: plugins.framework(benchmark.framework, settings) for benchmark in benchmarks}
    host = Host(Path(os.devnull))
    checks.show_plan(Plan(host, assign(benchmarks, [DEVICE], host), frameworks), settings, to)
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue()


def test_a_missing_framework_is_reported_once_at_the_key_that_names_it(write: Write) -> None:
    settings = write({"framework": "mxnet"}, COMMAND, COMMAND)
    (problem,) = find_problems(load_benchmarks(settings), settings)
    assert (problem.file.name, problem.pointer, problem.message) == (
        "spec.json",
        "/model/framework",
        "no framework `mxnet`",
    )
    assert "--framework generic runs commands" in (problem.hint or "")
    assert "executorch" in (problem.hint or "")
    assert problem.line is not None


def test_a_misspelt_framework_hides_no_other_mistake(write: Write) -> None:
    model = {"framework": "executorhc", "files": {"a": exported("mlpp", "xnnpack_q9")}}
    settings = write(model, {**COMMAND, "command": "x {nothing}"}, {**COMMAND, "identifier": "b", "iter": 3})
    with pytest.raises(SpecificationError) as broken:
        load_benchmarks(settings)
    assert "did you mean `mlp`?" in (broken.value.problems[1].hint or "")
    assert "did you mean `xnnpack_q8`?" in (broken.value.problems[2].hint or "")
    assert [(problem.pointer, problem.message.partition("`")[0]) for problem in broken.value.problems] == [
        ("/model/framework", "no framework "),
        ("/model/files/a", "unknown model definition "),
        ("/model/files/a", "unknown export recipe "),
        ("/tests/0/command", "unknown placeholder {nothing}"),
    ]


def test_a_definition_that_is_missing_is_listed_once_whatever_else_is(write: Write) -> None:
    backends = {"matrix": {"backend": ["xnnpack_fp32", "xnnpack_q9"]}, "identifier": "a-{backend}"}
    settings = write({"framework": "executorch", "files": {"a": exported("mlpp", "{backend}")}}, COMMAND | backends)
    with pytest.raises(SpecificationError) as broken:
        raise_for_problems(load_benchmarks(settings), settings)
    assert [problem.message for problem in broken.value.problems] == [
        "unknown model definition `mlpp`",
        "unknown export recipe `xnnpack_q9`",
    ]


def test_a_run_reports_a_misspelt_framework_with_the_other_mistakes(write: Write) -> None:
    settings = write({"framework": "executorhc", "files": {"a": exported("mlpp")}})
    with pytest.raises(SpecificationError) as broken:
        load_workload(settings)
    assert [problem.pointer for problem in broken.value.problems] == ["/model/framework", "/model/files/a"]


def test_a_framework_that_only_a_flag_names_is_a_mistake_of_the_flag(write: Write) -> None:
    settings = write({}, framework="executorhc")
    with pytest.raises(UsageError, match="no framework `executorhc`") as wrong:
        load_workload(settings)
    assert not isinstance(wrong.value, SpecificationError)


def test_missing_definitions_and_recipes_are_reported_at_their_files(write: Write) -> None:
    files = {"a": exported("mlpp"), "b": {**exported("mlp", "xnnpack_q9"), "filename": "b"}, "c": exported("mlp")}
    files["c"]["filename"] = "c"
    settings = write({"framework": "executorch", "files": files}, COMMAND, COMMAND)
    first, second = find_problems(load_benchmarks(settings), settings)
    assert (first.pointer, second.pointer) == ("/model/files/a", "/model/files/b")
    assert "mlpp" in first.message
    assert "xnnpack_q9" in second.message
    assert first.hint
    assert second.hint
    with pytest.raises(SpecificationError, match="2 problems"):
        validated(settings)


def test_an_export_needs_a_framework_with_an_exporter(write: Write) -> None:
    settings = write({"framework": "generic", "files": {"a": exported("mlp")}})
    (problem,) = find_problems(load_benchmarks(settings), settings)
    assert problem.message == "framework `generic` exports no models"
    assert problem.pointer == "/model/files/a"


def test_a_valid_specification_has_no_problems(write: Write) -> None:
    settings = write({"framework": "executorch", "files": {"model": exported("mlp")}})
    assert find_problems(load_benchmarks(settings), settings) == ()


@pytest.mark.parametrize(("tests", "words"), [(1, "1 benchmark in 1 file:"), (2, "2 benchmarks in 1 file:")])
def test_benchmarks_are_counted_in_words(write: Write, tests: int, words: str) -> None:
    assert f"{words} OK, no problems found" in validated(write({}, *[COMMAND] * tests))


@pytest.mark.parametrize(
    "test",
    [
        {**COMMAND, "command": "{program} --x"},
        {**COMMAND, "command": "{run}", "run": "nice {program}"},
        {**COMMAND, "preprocess": {"command": "{program}"}},
    ],
)
def test_a_program_not_given_is_a_remark(write: Write, test: Members) -> None:
    shown = validated(write({}, test))
    assert "remark: " in shown
    assert "{program} is not given" in shown
    assert "--program PATH" in shown
    assert "OK, with 1 remark" in shown


@pytest.mark.parametrize("more", [{"program": {"program": Path("/x")}}, {"string_map": {"program": "/x"}}])
def test_a_given_program_causes_no_remark(write: Write, more: Members) -> None:
    assert "remark" not in validated(write({}, {**COMMAND, "command": "{program}"}, **more))


def test_a_plan_shows_files_and_remarks(write: Write) -> None:
    shown = planned(write({"files": {"x": {"filename": "x", "location": "https://models.example/x"}}},
                          {**COMMAND, "command": "{program} {files.x}"}))  # fmt: skip
    assert "x (to fetch)" in shown
    assert "remark: " in shown


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"location": "gone.bin"}, "gone.bin: no such file or directory"),
        ({"location": "there.bin", "md5": "0" * 32}, "there.bin has MD5 8d777f385d3dfec8815d20f7496026dc, not 00000"),
        ({"location": "x" * 5000}, "file name too long"),
        ({"location": "."}, "is a directory"),
    ],
)
def test_a_file_that_a_run_would_miss_is_remarked_on(write: Write, tmp_path: Path, entry: Members, words: str) -> None:
    (tmp_path / "there.bin").write_text("data")
    test = {**COMMAND, "command": "cat {files.x}", "matrix": {"x": [1, 2]}}
    settings = write({"files": {"x": {"filename": "x", **entry}}}, test)
    (remark,) = checks.find_remarks(load_benchmarks(settings), settings)
    assert words in remark.message
    assert remark.pointer == "/model/files/x"


def test_files_that_are_as_promised_cause_no_remark(write: Write, tmp_path: Path) -> None:
    (tmp_path / "there.bin").write_text("data")
    good = {"filename": "x", "location": "there.bin", "md5": "8d777f385d3dfec8815d20f7496026dc"}
    endless = {"filename": "z", "location": "/dev/zero", "md5": "8d777f385d3dfec8815d20f7496026dc"}
    settings = write({"files": {"x": good, "y": {"filename": "y", "location": "there.bin"}, "z": endless}},
                     {**COMMAND, "command": "cat {files.x} {files.y} {files.z}"})  # fmt: skip
    assert checks.find_remarks(load_benchmarks(settings), settings) == ()


def test_a_missing_file_that_the_cache_has_causes_no_remark(write: Write, tmp_path: Path) -> None:
    source = tmp_path / "there.bin"
    source.write_text("data")
    promised = {"filename": "x", "location": source.name, "md5": "8d777f385d3dfec8815d20f7496026dc"}
    settings = write({"files": {"x": promised}}, {**COMMAND, "command": "cat {files.x}"})
    (benchmark,) = load_benchmarks(settings)
    open_model_cache(settings).fetch(
        benchmark.files[0], model=benchmark.model, exporter=None, progress=RecordedProgress()
    )
    source.unlink()
    assert checks.find_remarks([benchmark], settings) == ()


def test_a_plan_shows_common_properties_once(write: Write) -> None:
    same = planned(write({}, {**COMMAND, "threads": 1}, {**COMMAND, "threads": 1}))
    assert f"Plan: framework generic, device {DEVICE.name}, threads 1, launches × iterations 1\n" in same
    heading = same.splitlines()[1]
    assert "benchmark" in heading
    assert "threads" not in heading
    other = planned(write({}, {**COMMAND, "threads": 1}, {**COMMAND, "threads": 2}))
    assert "threads 1" not in other
    assert "threads" in other.splitlines()[1]


def test_a_plan_fits_eighty_columns(write: Write) -> None:
    name = "mobilenet_v2_xnnpack_q8.pte"
    files = {"model": {"filename": name, "location": f"https://models.example/{name}"}}
    tests = [{**COMMAND, "identifier": f"xnnpack_q8-t{threads}", "threads": threads} for threads in (1, 2)]
    narrow = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    lines = planned(write({"files": files}, *tests), narrow).splitlines()
    assert all(len(line) <= 80 for line in lines)
    for test in tests:
        (row,) = [line for line in lines if str(test["identifier"]) in line]
        assert f"{name} (to fetch)" in row


def test_names_are_not_interpreted_as_markup(write: Write) -> None:
    settings = write({"name": "[red]m[/red]"}, {**COMMAND, "identifier": "\x1b[31mx[/]"})
    for shown in (validated(settings), planned(settings)):
        assert "[red]m[/red]/\N{REPLACEMENT CHARACTER}[31mx[/]" in shown


def test_piped_output_is_not_wrapped(write: Write) -> None:
    name = "x" * 300
    assert name in validated(write({}, {**COMMAND, "identifier": name}))


def test_a_closed_pipe_is_ignored(write: Write) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    settings = write({"framework": "executorch", "files": {"model": exported("mlpp")}})
    with os.fdopen(writer, "w") as stream:
        checks.show_benchmarks(load_benchmarks(settings), Console(file=stream))
        with pytest.raises(SpecificationError):
            checks.validate(load_benchmarks(settings), settings, Console(file=stream))


@pytest.mark.parametrize("operator", ["|", "&&", ";", ">", "$(nproc)"])
def test_shell_operators_are_remarked_on_once(write: Write, operator: str) -> None:
    odd = {**COMMAND, "command": f"echo a {operator} b", "matrix": {"x": [1, 2]}}
    (remark,) = checks.find_remarks(load_benchmarks(settings := write({}, odd)), settings)
    assert (remark.pointer, remark.message) == ("/tests/0", f"`{operator}` in `echo a {operator} b` means nothing")
    assert "sh -c" in (remark.hint or "")
    assert "remark: " in validated(settings)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ({"program": Path("old/run")}, "--program old/run is not used"),
        ({"tool": Path("old/tool")}, "--program tool=old/tool is not used"),
        ({"data": Path("old/data"), "nm": Path("x/nm")}, "--program nm=x/nm is not used"),
    ],
)
def test_a_program_that_nothing_uses_is_remarked_on(write: Write, program: dict[str, Path], words: str) -> None:
    settings = write({}, {**COMMAND, "command": "cat {data}"}, program={"data": Path("data")} | program)
    (remark,) = checks.find_remarks(load_benchmarks(settings), settings)
    assert remark.message.startswith(words)


def test_a_program_that_is_named_by_its_file_is_used(write: Write) -> None:
    settings = write({}, {**COMMAND, "command": "{TGTDIR}/run"}, program={"program": Path("old/run")})
    assert checks.find_remarks(load_benchmarks(settings), settings) == ()


def test_quoted_shell_operators_are_ignored(write: Write) -> None:
    settings = write({}, {**COMMAND, "command": "sh -c 'echo a | wc > b'"})
    assert checks.find_remarks(load_benchmarks(settings), settings) == ()


def test_a_closed_pipe_is_ignored_when_listing_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "installed_names", lambda kind: ("host",))
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        assert devices.list_devices(Settings(), Console(file=stream)) is ExitCode.OK


def test_files_are_checked_on_their_own_where_that_is_asked_for(write: Write, tmp_path: Path) -> None:
    settings = write({"framework": "generic"}, COMMAND)
    other = tmp_path / "other.json"
    other.write_text((tmp_path / "spec.json").read_text())
    both = dataclasses.replace(settings, benchmark_file=(*settings.benchmark_file, other))
    with pytest.raises(SpecificationError, match="two benchmarks are called"):
        load_benchmarks(both)
    stream = io.StringIO()
    checks.validate_each(both, Console(file=stream))
    assert "2 benchmarks in 2 files: OK" in stream.getvalue()
    assert "remark" not in stream.getvalue()
    first, _ = both.benchmark_file
    content = first.read_text()
    first.write_text(content.replace('"delay"', '"dely"'))
    checks.validate_each(both, Console(file=stream, width=200))
    assert f"remark: {first}" in stream.getvalue()
    first.write_text(content)
    for file in both.benchmark_file:
        file.write_text(file.read_text().replace('"command"', '"comand"'))
    with pytest.raises(SpecificationError) as raised:
        checks.validate_each(both, Console(file=stream))
    assert list(dict.fromkeys(problem.file for problem in raised.value.problems)) == list(both.benchmark_file)


@pytest.mark.parametrize(("metric", "meant"), [("dely", "delay"), ("accurracy", "accuracy"), ("energie", "energy")])
def test_a_misspelt_metric_is_told_and_does_no_harm(write: Write, metric: str, meant: str) -> None:
    shown = validated(write({}, {**COMMAND, "metric": metric}))
    assert f"`{metric}` is a word of your own" in shown
    assert f"did you mean `{meant}`?" in shown


@pytest.mark.parametrize("metric", ["delay", "energy", "throughput", "load", "size"])
def test_other_words_for_a_metric_are_passed_over(write: Write, metric: str) -> None:
    assert "did you mean" not in validated(write({}, {**COMMAND, "metric": metric}))
