from __future__ import annotations

from pathlib import Path

import pytest

from harness.builders.toolchain import find_toolchain
from tests.builders.recipe_parts import write_program


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    return write_program(tmp_path / "my-c++", "#!/bin/sh\necho my-c++ 1.0\necho more\n")


def test_compilers_are_recorded_with_path_and_version(compiler: Path) -> None:
    tools = find_toolchain(environment={"CXX": str(compiler)})
    assert tools.tools["c++"] == f"{compiler} (my-c++ 1.0)"
    assert tools.flags["c++"] == tools.tools["c++"]
    assert tools.flags["CXX"] == str(compiler)


def test_ccache_is_resolved_to_the_real_compiler(compiler: Path) -> None:
    assert find_toolchain(environment={"CXX": f"ccache {compiler}"}).tools["c++"] == f"{compiler} (my-c++ 1.0)"


def test_another_version_is_another_toolchain(compiler: Path) -> None:
    before = find_toolchain(environment={"CXX": str(compiler)}).digest
    assert find_toolchain(environment={"CXX": str(compiler)}).digest == before
    write_program(compiler, "#!/bin/sh\necho my-c++ 1.1\n")
    assert find_toolchain(environment={"CXX": str(compiler)}).digest != before


@pytest.mark.parametrize(
    ("name", "matters"),
    [("CXXFLAGS", True), ("CMAKE_PREFIX_PATH", True), ("EXECUTORCH_CMAKE_ARGS", True), ("EDITOR", False)],
)
def test_only_variables_that_affect_builds_are_recorded(name: str, matters: bool) -> None:
    plain, changed = find_toolchain(environment={}), find_toolchain(environment={name: "x"})
    assert (changed.digest != plain.digest) == matters
    assert (name in changed.flags) == matters


def test_missing_tools_are_left_out() -> None:
    assert "c++" not in find_toolchain(environment={"CXX": "/no/such/compiler"}).tools


def test_package_versions_are_recorded() -> None:
    packages = find_toolchain(environment={}, packages=("pytest", "no-such-package")).packages
    assert packages == {"pytest": pytest.__version__}


def test_the_ndk_revision_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "source.properties").write_text("Pkg.Desc = Android NDK\nPkg.Revision = 27.2.12479018\n")
    assert find_toolchain(environment={"ANDROID_NDK": str(tmp_path)}).tools["ndk"] == "27.2.12479018"
    assert "ndk" not in find_toolchain(environment={"ANDROID_NDK": str(tmp_path / "none")}).tools


def test_of_two_ndks_the_used_one_is_recorded(tmp_path: Path) -> None:
    for revision in ("27", "21"):
        (tmp_path / revision).mkdir()
        (tmp_path / revision / "source.properties").write_text(f"Pkg.Revision = {revision}\n")
    both = {"ANDROID_NDK": str(tmp_path / "27"), "ANDROID_NDK_HOME": str(tmp_path / "21")}
    assert find_toolchain(environment=both).tools["ndk"] == "27"
    assert find_toolchain(environment={**both, "ANDROID_NDK": ""}).tools["ndk"] == "21"


def test_an_undecodable_variable_is_tolerated() -> None:
    assert find_toolchain(environment={"CXXFLAGS": "-I/\udcff"}).variables["CXXFLAGS"] == "-I/\ufffd"
