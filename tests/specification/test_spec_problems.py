"""Every kind of problem, with its place and its remedy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from harness.core.errors import ExitCode, Problem, SpecificationError
from harness.specification.document import Findings, Problems, SpecificationDocument
from harness.specification.load import LoadOptions, load
from harness.specification.scope import PlaceholderScope

Members = dict[str, JsonValue]
Complain = Callable[..., Sequence[Problem]]

FILE: Members = {"filename": "m.pte", "location": "m.pte"}
EXPORT: Members = {"definition": "add", "recipe": "portable"}

MODEL_PROBLEMS: list[tuple[Members, str, str, str]] = [
    ({"repaet": 3}, "/model/repaet", "unknown key `repaet`", "did you mean `repeat`?"),
    ({"colour": 3}, "/model/colour", "unknown key `colour`", "allowed when a placeholder uses it: {colour}"),
    ({"repeat": 0}, "/model/repeat", "must be at least 1, got 0", ""),
    ({"repeat": 1.5}, "/model/repeat", "expected a whole number, got 1.5", ""),
    ({"repeat": 2.0}, "/model/repeat", "expected a whole number, got 2.0", "write it as a whole number: 2"),
    ({"timeout": 0}, "/model/timeout", "must be more than 0, got 0", ""),
    ({"repeat_precision": 2}, "/model/repeat_precision", "must be less than 1, got 2", "did you mean 0.02?"),
    ({"cooldown": -1}, "/model/cooldown", "must be at least 0, got -1", ""),
    ({"cooldown": "3"}, "/model/cooldown", 'expected a number, got "3"', "without quotes: 3"),
    ({"name": ""}, "/model/name", "must not be empty", ""),
    ({"name": 5}, "/model/name", "expected text, got 5", 'in quotes: "5"'),
    ({"name": None}, "/model/name", "expected text, got null", "remove the key"),
    ({"log_output": "yes"}, "/model/log_output", 'expected true or false or "true" or "false", got "yes"', ""),
    ({"app": {"package": "p"}}, "/model/app", "`activity` is missing", "an app for iPhones has `tests`"),
    ({"app": {"package": "p", "tests": "T"}}, "/model/app/tests", "'T' is not the name of a bundle of tests", "NAME."),
    ({"app": {"package": "p", "tests": "../T.xctest"}}, "/model/app/tests", "is not the name of a bundle", "NAME."),
    (
        {"app": {"package": "p", "activity": ".A", "tests": "T.xctest"}},
        "/model/app/activity",
        "`tests` and `activity` are both given",
        "keep `tests`",
    ),
    (
        {"app": {"package": "p", "result": "r", "tests": "T.xctest"}},
        "/model/app/result",
        "`tests` and `result` are both given",
        "keep `tests`",
    ),
    ({"platform": 3}, "/model/platform", "expected text, got 3", "in quotes"),
    ({"files": {"x": {"location": "m"}}}, "/model/files/x", "`filename` is missing", ""),
    ({"files": {"x": 5}}, "/model/files/x", "expected an object or a list, got 5", ""),
    ({"files": {"x": [FILE, {**FILE, "m": 1}]}}, "/model/files/x/1/m", "unknown key `m`", "known keys: filename"),
    ({"files": {"x": {"filename": "m"}}}, "/model/files/x", "neither `location` nor `export`", "either"),
    ({"files": {"x": {**FILE, "export": EXPORT}}}, "/model/files/x", "both `location` and `export`", "either"),
    ({"files": {"x": {**FILE, "md5": "abc"}}}, "/model/files/x/md5", "'abc' is not an MD5", "md5sum"),
    ({"files": {"x": {**FILE, "location": "//m"}}}, "/model/files/x", "the model folder", "--root-model-dir"),
    ({"files": {"x": {**FILE, "location": "s3://m"}}}, "/model/files/x", "unsupported scheme", "use https://"),
    ({"files": {"x": {**FILE, "location": "m\0"}}}, "/model/files/x", "NUL", ""),
    ({"files": {"x": {**FILE, "filename": "../m"}}}, "/model/files/x/filename", "leaves its folder", "plain name"),
    ({"files": {"x": {**FILE, "filename": "/m"}}}, "/model/files/x/filename", "is absolute", "plain name"),
    ({"files": {"x": {**FILE, "filename": ""}}}, "/model/files/x/filename", "is empty", "plain name"),
    ({"files": {"x": {**FILE, "filename": "a\\b"}}}, "/model/files/x/filename", "backslash", "plain name"),
    ({"files": {"x": {**FILE, "filename": "a\0b"}}}, "/model/files/x/filename", "NUL", "plain name"),
    (
        {"files": {"x": FILE, "y": {**FILE, "location": "other"}}},
        "/model/files/y",
        "files.y and files.x are different files with the same filename 'm.pte'",
        "different filenames",
    ),
    (
        {"files": {"x": {"filename": "m", "export": {**EXPORT, "seed": -1}}}},
        "/model/files/x/export/seed",
        "must be at least 0",
        "",
    ),
    (
        {"files": {"x": {"filename": "m", "export": {**EXPORT, "inputs": {"i": {"shape": [1], "type": "flot"}}}}}},
        "/model/files/x/export/inputs/i/type",
        "unknown element type `flot`",
        "did you mean `float`?",
    ),
    (
        {"files": {"x": {"filename": "m", "export": {"definition": "{x}", "recipe": "p"}}}},
        "/model/files/x/export/definition",
        "unknown placeholder {x}",
        "--string-map",
    ),
    ({"group": "{TGTDIR}"}, "/model/group", "too late here", ""),
    ({"platform_args": {"retry": 3}}, "/model/platform_args/retry", "not supported yet (`retry`)", "remove"),
    ({"preprocess": {"commands": ["{a}"]}}, "/model/preprocess/commands/0", "unknown placeholder {a}", ""),
    (
        {"preprocess": {"command": "x", "commands": ["y"]}},
        "/model/preprocess/command",
        "`commands` and `command` are both given",
        "",
    ),
    (
        {"postprocess": {"command": "x", "platform_args": {"taskset": "f"}}},
        "/model/postprocess/platform_args/taskset",
        "`taskset` is not supported for commands on the host",
        "only `timeout` is",
    ),
    ({"postprocess": {"files": {"x": FILE}}}, "/model/postprocess/files", "files but no commands", "commands"),
    ({"command_args": "--x 'y"}, "/model/command_args", "cannot be split into words: no closing quotation", ""),
]

TEST_PROBLEMS: list[tuple[Members, str, str, str]] = [
    ({"iters": 5}, "/tests/0/iters", "unknown key `iters`", "did you mean `iter`?"),
    ({"iters": [5]}, "/tests/0/iters", "unknown key `iters`", "did you mean `iter`?"),
    ({"x": [5], "command": "{x}"}, "/tests/0/x", "expected text or true or false or a whole number", ""),
    ({"metric": None}, "/tests/0", "`metric` is missing", ""),
    ({"identifier": None}, "/tests/0", "`identifier` is missing", "{ID}"),
    ({"identifier": "{identifier}"}, "/tests/0/identifier", "refers to itself", ""),
    ({"identifier": "{INDEX}"}, "/tests/0/identifier", "too late here", ""),
    ({"iter": 0}, "/tests/0/iter", "must be -1 or at least 1, got 0", ""),
    ({"matrix": {"iter": [0, 5]}}, "/tests/0/matrix/iter/0", "should be -1 or greater than or equal to 1", ""),
    ({"iter": True}, "/tests/0/iter", "expected -1 or a whole number, got true", ""),
    ({"commands": "x", "command": None}, "/tests/0/commands", "expected a list", "use `command`"),
    ({"commands": [], "command": None}, "/tests/0/commands", "must have at least one item", ""),
    ({"commands": ["x"]}, "/tests/0/command", "`commands` and `command` are both given", "keep one of them"),
    ({"arguments": "x"}, "/tests/0/arguments", "`command` and `arguments` are both given", "keep one of them"),
    ({"command": "{itr}"}, "/tests/0/command", "unknown placeholder {itr}", "did you mean {iter}?"),
    ({"command": "{files.x}"}, "/tests/0/command", "unknown placeholder {files.x}", ""),
    ({"command": "echo 'a"}, "/tests/0/command", "cannot be split into words", ""),
    ({"command": "{a}", "a": "{b}", "b": "{a}"}, "/tests/0/command", "refers to itself: {a} -> {b} -> {a}", ""),
    ({"command": None}, "/tests/0", "the test has no commands, and no framework", "--framework"),
    ({"profiler": {"enable": True}}, "/tests/0/profiler/enable", "unknown key", "enabled"),
    ({"probes": [{"options": {}}]}, "/tests/0/probes/0", "name", ""),
    ({"monsoon": {"voltage": 4}}, "/tests/0/monsoon", "a power meter outside a test of `power` is", ""),
    ({"collection_time": 5}, "/tests/0/collection_time", "a power meter outside a test of `power` is", ""),
    ({"voltage": 4.2}, "/tests/0/voltage", "a power meter outside a test of `power` is", ""),
    ({"degrade": {"cpu": {}}}, "/tests/0/degrade", "degrading a device is not supported yet", ""),
    ({"platform_args": {"shell": True}}, "/tests/0/platform_args/shell", "through a shell is not supported", ""),
    ({"platform_args": {"tasket": "f"}}, "/tests/0/platform_args/tasket", "unknown key `tasket`", "`taskset`"),
    ({"platform_args": {"taskset": "xyz"}}, "/tests/0/platform_args/taskset", "not a hexadecimal mask", ""),
    ({"platform_args": {"taskset": "0"}}, "/tests/0/platform_args/taskset", "not a hexadecimal mask", ""),
    ({"cpu-list": "3-1"}, "/tests/0/cpu-list", "'3-1' is not a list of CPUs", ""),
    ({"cpu-list": "a"}, "/tests/0/cpu-list", "'a' is not a list of CPUs", ""),
    ({"cpu-list": 99999}, "/tests/0/cpu-list", "there is no CPU 99999", ""),
    (
        {"cpu-list": 1, "platform_args": {"taskset": "f"}},
        "/tests/0/cpu-list",
        "and `platform_args.taskset` are both given",
        "",
    ),
    ({"statistics": ["p101"]}, "/tests/0/statistics/0", "unknown statistic `p101`", "p0 to p100"),
    ({"statistics": ["mean", "stddev"]}, "/tests/0/statistics/1", "unknown statistic `stddev`", "`stdev`"),
    ({"env": {"A=B": 1}}, "/tests/0/env/A=B", "'A=B' is not a name of an environment variable", ""),
    ({"env": {"A": "{x}"}}, "/tests/0/env/A", "unknown placeholder {x}", ""),
    ({"env": {"A": [1]}}, "/tests/0/env/A", "got a list", ""),
    ({"threads": 0}, "/tests/0/threads", "must be at least 1", ""),
    ({"inputs": {"x": {}}}, "/tests/0/inputs/x", "needs either `shape` or `shapes`", ""),
    ({"inputs": {"x": {"shape": [1], "shapes": [[1]]}}}, "/tests/0/inputs/x", "either `shape` or `shapes`", ""),
    ({"inputs": {"x": {"shape": [0]}}}, "/tests/0/inputs/x/shape/0", "must be at least 1", ""),
    ({"inputs": {"x": {"shape": "1,3"}}}, "/tests/0/inputs/x/shape", "expected a list", "in brackets: [1, 3]"),
    ({"inputs": {"x": {"shape": "1x3x8"}}}, "/tests/0/inputs/x/shape", "expected a list", "in brackets: [1, 3, 8]"),
    ({"inputs": [[1, 3]]}, "/tests/0/inputs", "expected an object, got a list", 'name each of them: { "NAME": ... }'),
    ({"inputs": {"x": {"shapes": []}}}, "/tests/0/inputs/x/shapes", "must have at least one item", ""),
    ({"inputs": {"x": {"shape": [1], "type": "int9"}}}, "/tests/0/inputs/x/type", "unknown element type", "int"),
    (
        {"inputs": {"x": {"shapes": [[1], [2]]}, "y": {"shapes": [[1]]}}},
        "/tests/0/inputs",
        "different numbers of shapes: `x` 2, `y` 1",
        "i-th shape",
    ),
    (
        {"output_files": {"o": {"filename": "o", "location": "{TGTDIR}/o", "upload": True}}},
        "/tests/0/output_files/o/upload",
        "uploading is not supported yet",
        "",
    ),
    (
        {"output_files": {"o": {"filename": "o", "location": "{TGTDIR}/o", "md5": "a"}}},
        "/tests/0/output_files/o/md5",
        "MD5 of an output file is not supported yet",
        "",
    ),
    (
        {"output_files": {"o": {"filename": "../o", "location": "{TGTDIR}/o"}}},
        "/tests/0/output_files/o/filename",
        "leaves its folder",
        "",
    ),
    (
        {"output_files": {"o": [{"filename": "o", "location": "{TGTDIR}/o", "upload": True}]}},
        "/tests/0/output_files/o/0/upload",
        "uploading is not supported yet",
        "",
    ),
    (
        {"output_files": {"o": [{"filename": "o", "location": "a"}, {"filename": "o", "location": "b"}]}},
        "/tests/0/output_files/o/1/filename",
        "output_files.o.1 and output_files.o.0 have the same filename 'o'",
        "different filenames",
    ),
    (
        {"input_files": {"i": {"filename": "i", "location": "{TGTDIR}/i"}}},
        "/tests/0/input_files/i/location",
        "a file that is already on the device is not supported yet",
        "{HOSTDIR}",
    ),
    (
        {"input_files": {"i": {"filename": "i", "location": "{input_files.i}.x"}}},
        "/tests/0/input_files/i",
        "placeholder {input_files.i} refers to itself",
        "{HOSTDIR}",
    ),
    (
        {"preprocess": {"command": "x", "files": {"x": FILE, "y": {**FILE, "location": "other"}}}},
        "/tests/0/preprocess/files/y",
        "preprocess.files.y and preprocess.files.x are different files with the same filename 'm.pte'",
        "different filenames",
    ),
    (
        {"commands": {"caffe2": {}}, "command": None},
        "/tests/0/commands",
        "expected a list, got an object",
        "FAI-PEP's oldest form",
    ),
    ({"matrix": {"a": []}}, "/tests/0/matrix/a", "must have at least one item", ""),
    ({"matrix": {"a": 1}}, "/tests/0/matrix/a", "expected a list, got 1", "in brackets: [1]"),
    ({"matrix": {"a": [[1]]}}, "/tests/0/matrix/a/0", "got a list", ""),
    ({"matrix": {"a": [1, 2, 1]}}, "/tests/0/matrix/a/2", "axis `a` lists 1 twice", ""),
    ({"matrix": {"a b": [1]}}, "/tests/0/matrix/a b", "cannot be the name of a placeholder", "underscores"),
    ({"matrix": {"program": [1]}}, "/tests/0/matrix/program", "a placeholder that the harness fills in", "rename"),
    ({"matrix": {"ID": [1]}}, "/tests/0/matrix/ID", "a placeholder that the harness fills in", "rename"),
    ({"matrix": {"files": [1]}}, "/tests/0/matrix/files", "a test field that an axis cannot set", "rename"),
    ({"matrix": {"threads": [1, "2"]}}, "/tests/0/matrix/threads/1", "sets the test's `threads`", ""),
    ({"matrix": {"iter": [1]}, "iter": 5}, "/tests/0/matrix/iter", "both an axis and a key of the test", "keep one"),
    (
        {"matrix": {"a": [1], "exclude": [{"b": 1}]}},
        "/tests/0/matrix/exclude/0/b",
        "`b`, which is not an axis",
        "axes: a",
    ),
    (
        {"matrix": {"a": [1], "exclude": [{"a": 2}]}},
        "/tests/0/matrix/exclude/0/a",
        "not a value of axis `a`",
        "values: 1",
    ),
    (
        {"matrix": {"a": [1], "include": [{"a": 2}]}},
        "/tests/0/matrix/include/0/a",
        "is also a list of the matrix",
        "keep one",
    ),
    (
        {"matrix": {"include": [{"a": 1}, {"b": 1}]}},
        "/tests/0/matrix/include/1",
        "entry 1 of `include` names `b`, and entry 0 `a`",
        "name the same axes in every entry",
    ),
    ({"matrix": {"include": [{"a": 1}, {"a": 1}]}}, "/tests/0/matrix/include/1", "lists this entry twice", "keep one"),
    ({"matrix": {"include": [{"files": 1}]}}, "/tests/0/matrix/include/0/files", "cannot set", "rename"),
    ({"matrix": {"include": [{"threads": "2"}]}}, "/tests/0/matrix/include/0/threads", "sets the test's", ""),
    ({"matrix": {"include": [{"include": 1}]}}, "/tests/0/matrix/include/0/include", "cannot be an axis", "rename"),
    ({"matrix": {"include": [{}]}}, "/tests/0/matrix/include/0", "must have at least one member", ""),
    ({"matrix": {"a": [1], "exclude": {"a": 1}}}, "/tests/0/matrix/exclude", "expected a list", "brackets: [{ ... }]"),
    ({"matrix": {"a": [1], "exclude": [{}]}}, "/tests/0/matrix/exclude/0", "must have at least one member", ""),
    ({"matrix": {"a": [1], "exclude": [{"a": 1}]}}, "/tests/0/matrix", "excludes every combination", ""),
    (
        {"matrix": {name: list(range(10)) for name in "abcde"}},
        "/tests/0/matrix",
        "has 100000 combinations; at most 10000 are allowed",
        "split",
    ),
    (
        {"matrix": {"a": [1, 2]}, "identifier": "x"},
        "/tests/0",
        "several benchmarks of this test are called `m/x`",
        "{a}",
    ),
]


def check(problems: Sequence[Problem], pointer: str, message: str, hint: str) -> None:
    (problem,) = problems
    assert problem.pointer == pointer
    assert message in problem.message
    assert hint in (problem.hint or "")
    lines = problem.file.read_text().splitlines()
    assert problem.line is not None
    last = pointer.rpartition("/")[2]
    if pointer and not last.isdigit():
        assert f'"{last}":' in lines[problem.line - 1]


@pytest.mark.parametrize(("members", "pointer", "message", "hint"), MODEL_PROBLEMS)
def test_problem_of_a_model(complain: Complain, members: Members, pointer: str, message: str, hint: str) -> None:
    check(complain(members), pointer, message, hint)


@pytest.mark.parametrize(("members", "pointer", "message", "hint"), TEST_PROBLEMS)
def test_problem_of_a_test(complain: Complain, members: Members, pointer: str, message: str, hint: str) -> None:
    check(complain({}, members), pointer, message, hint)


def test_a_typed_test_needs_a_framework_that_composes_commands(complain: Complain) -> None:
    (problem,) = complain({"framework": "generic"}, {"command": None})
    assert problem.message == "the test has no commands, and framework `generic` cannot compose them"


def test_the_requested_framework_must_match_the_specification(complain: Complain) -> None:
    (problem,) = complain({"framework": "executorch"}, {}, options=LoadOptions(framework="tflite"))
    assert (problem.pointer, problem.hint) == ("/model/framework", "run it with --framework executorch")


@pytest.mark.parametrize(
    ("content", "pointer", "message"),
    [
        ("[]", "", "expected an object, got a list"),
        ("{}", "", "`model` is missing"),
        ('{"model": {"name": "m", "format": "f"}, "tests": []}', "/tests", "must have at least one item"),
        ('{"model": {"name": "m", "format": "f"}, "tests": {}}', "/tests", "expected a list, got an object"),
        (
            '{"model": 1, "tests": [{"metric": "d", "identifier": "i", "command": "c"}]}',
            "/model",
            "expected an object, got 1",
        ),
    ],
)
def test_problem_of_a_whole_document(write: Callable[..., Path], content: str, pointer: str, message: str) -> None:
    with pytest.raises(SpecificationError) as caught:
        load([write(content)])
    assert (pointer, message) in [(problem.pointer, problem.message) for problem in caught.value.problems]


def test_an_unknown_key_beside_model_and_tests_is_a_problem(write: Callable[..., Path]) -> None:
    document = {
        "model": {"name": "m", "format": "f"},
        "test": [],
        "tests": [{"metric": "d", "identifier": "i", "command": "c"}],
    }
    with pytest.raises(SpecificationError, match="unknown key `test`\n    hint: did you mean `tests`"):
        load([write(document)])


def test_problems_of_all_files_are_reported_together_in_file_order(write: Callable[..., Path]) -> None:
    files = [write("{", "b.json"), write({"model": {}, "tests": []}, "a.json"), Path("missing.json")]
    with pytest.raises(SpecificationError) as caught:
        load(files)
    names = [problem.file.name for problem in caught.value.problems]
    assert names == sorted(names, key=["b.json", "a.json", "missing.json"].index)
    assert set(names) == {"b.json", "a.json", "missing.json"}
    assert caught.value.exit_code is ExitCode.USAGE


def test_problems_of_a_file_are_sorted_by_line(complain: Complain) -> None:
    problems = complain({"repaet": 1, "cooldown": -1}, {"iters": 1}, {"threads": 0, "voltage": 1})
    lines = [problem.line or 0 for problem in problems]
    assert lines == sorted(lines)
    assert [problem.pointer for problem in problems] == [
        "/model/repaet", "/model/cooldown", "/tests/0/iters", "/tests/1/threads",
    ]  # fmt: skip


def test_a_mistake_in_the_model_does_not_hide_those_of_the_tests(complain: Complain) -> None:
    model = {"repeat": "5", "files": {"x": {"file": "m"}, "y": FILE}}
    problems = complain(model, {"command": "{files.x} {files.y} {repeat} {files.z}"})
    assert [problem.pointer for problem in problems] == [
        "/model/repeat", "/model/files/x", "/model/files/x/file", "/tests/0/command",
    ]  # fmt: skip
    assert problems[-1].message == "unknown placeholder {files.z}"


def test_a_whole_number_with_a_point_is_one_problem_among_others(complain: Complain) -> None:
    problems = complain({"repeat": 2.0}, {"command": "{program}", "iter": 1e1, "timeout": -1})
    assert [(problem.pointer, problem.hint) for problem in problems] == [
        ("/model/repeat", "write it as a whole number: 2"),
        ("/tests/0/iter", "write it as a whole number: 10"),
        ("/tests/0/timeout", None),
    ]


def test_steps_of_model_and_test_cannot_share_the_name_of_a_file(complain: Complain) -> None:
    step = {"command": "{preprocess.files.x}", "files": {"x": FILE}}
    (problem,) = complain({"preprocess": step}, {"preprocess": step})
    assert problem.pointer == "/tests/0/preprocess/files/x"
    assert problem.message == "{preprocess.files.x} is a file of both the model's step and the test's"


def test_circular_references_between_generated_files_are_problems(complain: Complain) -> None:
    files = {name: {"filename": name, "location": f"{{input_files.{other}}}"} for name, other in ("ab", "ba")}
    first, second = complain({}, {"input_files": files})
    assert first.message.endswith(": {input_files.b} -> {input_files.a} -> {input_files.b}")
    assert (first.pointer, second.pointer) == ("/tests/0/input_files/a", "/tests/0/input_files/b")


def test_a_problem_of_a_whole_file_has_one_colon_behind_its_place() -> None:
    assert str(Problem(Path("a.json"), 3, "", "bad")) == "a.json:3: bad"
    assert str(Problem(Path("a.json"), None, "", "bad", "good")) == "a.json: bad\n    hint: good"
    assert str(Problem(Path("a.json"), 3, "/x", "bad")) == "a.json:3: /x: bad"


def test_a_disabled_unsupported_feature_is_accepted(expand: Callable[..., object]) -> None:
    assert expand({}, {"profiler": {"enabled": False}, "platform_args": {"non_blocking": False}})


def test_a_missing_file_gets_a_suggestion(write: Callable[..., Path]) -> None:
    file = write("{}", "mobilenet.json")
    with pytest.raises(SpecificationError, match=r"no such file or directory\n    hint: did you mean .*mobilenet.json"):
        load([file.with_name("mobilnet.json")])


def test_a_folder_is_not_a_specification(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match=r"is a directory\n    hint: give a specification in this folder"):
        load([tmp_path])


def test_a_file_that_is_not_utf8_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b'{"model": "\xff"}')
    with pytest.raises(SpecificationError, match=r"not UTF-8 text \(byte 11\)"):
        load([tmp_path / "x.json"])


def test_a_program_in_place_of_a_specification_is_told_its_flag(tmp_path: Path) -> None:
    program = tmp_path / "old"
    program.write_bytes(b"\x7fELF\2\1\1\0")
    program.chmod(0o755)
    with pytest.raises(SpecificationError, match=r"a binary file.*\n    hint: a program is named by --program"):
        load([program])
    program.write_text("#!/bin/sh\n")
    with pytest.raises(SpecificationError, match=r"a script, and no specification\n    hint: a program is named by"):
        load([program])


@pytest.mark.parametrize("content", [b"\x18\0ET12\xff", b"\x1c\0\0\0TFL3", bytes(17 << 20)])
def test_a_model_in_place_of_a_specification_is_told_how_it_is_named(tmp_path: Path, content: bytes) -> None:
    model = tmp_path / "mine.pte"
    model.write_bytes(content)
    with pytest.raises(SpecificationError) as raised:
        load([model])
    assert f'`"files": {{"model": {{"filename": "mine.pte", "location": "{model}"}}}}` in its' in str(raised.value)


def test_a_specification_in_utf_16_is_told_its_encoding_and_not_taken_for_a_model(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}", encoding="utf-16")
    with pytest.raises(SpecificationError, match="hint: save the file as UTF-8"):
        load([tmp_path / "x.json"])


def test_equal_names_in_two_files_are_told_apart_by_their_models(tmp_path: Path) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file in files:
        file.write_text('{"model": {"name": "m", "format": "f"}, "tests": [{"metric": "generic", "command": "true"}]}')
    with pytest.raises(
        SpecificationError, match=r"two benchmarks are called `m/.*\n    hint: .*run each file by itself"
    ) as raised:
        load(files)
    assert "{ID}" not in str(raised.value)


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    text = '\ufeff{"model": {"name": "m", "format": "f"}, "tests": [{"metric": "generic", "command": "true"}]}'
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    assert load([tmp_path / "x.json"]).benchmarks


def test_two_specifications_of_one_model_and_identifier_collide(write: Callable[..., Path]) -> None:
    document = {
        "model": {"name": "m", "format": "f"},
        "tests": [{"metric": "d", "identifier": "i", "command": "c"}],
    }
    first, second = write(document, "a.json"), write(document, "b.json")
    with pytest.raises(SpecificationError) as caught:
        load([first, second])
    (problem,) = caught.value.problems
    assert (problem.file, problem.pointer) == (second, "/tests/0")
    assert f"the other is at {first}" in problem.message


def test_every_unknown_placeholder_of_a_text_is_told_once_and_a_loop_is_one_problem(complain: Complain) -> None:
    problems = complain({"a": "{b}", "b": "{a} {zz}", "c": "x"}, {"command": "{itr} {c} {xx} {a} {{yy}} {xx}"})
    assert [problem.message for problem in problems] == [
        "unknown placeholder {itr}",
        "unknown placeholder {xx}",
        "placeholder {a} refers to itself: {a} -> {b} -> {a}",
        "unknown placeholder {zz}",
    ]


@given(st.lists(st.lists(st.sampled_from("abcxy"), max_size=2), min_size=3, max_size=3), st.sampled_from("abcxy"))
def test_what_cannot_be_replaced_is_never_passed_over(references: list[list[str]], name: str) -> None:
    values = {key: "".join(f"{{{each}}}" for each in names) for key, names in zip("abc", references, strict=True)}
    problems = Problems()
    document = SpecificationDocument(Path("x.json"), {}, {})
    findings = Findings(document, problems)
    text = PlaceholderScope(values, frozenset(), findings).resolve(f"{{{name}}}", "")
    assert (text == "") == (not problems.sort_problems())


def test_an_unknown_placeholder_in_an_identifier_is_no_second_problem(complain: Complain) -> None:
    (problem,) = complain({}, {"identifier": "x-{aa}", "matrix": {"a": [1, 2]}})
    assert problem.message == "unknown placeholder {aa}"


def test_a_literal_in_an_identifier_does_not_make_it_unique(complain: Complain) -> None:
    (problem,) = complain({}, {"identifier": "x-{{aa}}", "matrix": {"a": [1, 2]}})
    assert "several benchmarks" in problem.message


def test_a_specification_listed_twice_is_a_problem(write: Callable[..., Path]) -> None:
    file = write({"model": {"name": "m", "format": "f"}, "tests": [{"metric": "generic", "command": "c"}]})
    with pytest.raises(SpecificationError, match="is loaded twice\n    hint: name it once"):
        load([file, file])


def test_exponentially_growing_values_are_a_problem(complain: Complain) -> None:
    keys = {f"k{number}": f"{{k{number + 1}}}{{k{number + 1}}}" for number in range(40)}
    (problem,) = complain({}, {**keys, "k40": "x", "command": "{k0}"})
    assert "longer than 1000000 characters" in problem.message


def test_an_unused_axis_named_similar_to_a_field_is_a_problem(complain: Complain) -> None:
    (problem,) = complain({}, {"identifier": "t{thread}", "matrix": {"thread": [1, 2]}})
    assert (problem.pointer, problem.hint) == ("/tests/0/matrix/thread", "did you mean `threads`?")


def test_a_direction_is_higher_or_lower(complain: Complain) -> None:
    (problem,) = complain({}, {"direction": {"NET quality": "up"}})
    assert problem.pointer == "/tests/0/direction/NET quality"
    assert "higher" in problem.message
