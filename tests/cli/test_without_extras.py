"""An installation without extras: it measures programs, and names the extra that brings what is missing."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from frameworks import packages
from frameworks.executorch.required import EXPORTS, RUNNER
from frameworks.onnxruntime import framework as onnxruntime
from frameworks.packages import EXTRAS
from frameworks.tflite import required as tflite
from harness.files import installation
from tests.cli.project import Outcome, Project, generic, observe, one_test
from tests.docs.pages import ROOT

RELEASES = installation.install_command(["tested"])
REMEDY = f"{RELEASES} ({packages.WITHOUT_CUDA})" if sys.platform == "linux" else RELEASES
"""Neither torch nor executorch is there: releases that belong together, and on Linux the word on CUDA."""
FASTER = frozenset({"ruamel-yaml-clib"})
"""What nothing needs, and what makes importing ExecuTorch faster."""

HIDING = f'''
"""Hides packages from this interpreter and from every one that it starts: modules and metadata."""
import sys
from importlib import metadata

HIDDEN = {sorted(EXTRAS)}

class Hiding:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hiding())
find = metadata.MetadataPathFinder.find_distributions

def find_others(context=metadata.DistributionFinder.Context()):
    return (entry for entry in find(context) if entry.metadata["Name"] not in HIDDEN)

metadata.MetadataPathFinder.find_distributions = find_others
'''

MODEL = {
    "model": {
        "name": "m",
        "format": "executorch",
        "framework": "executorch",
        "files": {"model": {"filename": "m.pte", "export": {"definition": "mlp", "recipe": "portable"}}},
    },
    "tests": [{"identifier": "t", "metric": "delay", "iter": 3}],
}


class Bare(Project):
    """A project beside an installation without extras."""

    def harness(self, *arguments: str | Path, timeout_s: float = 240, **environment: str) -> Outcome:
        self.write("hiding/sitecustomize.py", HIDING)
        environment |= {"PYTHONPATH": f"{self.folder / 'hiding'}:{ROOT}"}
        return super().harness(*arguments, timeout_s=timeout_s, **environment)


@pytest.fixture
def bare(tmp_path: Path) -> Bare:
    return Bare(tmp_path, tmp_path / "cache")


def in_words(outcome: Outcome) -> str:
    text = outcome.stdout + outcome.stderr
    assert "Traceback" not in text
    assert "ModuleNotFoundError" not in text
    return text


@pytest.mark.parametrize("command", [("--help",), ("run", "--help"), ("--version",)])
def test_help_needs_no_extra(bare: Bare, command: tuple[str, ...]) -> None:
    outcome = bare.harness(*command)
    assert (outcome.code, outcome.stderr) == (0, "")


def test_a_program_is_measured_and_compared(bare: Bare) -> None:
    spec = bare.write("spec.json", generic(one_test("a", observe(*range(50, 60)).replace(sys.executable, "{program}"))))
    assert ": OK, " in in_words(bare.harness("validate", spec))
    outcome = bare.harness("-b", spec, "--program", sys.executable)
    assert (outcome.code, outcome.outcomes()) == (0, {"a": "ok"}), in_words(outcome)
    treatment = bare.write("treatment", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    treatment.chmod(0o755)
    sides = ("--control-program", sys.executable, "--treatment-program", treatment)
    compared = bare.harness("compare", "-b", spec, *sides, "--pairs", "2")
    assert "undecided" in in_words(compared)
    assert compared.code == 5


def test_a_model_names_the_extra_in_each_command(bare: Bare) -> None:
    spec = bare.write("spec.json", MODEL)
    for command in ("validate", spec), ("-b", spec, "--dry-run"):
        outcome = bare.harness(*command)
        text = " ".join(in_words(outcome).split())
        assert outcome.code == 0
        assert "remark: " in text
        assert REMEDY in text
    outcome = bare.harness("-b", spec)
    assert outcome.code == 3
    problem = "nothing can be measured: executorch is not installed, and needed to run models"
    assert outcome.stderr.splitlines() == [f"harness: {problem}", f"  hint: {REMEDY}"]
    assert outcome.stdout == ""
    assert outcome.read() == []


def test_what_can_be_measured_is_measured_and_what_lacks_an_extra_is_a_failure(bare: Bare) -> None:
    spec = bare.write("spec.json", MODEL)
    program = bare.write("program.json", generic(one_test("a", observe(*range(50, 60)))))
    outcome = bare.harness("run", spec, program)
    assert outcome.code == 3
    failed, ok = sorted(outcome.read(), key=lambda result: str(result["outcome"]))
    assert (ok["outcome"], failed["outcome"], failed["hint"]) == ("ok", "failed", REMEDY)
    assert failed["reason"] == "executorch is not installed, and needed to run models"
    assert "1 ok" in in_words(outcome)


def test_an_export_names_the_extra(bare: Bare) -> None:
    outcome = bare.harness("export", "mv2", "--recipe", "portable", "-o", "mv2.pte")
    assert outcome.code == 3
    assert REMEDY in in_words(outcome)
    assert "executorch, torch, torchao are not installed" in outcome.stderr


def test_doctor_lists_what_is_missing_as_optional(bare: Bare) -> None:
    outcome = bare.harness("doctor")
    text = " ".join(in_words(outcome).split())
    for package in ("executorch", "torch", "torchao"):
        assert f"· {package} not installed" in text
    assert REMEDY in text
    assert installation.install_command(["tested", "vision"]) in text
    assert installation.install_command(["openvino", "tested"]) in text
    assert not re.search("✗ (framework|executorch|torch)", text)


def extras() -> dict[str, set[str]]:
    """The packages that each extra brings, its own extras among them."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    def brought(name: str) -> Iterator[str]:
        for requirement in map(Requirement, declared[name]):
            if requirement.name == "edge-harness":
                for extra in requirement.extras:
                    yield from brought(extra)
            else:
                yield canonicalize_name(requirement.name)

    return {name: set(brought(name)) for name in declared}


def test_each_package_is_brought_by_the_extra_that_messages_name() -> None:
    brought = extras()
    names = {canonicalize_name(package): extra for package, extra in EXTRAS.items()}
    assert {package: extra for package, extra in names.items() if package not in brought[extra]} == {}
    assert brought["all"] >= names.keys()
    assert brought["executorch"] == brought["tested"] == {*EXPORTS, *FASTER}
    assert set(RUNNER) <= set(EXPORTS)


def test_each_extra_that_a_text_names_exists() -> None:
    folders = ("harness", "frameworks", "platforms", "reporters", "specifications", "docs")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    named: set[str] = set()
    for file in (*files, ROOT / "README.md", ROOT / "Makefile", ROOT / "Dockerfile"):
        text = file.read_bytes().decode(errors="replace")
        named |= set(re.findall(r"extra `([a-z]+)`", text))
        for names in re.findall(r"edge-harness\[([a-z,]+)\]", text):
            named |= set(names.split(","))
    named |= set(EXTRAS.values())
    assert {"executorch", "tested", "openvino"} <= named
    assert named <= extras().keys()


def test_the_tested_set_is_written_alike_everywhere() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = {Requirement(line).name: Requirement(line) for line in lines if line and not line.startswith("#")}
    frameworks = {*onnxruntime.EXTRAS, *tflite.EXTRAS} - {"numpy", "torch"}
    assert pins.keys() == {canonicalize_name(package) for package in EXTRAS} | frameworks | FASTER
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    tested = {str(Requirement(line)) for line in project["tested"]}
    assert tested == {str(pins[package]) for package in (*EXPORTS, *FASTER)}
    ranges = (
        Requirement(line)
        for extra in ("executorch", "vision", "openvino", "efficientnet", "onnxruntime", "tflite")
        for line in project[extra]
    )
    for wanted in ranges:
        if wanted.name in pins:
            (pin,) = pins[wanted.name].specifier
            assert (pin.operator, wanted.specifier.contains(pin.version)) == ("==", True), wanted


def test_this_environment_has_the_tested_set() -> None:
    installed = {package: metadata.version(package).partition("+")[0] for package in EXPORTS}
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert {f"{package}=={version}" for package, version in installed.items()} <= set(lines)
