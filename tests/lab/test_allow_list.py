"""The allow list of a dispatcher: names of files that its command line gave, and nothing that names lead to."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.errors import UsageError
from harness.lab.on_demand.allow_list import AllowList, load_allow_list
from harness.store.run_requests import RequestState, RunRequest
from tests.cli.project import Project, generic, observe, one_test


def load(*words: Path | str) -> AllowList:
    return load_allow_list(
        [str(word) for word in words], lambda word: dataclasses.replace(Settings(), benchmark_file=(Path(word),))
    )


def request(specification: str, benchmark: str = "") -> RunRequest:
    return RunRequest(
        id="1",
        person="anna",
        asked=0.0,
        specification=specification,
        benchmark=benchmark,
        device_class="pixel",
        state=RequestState.RUNNING,
    )


@pytest.fixture
def folder(project: Project) -> Path:
    for name in ("a.json", "deep/b.json"):
        project.write(f"offered/{name}", generic(one_test("x", observe(1)), one_test("y", observe(2))))
    project.write("offered/notes.txt", "no specification")
    project.write("other/a.json", generic(one_test("z", observe(1))))
    return project.folder / "offered"


def test_files_of_a_folder_are_called_by_their_paths_in_it(folder: Path) -> None:
    allowed = load(folder)
    assert {name: each.offered.benchmarks for name, each in allowed.specifications.items()} == {
        "a": ("m/x", "m/y"),
        "deep/b": ("m/x", "m/y"),
    }
    assert list(load(folder / "a.json").specifications) == ["a"]


def test_two_of_a_name_are_a_mistake(folder: Path) -> None:
    with pytest.raises(UsageError, match="two are called a"):
        load(folder, folder.parent / "other")


def test_an_empty_folder_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no specification is in this folder"):
        load(tmp_path)


def test_a_title_that_no_list_can_show_is_a_mistake(project: Project) -> None:
    long = project.write("long.json", generic(one_test("x" * 400, observe(1))))
    with pytest.raises(UsageError, match="cannot be offered"):
        load(long)


def test_a_request_gets_what_it_names(folder: Path) -> None:
    allowed = load(folder)
    assert [benchmark.title for benchmark in allowed.look_up(request("deep/b"))[1]] == ["m/x", "m/y"]
    assert [benchmark.title for benchmark in allowed.look_up(request("a", "m/y"))[1]] == ["m/y"]


@pytest.mark.parametrize(
    ("specification", "benchmark"),
    [
        *(("../other/a", ""), ("other/a", ""), ("a.json", ""), ("deep", ""), ("", ""), ("deep/../a", ""), ("mv2", "")),
        *(("a", "m/*"), ("a", "m"), ("a", "x"), ("a", "m/z"), ("a", "tag:x")),
    ],
)
def test_a_name_that_is_not_on_the_list_leads_nowhere(folder: Path, specification: str, benchmark: str) -> None:
    with pytest.raises(UsageError, match="no such specification or benchmark"):
        load(folder).look_up(request(specification, benchmark))
