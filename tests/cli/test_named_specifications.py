"""Specifications are named without a flag: files, and built-in ones by name."""

from __future__ import annotations

import json

import pytest

from harness import plugins
from harness.cli import main
from harness.flows.inspect.catalog import SECTIONS
from tests.cli.project import Project, generic, observe, one_test


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(ended.value.code or 0)


@pytest.fixture(autouse=True)
def _surroundings(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.folder)
    for name, value in project.environment.items():
        if name.startswith("HARNESS_"):
            monkeypatch.setenv(name, value)


def test_specifications_are_measured_without_a_flag(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        project.write(f"{name}.json", generic(one_test(name, observe(5, 6, 7)), name=name))
    assert run("one.json", "two.json", "--dry-run") == 0
    assert run("run", "two.json", "--dry-run", "-b", "one.json") == 0
    shown = capsys.readouterr().out
    assert shown.count("one/one") == shown.count("two/two") == 2


@pytest.mark.parametrize("command", ["compare", "bisect"])
def test_every_command_that_measures_takes_names(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, "mv22", *(("--good", "a", "--bad", "b") if command == "bisect" else ())) == 2
    assert "did you mean mv2?" in capsys.readouterr().err


def test_a_built_in_specification_is_validated_and_planned_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("validate", "sort", "nightly") == 0
    assert run("sort", "--dry-run") == 0
    shown = capsys.readouterr().out
    assert "OK, no problems found" in shown
    assert shown.count("sort/sort-1000 ") == 2


def test_stored_results_are_evaluated_without_specifications(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", "mv2", "--from", "results") == 2
    assert "mv2 beside --from" in capsys.readouterr().err


def test_the_list_shows_everything_that_can_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list") == 0
    shown = capsys.readouterr().out
    assert run("list", "--json") == 0
    catalog = json.loads(capsys.readouterr().out)
    assert catalog.pop("schema_version") == "1.4"
    assert tuple(catalog) == SECTIONS
    for items in catalog.values():
        assert items
        assert [item["name"] for item in items if item["name"] not in shown] == []
    assert [item["name"] for item in catalog["platforms"]] == list(plugins.installed_names("platform"))
    assert {"name": "xnnpack_fp32", "frameworks": ["executorch"]} in catalog["recipes"]
    (sort,) = (item for item in catalog["models"] if item["name"] == "sort")
    assert sort["benchmarks"] == ["sort/sort-1000", "sort/sort-100000"]


@pytest.mark.parametrize("section", SECTIONS)
def test_each_section_of_the_list_can_be_asked_for(section: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", section, "--json") == 0
    assert set(json.loads(capsys.readouterr().out)) == {"schema_version", section}


def test_the_list_is_as_wide_as_columns_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    assert run("list") == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 50
    monkeypatch.delenv("COLUMNS")
    assert run("list") == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) > 100


def test_a_section_is_listed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "recipes") == 0
    shown = capsys.readouterr().out
    assert "xnnpack_q8" in shown
    assert "android" not in shown


def test_a_plan_whose_benchmarks_name_nothing_that_exists_is_refused(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"model": {"filename": "m.pte", "export": {"definition": "mlpp", "recipe": "portable"}}}
    model = {"name": "m", "format": "executorch", "framework": "executorch", "files": files}
    project.write("spec.json", {"model": model, "tests": [{"identifier": "a", "metric": "delay"}]})
    assert run("spec.json", "--dry-run") == 2
    shown = capsys.readouterr()
    assert "mlpp" in shown.err
    assert "m/a" not in shown.out
