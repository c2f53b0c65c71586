"""The image is made of what the wheel is made of."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.docs.pages import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text()
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = CONFIGURATION["project"]["optional-dependencies"]
PACKAGES = CONFIGURATION["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
METADATA = ("pyproject.toml", "constraints.txt", CONFIGURATION["project"]["readme"], "LICENSE")


def test_it_contains_every_package_of_the_wheel_and_its_metadata() -> None:
    copied = {
        name for names in re.findall(r"^COPY (?!--)(.*) \S+$", DOCKERFILE, re.MULTILINE) for name in names.split()
    }
    assert copied == {*PACKAGES, *METADATA}


def test_docker_is_given_no_more() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines[1] == "*"
    assert {line.removeprefix("!") for line in lines if line.startswith("!")} == {*PACKAGES, *METADATA}


@pytest.mark.parametrize("name", ["TORCH_INDEX=https://download.pytorch.org/whl/cpu", "--constraint constraints.txt"])
def test_torch_is_the_one_of_make(name: str) -> None:
    assert name in DOCKERFILE
    assert name.rpartition("=")[2] in (ROOT / "Makefile").read_text()


def test_its_python_is_one_that_was_tried() -> None:
    (version,) = re.findall(r"^ARG PYTHON=(\S+)$", DOCKERFILE, re.MULTILINE)
    assert f"Programming Language :: Python :: {version}" in CONFIGURATION["project"]["classifiers"]


def _needs_torch(extra: str) -> bool:
    requirements = EXTRAS[extra]
    names = {re.split(r"[<>=~\[; ]", requirement)[0] for requirement in requirements}
    inner = {
        name
        for requirement in requirements
        for found in re.findall(r"^edge-harness\[(.*)\]", requirement)
        for name in found.split(",")
    }
    return "torch" in names or any(_needs_torch(name) for name in inner)


def test_torch_and_a_compiler_are_left_out_for_extras_that_run_no_model() -> None:
    (listed,) = re.findall(r"^ +([\w|-]+)\) ;;", DOCKERFILE, re.MULTILINE)
    assert set(listed.split("|")) == {extra for extra in EXTRAS if not _needs_torch(extra)}
