"""Our runner in the build of a checkout of ExecuTorch, by the real CMake: a stand-in has upstream's targets."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import shell
from harness.core.command import Command
from tests.builders.recipe_parts import ROOT

RECIPES = ROOT / "specifications/frameworks/executorch"
TARGETS = """
cmake_minimum_required(VERSION 3.24)
project(executorch CXX)
option(EXECUTORCH_BUILD_KERNELS_LLM "" OFF)
add_library(executorch_core core.cpp)
add_library(executorch_kernels INTERFACE)
target_link_libraries(executorch_kernels INTERFACE executorch_core)
if(EXECUTORCH_BUILD_KERNELS_LLM)
  add_library(custom_ops operators.cpp)
  target_link_libraries(custom_ops PUBLIC executorch_core)
  target_link_libraries(executorch_kernels INTERFACE custom_ops_aot_lib)
  install(TARGETS custom_ops EXPORT ExecuTorchTargets)
endif()
install(TARGETS executorch_core executorch_kernels EXPORT ExecuTorchTargets)
install(EXPORT ExecuTorchTargets DESTINATION lib/cmake)
"""
"""As upstream's from v1.0.0 to v1.4.1: without EXECUTORCH_BUILD_KERNELS_LLM_AOT nothing is `custom_ops_aot_lib`."""

FILES = {
    "CMakeLists.txt": TARGETS,
    "core.cpp": "int registered = 0; void add() { ++registered; }",
    "operators.cpp": "void add(); static const bool done = (add(), true);",
}
MAIN = """#include <cstdio>
extern int registered;
int main() { std::printf("%d operators of language models\\n", registered); }
"""


@pytest.mark.slow
@pytest.mark.parametrize(("switch", "count"), [("ON", 1), ("OFF", 0)])
def test_operators_of_language_models_are_kept_where_the_commit_builds_them(
    tmp_path: Path, switch: str, count: int
) -> None:
    checkout, source, build = tmp_path / "executorch", tmp_path / "runner", tmp_path / "build"
    for folder, files in ((checkout, FILES), (source, {"main.cpp": MAIN})):
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
    words = (
        f"-DCMAKE_PROJECT_executorch_INCLUDE={RECIPES / 'native_runner.cmake'}",
        f"-DHARNESS_RUNNER_SOURCE={source}",
        "-DHARNESS_LIBRARIES=executorch_core;executorch_kernels",
        f"-DEXECUTORCH_BUILD_KERNELS_LLM={switch}",
    )
    for argv in (
        ("cmake", "-S", str(checkout), "-B", str(build), *words),
        ("cmake", "--build", str(build), "--target", "harness_runner"),
        (str(build / "harness_runner"),),
    ):
        done = shell.run(Command(argv, timeout_s=120))
        assert done.ok, done.describe()
    assert done.stdout == f"{count} operators of language models\n"
