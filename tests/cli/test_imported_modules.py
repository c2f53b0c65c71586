"""What each command imports: that takes most of the time of short commands, and a set of modules does not jitter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.cli.project import Project, generic, observe, one_test

CALL: Final = """
import json, sys
from harness.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    print(json.dumps([ended.code, sorted(sys.modules)]), file=sys.stderr)
"""
COMMAND_LINE: Final = {"attr", "attrs", "cyclopts", "docstring_parser", "msgspec", "rich"}
VALUES: Final = {
    "annotated_types",
    "platformdirs",
    "pydantic",
    "pydantic_core",
    "typing_extensions",
    "typing_inspection",
}
RESULTS: Final = tuple(
    f"harness.core.{name}" for name in ("comparison", "evaluation", "measurement", "ranking", "result")
)
"""What a measurement leaves: a command that measures nothing need not make their classes."""
PARTS_OF_FEW: Final = tuple(
    f"harness.core.{name}" for name in ("comparison", "evaluation", "long_run", "program_graph", "ranking")
)
"""Parts of results that few have (`harness.core.deferred`)."""
OURS: Final = {"frameworks", "harness", "platforms", "reporters", "specifications"}


def imported(project: Project, *words: str | Path) -> set[str]:
    """Return the modules that a call imports which ends well."""
    done = subprocess.run(
        (sys.executable, "-c", CALL, *map(str, words)),
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == 0, done.stderr
    return set(modules)


def third_party(modules: set[str]) -> set[str]:
    names = {module.partition(".")[0] for module in modules}
    known = sys.stdlib_module_names | OURS | {"sitecustomize", "usercustomize"}  # those belong to the interpreter
    return {name for name in names - known if not name.startswith("_")}


def of(modules: set[str], *packages: str) -> list[str]:
    return [module for module in sorted(modules) if module.startswith(packages)]


@pytest.fixture
def spec(project: Project) -> Path:
    return project.write("spec.json", generic(one_test("a", observe(5, 6, 7))))


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_the_list_of_commands_imports_none_of_them(project: Project, flag: str) -> None:
    modules = imported(project, flag)
    assert third_party(modules) <= COMMAND_LINE
    assert set(of(modules, *OURS)) == {
        *("harness", "harness.cli", "harness.core", "harness.core.errors", "harness.files", "harness.files.streams"),
        *("harness.commands", "harness.commands.examples", "harness.commands.help_lines"),
    }


@pytest.mark.parametrize("command", ["run", "compare", "self-check", "validate", "report"])
def test_flags_are_parsed_before_pydantic_is_imported(project: Project, command: str) -> None:
    """Where it is imported, cyclopts makes a validator for each of a hundred flags, and even checks their defaults."""
    modules = imported(project, command, "--help")
    assert third_party(modules) <= COMMAND_LINE | {"annotated_types", "platformdirs", "typing_extensions"}
    assert not of(modules, "harness.flows", "harness.specification", "harness.core.protocols")


def test_validating_imports_nothing_that_measures(project: Project, spec: Path) -> None:
    modules = imported(project, "validate", spec)
    assert third_party(modules) <= COMMAND_LINE | VALUES
    assert not of(modules, "harness.running", "harness.analysis", "harness.builders", "harness.watch", "reporters.")
    assert not of(modules, "harness.flows.compare", "harness.store.index", "platforms.host")
    assert not of(modules, "harness.presentation.documents", "harness.core.alarm", "harness.commands.inspecting")
    assert not of(modules, *RESULTS)


@pytest.mark.parametrize("words", [("validate", "mv2"), ("mv2", "--dry-run")], ids=" ".join)
def test_checking_a_model_that_is_exported_loads_no_result(project: Project, words: tuple[str, ...]) -> None:
    """Its framework is asked whether the export exists, so that is imported too."""
    modules = imported(project, *words)
    assert "frameworks.executorch.framework" in modules
    assert not of(modules, *RESULTS, "harness.formats.mlperf_client")


def test_a_plan_is_shown_without_numpy_and_without_what_measures(project: Project, spec: Path) -> None:
    modules = imported(project, "run", "-b", spec, "--dry-run")
    assert third_party(modules) <= COMMAND_LINE | VALUES | {"psutil"}
    assert not of(modules, "harness.running", "harness.analysis", "harness.builders", "harness.watch", "reporters.")
    assert not of(modules, "harness.flows.compare", "harness.store.index", *RESULTS)


def test_a_run_imports_nothing_that_compares(project: Project, spec: Path) -> None:
    modules = imported(project, "run", "-b", spec)
    assert third_party(modules) <= COMMAND_LINE | VALUES | {"psutil"}
    assert not of(modules, "harness.analysis.compare", "harness.analysis.bisect", "harness.analysis.trend")
    assert not of(modules, "harness.flows.compare", "harness.flows.inspect", "harness.watch", "harness.running.pairs")
    assert not of(modules, "harness.presentation.comparison_table", "harness.presentation.evaluation_table")
    assert not of(modules, "harness.formats.mlperf_client", "harness.core.foreign")
    assert not of(modules, *PARTS_OF_FEW, "harness.models.references")


def test_a_run_imports_no_reporter_that_it_does_not_name(project: Project, spec: Path) -> None:
    """Those that are asked whether they are wanted are small; the one that is named is there."""
    modules = of(imported(project, "run", "-b", spec, "--reporter", "openmetrics=run.prom"), "reporters.")
    assert set(modules) == {
        *("reporters.database", "reporters.local", "reporters.remote", "reporters.screen"),
        *("reporters.simple_local", "reporters.simple_screen"),
        *("reporters.openmetrics", "reporters.exports", "reporters.exports.figures", "reporters.exports.reporter"),
        "reporters.report_file",
    }
