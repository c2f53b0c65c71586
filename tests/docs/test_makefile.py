"""The Makefile's choice of the index for torch, and its end where none has torch."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

CPU_INDEX = "https://download.pytorch.org/whl/cpu"


@dataclass(frozen=True)
class Environment:
    """A virtual environment whose programs write down what they are asked for."""

    folder: Path

    @property
    def log(self) -> str:
        log = self.folder / "log"
        return log.read_text() if log.exists() else ""

    def write(self, name: str, lines: str) -> None:
        program = self.folder / "bin" / name
        program.write_text(f'#!/bin/sh\n{lines}\necho "{name} $*" >> {self.folder}/log\n')
        program.chmod(0o755)

    def make(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        others = {name: value for name, value in os.environ.items() if name not in {"TORCH_INDEX", "MAKEFLAGS"}}
        return subprocess.run(
            ("make", *arguments, f"VENV={self.folder}"),
            cwd=ROOT,
            env={**others, **variables},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    made = Environment(tmp_path / "venv")
    (made.folder / "bin").mkdir(parents=True)
    (made.folder / ".venv").touch()
    made.write("python", "")
    made.write("harness", "")
    return made


def pip_config(environment: Environment, *lines: str) -> None:
    listing = "\n".join(lines)
    environment.write("python", f"if [ \"$3\" = config ]; then cat << 'END'\n{listing}\nEND\nexit; fi")


@pytest.mark.parametrize(
    ("lines", "index"),
    [
        ((), CPU_INDEX),
        (("global.cert='/etc/ssl/certs/ca.crt'", ":env:.index-url=''"), CPU_INDEX),
        (("global.index-url='https://pypi.org/simple'",), CPU_INDEX),
        (("global.index-url='https://mirror.example/simple'",), ""),
        (("user.extra-index-url='https://mirror.example/simple'",), ""),
        ((":env:.find-links='/opt/wheels'",), ""),
    ],
)
def test_torch_comes_from_its_own_index_unless_pip_was_told_another_one(
    environment: Environment, lines: tuple[str, ...], index: str
) -> None:
    pip_config(environment, *lines)
    planned = environment.make("--dry-run", "mv2", "SYSTEM=Linux")
    assert planned.returncode == 0, planned.stderr
    assert re.findall(r'index="(.*?)"', planned.stdout) == [index]


@pytest.mark.parametrize("index", ["", "https://torch.example/cpu"])
def test_the_index_of_the_caller_has_precedence(environment: Environment, index: str) -> None:
    for planned in (
        environment.make("--dry-run", "mv2", f"TORCH_INDEX={index}"),
        environment.make("--dry-run", "mv2", TORCH_INDEX=index),
    ):
        assert re.findall(r'index="(.*?)"', planned.stdout) == [index]


def test_elsewhere_than_on_linux_torch_comes_from_the_usual_index(environment: Environment) -> None:
    planned = environment.make("--dry-run", "mv2", "SYSTEM=Darwin")
    assert re.findall(r'index="(.*?)"', planned.stdout) == [""]


def test_torch_alone_is_taken_from_its_index(environment: Environment) -> None:
    assert environment.make("mv2", f"TORCH_INDEX={CPU_INDEX}").returncode == 0
    installs = [line for line in environment.log.splitlines() if " install " in line]
    assert len(installs) == 2
    assert installs[0].endswith(f"--no-deps --index-url {CPU_INDEX} torch torchvision")
    assert installs[1].endswith("--editable .[vision]")
    assert all("--constraint constraints.txt" in line for line in installs)
    assert environment.log.endswith("harness -b specifications/models/mv2.json\n")


@pytest.mark.parametrize("failing", ["--index-url", ".[vision]"])
def test_without_torch_a_program_is_measured_and_the_remedy_is_told(environment: Environment, failing: str) -> None:
    environment.write("python", f'case "$*" in *"{failing}"*) echo "no torch" >&2; exit 1; esac')
    done = environment.make("mv2", f"TORCH_INDEX={CPU_INDEX}")
    assert done.returncode == 2  # make's own, for a recipe that failed: MobileNetV2 was not measured
    assert "harness -b specifications/models/sort.json\n" in environment.log
    assert "mv2.json" not in environment.log
    assert "--editable .\n" in environment.log
    assert "MobileNetV2 was not measured, only a program that needs no extra" in done.stdout
    assert f"cannot be installed on this machine from {CPU_INDEX}" in done.stdout
    assert "make mv2 TORCH_INDEX=URL" in done.stdout
    refused = environment.make("fast", f"TORCH_INDEX={CPU_INDEX}")
    assert refused.returncode == 2  # the tests need all of it
    assert "pytest" not in environment.log


def test_where_torch_can_be_had_again_everything_is_installed(environment: Environment) -> None:
    environment.write("python", 'case "$*" in *--index-url*) exit 1; esac')
    assert environment.make("mv2", f"TORCH_INDEX={CPU_INDEX}").returncode == 2
    environment.write("python", "")
    assert environment.make("mv2", f"TORCH_INDEX={CPU_INDEX}").returncode == 0
    assert environment.log.endswith("harness -b specifications/models/mv2.json\n")
