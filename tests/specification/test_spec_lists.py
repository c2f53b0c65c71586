"""Lists of specifications, and what they say for all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.config.options import OptionTable
from harness.config.settings import Settings
from harness.core.errors import SpecificationError
from harness.specification.load import LoadOptions, default_args, load
from platforms.android.options import AndroidOptions

Write = Callable[..., Path]


def specification(name: str, **model: object) -> object:
    return {
        "model": {"name": name, "format": "f", **model},
        "tests": [{"metric": "d", "identifier": "i", "command": "{program}"}],
    }


def test_entries_are_relative_to_the_list_and_keep_their_order(write: Write) -> None:
    write(specification("a"), "models/a.json")
    write(specification("b"), "models/deep/b.json")
    file = write({"meta": {}, "benchmarks": ["../models/deep/b.json", "../models/a.json"]}, "lists/all.json")
    assert [benchmark.title for benchmark in load([file]).benchmarks] == ["b/i", "a/i"]


def test_meta_fills_missing_keys_of_the_model(write: Write) -> None:
    write(specification("a", group="own", platform_args={"env": {"X": "own"}}), "a.json")
    write(specification("b"), "b.json")
    meta = {
        "group": "all",
        "command_args": "--backend mkl",
        "timeout": 5,
        "platform_args": {"env": {"X": "all", "Y": "all"}},
    }
    own, inherited = load([write({"meta": meta, "benchmarks": ["a.json", "b.json"]})]).benchmarks
    assert (own.model.group, inherited.model.group) == ("own", "all")
    assert (own.arguments, own.timeout_s) == ("--backend mkl", 5.0)
    assert own.env == {"X": "own", "Y": "all"}


def test_free_values_of_meta_are_reported_and_can_be_named(write: Write) -> None:
    spec = {
        "model": {"name": "a", "format": "f"},
        "tests": [{"metric": "d", "identifier": "i-{campaign}", "command": "c"}],
    }
    write(spec, "a.json")
    file = write({"meta": {"campaign": "spring", "owner": {"team": "x"}, "group": "g"}, "benchmarks": ["a.json"]})
    (benchmark,) = load([file], LoadOptions(meta={"ticket": 7})).benchmarks
    assert benchmark.meta == {"campaign": "spring", "owner": {"team": "x"}, "ticket": 7}
    assert benchmark.identifier == "i-spring"


def test_meta_of_the_command_line_fills_single_specifications_too(write: Write) -> None:
    (benchmark,) = load([write(specification("a"))], LoadOptions(meta={"group": "g", "run": 1})).benchmarks
    assert (benchmark.model.group, benchmark.meta) == ("g", {"run": 1})


def test_an_inner_list_overrides_an_outer_list(write: Write) -> None:
    write(specification("a"), "a.json")
    write({"meta": {"group": "inner"}, "benchmarks": ["a.json"]}, "inner.json")
    outer = write({"meta": {"group": "outer", "cooldown": 9}, "benchmarks": ["inner.json"]}, "outer.json")
    (benchmark,) = load([outer]).benchmarks
    assert (benchmark.model.group, benchmark.cooldown_s) == ("inner", 9.0)


def test_a_list_that_contains_itself_is_a_problem(write: Write) -> None:
    write({"benchmarks": ["b.json"]}, "a.json")
    write({"benchmarks": ["a.json"]}, "b.json")
    with pytest.raises(SpecificationError) as caught:
        load([write({"benchmarks": ["a.json"]}, "top.json")])
    (problem,) = caught.value.problems
    assert (problem.file.name, problem.pointer) == ("b.json", "/benchmarks/0")
    assert "the list contains itself" in problem.message


def test_a_missing_entry_names_the_list_and_the_line(write: Write) -> None:
    write(specification("a"), "alpha.json")
    file = write('{\n  "benchmarks": [\n    "alpha.json",\n    "alpah.json"\n  ]\n}\n')
    with pytest.raises(SpecificationError) as caught:
        load([file])
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.pointer) == (file, 4, "/benchmarks/1")
    assert "alpah.json: no such file" in problem.message
    assert problem.hint == f"did you mean {file.parent / 'alpha.json'}?"


def test_a_problem_of_meta_is_reported_once_with_its_location(write: Write) -> None:
    write(specification("a"), "a.json")
    write(specification("b"), "b.json")
    file = write({"meta": {"timeout": "5", "timeot": 5}, "benchmarks": ["a.json", "b.json"]}, "list.json")
    with pytest.raises(SpecificationError) as caught:
        load([file])
    assert [(problem.file, problem.pointer, problem.hint) for problem in caught.value.problems] == [
        (file, "/meta/timeout", "write it without quotes: 5"),
        (file, "/meta/timeot", "did you mean `timeout`?"),
    ]


def test_all_entries_are_checked_when_an_entry_is_missing(write: Write) -> None:
    write({"model": {}, "tests": []}, "bad.json")
    with pytest.raises(SpecificationError) as caught:
        load([write({"benchmarks": ["none.json", "bad.json", 5]}, "list.json")])
    assert {problem.file.name for problem in caught.value.problems} == {"list.json", "bad.json"}
    assert "/benchmarks/2" in [problem.pointer for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("content", "pointer", "message"),
    [
        ({"benchmarks": []}, "/benchmarks", "must have at least one item"),
        ({"benchmarks": "a.json"}, "/benchmarks", 'expected a list, got "a.json"'),
        ({"benchmarks": ["a.json"], "mata": {}}, "/mata", "unknown key `mata`"),
        ({"benchmarks": ["a.json"], "meta": []}, "/meta", "expected an object, got a list"),
        ({"benchmarks": ["\0"]}, "/benchmarks/0", "cannot be the name of a file"),
    ],
)
def test_problem_of_a_list(write: Write, content: object, pointer: str, message: str) -> None:
    write(specification("a"), "a.json")
    with pytest.raises(SpecificationError) as caught:
        load([write(content)])
    (problem,) = caught.value.problems
    assert problem.pointer == pointer
    assert message in problem.message


def test_default_args_of_the_named_files_are_collected(write: Write) -> None:
    write(specification("a"), "a.json")
    listed = write({"benchmarks": ["a.json"], "default_args": {"cooldown": 3}}, "list.json")
    single = {**specification("b"), "default_args": {"timeout": 9, "cooldown": 3}}  # type: ignore[dict-item]
    files = [listed, write(single, "b.json")]
    assert load(files).default_args == default_args(files, frozenset()) == {"cooldown": 3, "timeout": 9}


def test_two_files_must_not_disagree_about_default_args(write: Write) -> None:
    files = [
        write({**specification(name), "default_args": {"timeout": number}}, f"{name}.json")  # type: ignore[dict-item]
        for number, name in enumerate("ab")
    ]
    with pytest.raises(SpecificationError, match="sets `timeout` to another value"):
        load(files)
    with pytest.raises(SpecificationError, match="sets `timeout` to another value"):
        default_args(files, frozenset())


def test_default_args_of_a_listed_file_are_not_ignored_silently(write: Write) -> None:
    write({**specification("a"), "default_args": {"timeout": 1}}, "a.json")  # type: ignore[dict-item]
    with pytest.raises(SpecificationError, match="is used only in the file that is given on the command line"):
        load([write({"benchmarks": ["a.json"]}, "list.json")])


def test_reading_default_args_ignores_other_problems(write: Write) -> None:
    assert default_args([write("{"), Path("missing.json"), write({"default_args": 5}, "c.json")], frozenset()) == {}


@pytest.mark.parametrize(
    "flag",
    ["remote_reporter", "--reporter", "--local-reporter", "program", "config_dir", "--adb_server", "--dry-run"],
)
def test_default_args_cannot_set_the_results_folder_or_the_program(write: Write, flag: str) -> None:
    file = write({**specification("a"), "default_args": {flag: "x"}})  # type: ignore[dict-item]
    protected = OptionTable(Settings, AndroidOptions).protected_keys
    for attempt in (
        lambda: load([file], LoadOptions(protected_flags=protected)),
        lambda: default_args([file], protected),
    ):
        with pytest.raises(SpecificationError) as caught:
            attempt()
        (problem,) = caught.value.problems
        assert problem.pointer == f"/default_args/{flag}"
        assert "command line" in (problem.hint or "")
