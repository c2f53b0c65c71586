"""The plug-ins of the documentation are one real package: found, used, and held to their contracts."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from frameworks.executorch.python.program_file import read_signature
from tests.cli.project import Outcome, Project, generic, observe, one_test
from tests.docs.pages import ROOT, blocks

PAGE = "plug-ins.md"

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Package:
    """The files of the page, installed as far as Python can tell."""

    folder: Path
    project: Project

    def harness(self, *arguments: str | Path) -> Outcome:
        return self.project.harness(*arguments, PYTHONPATH=str(self.folder), HARNESS_EMULATOR_LAUNCHER="nice -n 0")


@pytest.fixture
def package(tmp_path: Path, project: Project) -> Package:
    folder = tmp_path / "package"
    for language in ("python", "json", "toml"):
        for block in blocks(PAGE, language):
            file = folder / block.label
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
    install(folder)
    return Package(folder, project)


def install(folder: Path) -> None:
    """What `pip install` writes and Python reads; pip itself would need the network for its build tools."""
    described = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    information = folder / f"{described['name'].replace('-', '_')}-{described['version']}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {described['name']}\nVersion: {described['version']}\n"
    )
    groups = described["entry-points"].items()
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items()) for group, entries in groups
    ]
    (information / "entry_points.txt").write_text("\n".join(lines))


def test_the_framework_measures(package: Package) -> None:
    done = package.harness("-b", package.folder / "examples" / "squares.json")
    assert done.code == 0, done.stderr
    (result,) = done.read()
    (latency,) = result["metrics"]
    assert (latency["name"], latency["unit"], len(latency["samples"])) == ("NET latency", "ns", 2 * 20)
    assert latency["summary"]["p50"] > 10_000  # ten thousand squares take longer than ten microseconds anywhere


def test_the_framework_reports_unsupported_benchmarks(package: Package) -> None:
    example = json.loads((package.folder / "examples" / "squares.json").read_text())
    example["model"]["files"] = {}
    done = package.harness("-b", package.project.write("spec.json", example))
    assert done.outcomes() == {"squares": "unsupported"}
    assert "has no file `code`" in done.stdout


def test_the_platform_runs_programs_on_its_device(package: Package) -> None:
    spec = package.project.write("spec.json", generic(one_test("a", observe(1, 2, 3, 4, 5))))
    done = package.harness("-b", spec, "--platform", "emulator")
    assert done.code == 0, done.stderr
    (result,) = done.read()
    assert result["device"]["identity"] == "emulator-nice"
    assert result["launches"][0]["commands"][0][:3] == ["nice", "-n", "0"]
    assert "emulator-nice" in package.harness("devices").stdout


def test_the_option_of_the_platform_is_shown_and_set_like_built_in_options(package: Package) -> None:
    shown = package.harness("run", "--help").stdout
    assert shown.index("On the emulator") < shown.index("--emulator-launcher") < shown.index("Program that starts")
    spec = package.project.write("spec.json", generic(one_test("a", observe(1, 2, 3, 4, 5))))
    done = package.harness("-b", spec, "--platform", "emulator", "--emulator_launcher=env")
    assert done.code == 0, done.stderr
    (result,) = done.read()
    assert result["device"]["identity"] == "emulator-env"


def test_the_source_gives_commits_to_build_from(package: Package) -> None:
    folder = package.project.folder
    for name in ("2024-01-01", "2024-01-02"):
        package.project.write(f"nightly/{name}/runner", f"#!/bin/sh\nexec {observe(1, 2, 3, 4, 5)}\n# {name}\n")
    package.project.write("recipes/generic/host/build.sh", 'cp "$1/runner" "$2"; chmod +x "$2"\n')
    spec = package.project.write("spec.json", generic(one_test("a", "{program}")))
    source = ("-b", spec, "--source", f"snapshots:{folder / 'nightly'}", "--frameworks-dir", folder / "recipes")
    done = package.harness(*source, "--commit", "latest")
    assert done.code == 0, done.stderr
    assert done.read()[-1]["build"]["commit"] == "2024-01-02"
    unknown = package.harness(*source, "--commit", "2024-01-03")
    assert unknown.code == 2
    assert "there are: 2024-01-01, 2024-01-02" in unknown.stderr


def test_the_reporter_receives_results_when_requested(package: Package) -> None:
    spec = package.project.write(
        "spec.json", generic(one_test("good", observe(1, 2, 3, 4, 5)), one_test("bad", "false"))
    )
    table = package.project.folder / "results.csv"
    assert package.harness("-b", spec, "--reporter", f"csv={table}").code == 4
    rows = list(csv.reader(table.read_text().splitlines()))
    assert [row[:4] for row in rows] == [["m", "good", "ok", "3.0"], ["m", "bad", "failed", ""]]


def test_installing_the_reporter_does_not_activate_it(package: Package) -> None:
    spec = package.project.write("spec.json", generic(one_test("good", observe(1, 2, 3, 4, 5))))
    assert package.harness("-b", spec).code == 0
    assert not list(package.project.folder.rglob("*.csv"))


def test_framework_platform_and_reporter_keep_their_contracts(package: Package) -> None:
    done = subprocess.run(
        (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"),
        cwd=package.folder,
        env={**os.environ, "PYTHONPATH": str(package.folder)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout


CONFORMS = """
from pathlib import Path
from acme.csv_reporter import CsvReporter
from acme.emulator import Emulator, EmulatorSession
from acme.snapshots import SnapshotSource, create
from acme.timeit_framework import Timeit
from frameworks.executorch.python.program_file import read_signature
from harness.core.commit import Source, SourceFactory
from harness.core.protocols import Framework, Interactive, Platform, Reporter

framework: Framework = Timeit()
platform: Platform = Emulator((), Path())
reporter: Reporter = CsvReporter(Path())
source: Source = SnapshotSource(Path())
opens: SourceFactory = create

def session(given: EmulatorSession) -> Interactive:
    return given
"""


@pytest.mark.exhaustive
def test_the_examples_have_the_types_of_the_protocols(package: Package) -> None:
    (package.folder / "conforms.py").write_text(CONFORMS)
    options = ("--strict", "--explicit-package-bases", "--ignore-missing-imports", "--follow-imports=silent")
    done = subprocess.run(
        (sys.executable, "-m", "mypy", *options, "--cache-dir", ".mypy_cache", "conforms.py"),
        cwd=package.folder,
        env={**os.environ, "MYPYPATH": os.pathsep.join((str(ROOT), str(package.folder)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_examples_pass_the_linter_and_formatter(package: Package) -> None:
    """What people copy is formatted and linted as our own code is."""
    configuration = ("--config", str(ROOT / "pyproject.toml"))
    files = [str(file) for file in (package.folder / "acme").glob("*.py")]
    for words in (("format", "--check", *configuration), ("check", *configuration, "--ignore", "ARG,INP")):
        done = subprocess.run((ruff(), *words, *files), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.exhaustive
def test_the_model_is_exported_and_measured(package: Package) -> None:
    done = package.harness("-b", package.folder / "examples" / "gate.json")
    assert done.outcomes() == {"gate": "ok"}, done.stderr
    (result,) = done.read()
    assert result["files"]["files.model"]["export"]["export"]["options"] == {"features": 16}


@pytest.mark.exhaustive
def test_the_program_of_a_model_that_tells_more_takes_long_texts(package: Package) -> None:
    program = package.folder / "tagger.pte"
    done = package.harness("export", "acme.tagger:tagger", "--output", program)
    assert done.code == 0, done.stderr

    assert [tensor.sizes for tensor in read_signature(program, "forward").inputs if tensor is not None] == [(1, 256)]
    assert len(read_signature(program, "get_max_seq_len").outputs) == 1


@pytest.mark.parametrize("recipe", ["xnnpack_linear", pytest.param("acme.recipes:lower", marks=pytest.mark.exhaustive)])
def test_the_recipe_delegates_linear_layers_alone(package: Package, recipe: str) -> None:
    done = package.harness("export", "acme.models:gate", "--recipe", recipe, "--output", "gate.pte")
    assert done.code == 0, done.stderr
    delegated, _, left = done.stderr.partition("not delegated")
    assert "1 linear" in delegated
    assert "sigmoid" in left  # XNNPACK would take it: see the recipe xnnpack_fp32


def ruff() -> str:
    path = shutil.which("ruff", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    assert path is not None, "ruff belongs to what `make check` installs"
    return path
