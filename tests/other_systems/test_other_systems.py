"""The command where a system lacks what only Linux, or only Linux and macOS have (`sitecustomize` beside this file).

Nothing here ran on Windows or macOS: it is this machine with names, files and programs taken away.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.project import Project, generic, one_test
from tests.cli.scripts import script, text

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
IMPORT_ALL = """
import importlib, pkgutil, sys
extras = ("torch", "torchvision", "torchao", "executorch", "openvino", "onnx", "onnxruntime", "nncf", "ai_edge_litert")
sys.modules.update(dict.fromkeys(extras))
for top in ("harness", "platforms", "frameworks", "reporters"):
    for module in pkgutil.walk_packages(importlib.import_module(top).__path__, f"{top}.", onerror=lambda name: None):
        if not module.name.startswith(("harness.testing", "harness.store.database.migrations.env")):
            if not module.name.endswith("__main__"):
                try:
                    importlib.import_module(module.name)
                except ModuleNotFoundError as error:
                    if (error.name or "").partition(".")[0] not in extras:
                        raise
"""
DIFFERENCES = (
    *("test_groups_that_are_guarded", "test_each_group_is_one_line", "test_output_and_resource_usage"),
    *("test_interruption_kills_child_processes_and_unwinds", "test_what_is_no_regular_file_is_refused_at_once"),
    *(
        "test_scratch_folders_of_one_user",
        "test_a_scratch_folder_is_not_made_where",
        "test_a_durable_file_is_on_the_disk",
    ),
)
"""Guardian, cost of a program, SIGHUP, pipes that open without waiting, owners of folders and names on the disk."""


@pytest.fixture(params=["macos", "windows"])
def system(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def surroundings(system: str) -> dict[str, str]:
    return {"EDGE_TEST_SYSTEM": system, "PYTHONPATH": f"{HERE}:{ROOT}"}


@pytest.mark.slow
def test_every_module_is_imported(system: str, project: Project) -> None:
    done = subprocess.run(
        (sys.executable, "-c", IMPORT_ALL),
        env={**project.environment, **surroundings(system)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_benchmark_is_listed_checked_measured_reported_and_compared(system: str, project: Project) -> None:
    specification = project.write("m.json", generic(one_test("x", "{program}", threads=1)))
    control = script(project, "control", text())
    treatment = script(project, "treatment", text(1300.0))
    measured = ("-b", specification, "--program", control)
    compared = ("compare", "--control-program", control, "--treatment-program", treatment, "-b", specification)
    lines = (("--help",), ("list",), ("validate", specification), measured, ("report", "LAST"), compared)
    there = surroundings(system)
    ended = [project.harness(*words, timeout_s=240, **there) for words in lines]
    assert [outcome.code for outcome in ended] == [0, 0, 0, 0, 0, 1]
    assert "device state unknown" in ended[4].stdout
    assert ("not pinned: this system cannot" in ended[4].stdout) == (system == "macos")
    assert "regression" in ended[5].stdout
    assert project.harness(*measured, timeout_s=240, **there).outcomes()["x"] == "ok"


@pytest.mark.slow
def test_a_runner_in_python_is_started_by_the_interpreter_where_scripts_are_not(system: str, project: Project) -> None:
    export = {"filename": "mlp.pt", "export": {"definition": "mlp", "recipe": "eager"}}
    model = {"name": "mlp", "format": "pytorch", "framework": "pytorch", "files": {"model": export}}
    test = {"metric": "delay", "identifier": "x", "warmup": 1, "iter": 5, "threads": 1}
    specification = project.write("m.json", {"model": model, "tests": [test]})
    exported = project.harness("-b", specification, "--local-reporter", project.folder / "here", timeout_s=240)
    assert exported.code == 0, exported.stderr
    done = project.harness("-b", specification, timeout_s=240, **surroundings(system))
    assert done.code == 0, done.stderr + done.stdout
    (result,) = done.read()
    (launch,) = result["launches"]
    (command,) = launch["commands"]
    assert next(word for word in command if "runners" in word).endswith("runner.py") == (system == "windows")
    latency = next(metric for metric in result["metrics"] if metric["name"] == "NET latency")
    assert len(latency["samples"]) == 5


@pytest.mark.slow
def test_programs_run_and_files_are_kept_without_what_windows_lacks(project: Project) -> None:
    deselected = " and ".join(f"not {name}" for name in DIFFERENCES)
    words = ("-q", "-p", "no:cacheprovider", "-m", "not slow", "-k", deselected, "--import-mode=importlib")
    done = subprocess.run(
        (sys.executable, "-m", "pytest", *words, "tests/shell", "tests/files"),
        env={**project.environment, **surroundings("windows")},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
