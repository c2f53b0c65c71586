"""Native runner of the installed wheel: from the cache, or compiled on first use."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from frameworks.executorch.runners.cache import disk_errors, runner_path, runners_folder
from frameworks.executorch.runners.compiling import OPTIONS, RunnerPlan, compile_once, run_steps
from frameworks.executorch.runners.toolchain import Tools, find_tools
from frameworks.executorch.runners.wheel import Wheel, wheel_with_sdk
from harness.core.build import Build
from harness.core.protocols import Progress
from harness.files.digests import sha256_of_folder, sha256_of_texts

SOURCES: Final = Path(__file__).parents[1] / "native"


def native_build(cache_dir: Path, progress: Progress) -> Build:
    """Return the native runner. Many processes may ask at the same time; one compiles.

    Raises:
        BuildFailed: There is no SDK, a tool is missing, or it does not compile; the hint says what to do.
    """
    plan = plan_build(cache_dir)
    if not plan.program.exists():
        with disk_errors(cache_dir):
            compile_runner(plan, progress)
    return plan.build


def plan_build(cache_dir: Path) -> RunnerPlan[Wheel]:
    """Determine everything that makes up the native runner, without compiling it.

    Raises:
        BuildFailed: There is no SDK, or a tool is missing.
    """
    wheel = wheel_with_sdk()
    with disk_errors(cache_dir):
        tools = find_tools(runners_folder(cache_dir))
        flags = {
            "executorch": wheel.version,
            "record": wheel.record,
            "package": str(wheel.package),  # the runner finds its libraries there
            "compiler": f"{tools.compiler.path} ({tools.compiler.version})",
            "cmake": tools.cmake.version,
            "options": OPTIONS,
            "sources": sha256_of_folder(SOURCES),
        }
    digest = sha256_of_texts(flags)
    build = Build(
        source="installed",
        commit=wheel.version,
        recipe="native",
        flags=flags,
        digest=digest,
        programs={"program": runner_path(cache_dir, digest)},
    )
    return RunnerPlan(build, wheel, tools)


def compile_runner(plan: RunnerPlan[Wheel], progress: Progress) -> None:
    """Compile the program, and check that it starts."""

    def make(folder: Path, log: Path) -> Path:
        build, cmake = folder / "build", str(plan.tools.cmake.path)
        configure = (
            *configure_words(plan.tools, build, plan.wheel.version),
            f"-DCMAKE_PREFIX_PATH={plan.wheel.package}",
        )
        run_steps((configure, (cmake, "--build", str(build)), (str(build / "runner"), "--help")), log)
        complete = folder / "complete"
        complete.mkdir()
        (build / plan.program.name).rename(complete / plan.program.name)
        return complete

    compile_once(plan.program, f"compiling the ExecuTorch {plan.wheel.version} runner (once)", make, progress)


def configure_words(tools: Tools, build: Path, version: str) -> tuple[str, ...]:
    """Return the command that configures the build of the runner in a folder, whatever it is for."""
    return (
        *(str(tools.cmake.path), "-S", str(SOURCES), "-B", str(build), "-G", tools.generator),
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_CXX_COMPILER={tools.compiler.path}",
        f"-DCMAKE_CXX_FLAGS_RELEASE={OPTIONS}",
        "-DCMAKE_CXX_FLAGS=",  # these two: CXXFLAGS and LDFLAGS of the environment have no part in it
        "-DCMAKE_EXE_LINKER_FLAGS=",
        f"-DPython3_EXECUTABLE={sys.executable}",
        f"-DEXECUTORCH_VERSION={version}",
    )
