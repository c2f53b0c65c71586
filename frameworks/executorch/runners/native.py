"""Native runner of the installed wheel: from the cache, or compiled on first use."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Final

import specifications
from frameworks.executorch.runners.compiling import OPTIONS, RunnerPlan, compile_once, run_steps
from frameworks.executorch.runners.toolchain import Tools, find_tools
from frameworks.executorch.runners.wheel import Wheel, wheel_with_sdk
from frameworks.runner_cache import disk_errors, runner_path, runners_folder
from harness.core.build import Build
from harness.core.errors import BuildFailed
from harness.core.protocols import Progress
from harness.files.digests import sha256_of_file, sha256_of_folder, sha256_of_texts
from harness.files.programs import RUNNER, layout_name

LAYOUTS: Final = "layouts"
"""Flag of builds with further layouts: their number."""

SOURCES: Final = Path(__file__).parents[1] / "native"

_PERMUTE_LINK: Final = Path(*specifications.__path__[:1], "frameworks", "permute_link.py")
"""Program that links in another layout, which build recipes use too."""


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


def link_layouts(build: Build, count: int, cache_dir: Path, progress: Progress) -> Build:
    """Return the native runner with further layouts: compiled once more, and linked in that many orders.

    The libraries of the wheel stay as they are: only the layout of the program itself varies.

    Raises:
        BuildFailed: The build is none of ours, a tool is missing, or it does not link.
    """
    plan = plan_build(cache_dir)
    if plan.build.digest != build.digest:
        raise BuildFailed(
            f"the {build.recipe} runner cannot be linked in other layouts", hint="leave out --layouts or --runner"
        )
    flags = {**build.flags, LAYOUTS: str(count), "permute_link": sha256_of_file(_PERMUTE_LINK)}
    digest = sha256_of_texts(flags)
    program = runner_path(cache_dir, digest).with_name(RUNNER)  # as long a name as those of layouts
    names = [layout_name(number) for number in range(1, count + 1)]

    def make(folder: Path, log: Path) -> Path:
        tree, complete, cmake = folder / "build", folder / "complete", str(plan.tools.cmake.path)
        complete.mkdir()
        configure = (
            *configure_words(plan.tools, tree, plan.wheel.version),
            f"-DCMAKE_PREFIX_PATH={plan.wheel.package}",
        )
        launcher = f"-DCMAKE_CXX_LINKER_LAUNCHER={sys.executable};{_PERMUTE_LINK}"
        for number, name in enumerate((program.name, *names)):
            words = configure if number == 0 else (*configure, f"{launcher};{number}")
            run_steps((words, (cmake, "--build", str(tree)), (str(tree / "runner"), "--help")), log)
            shutil.copy2(tree / "runner", complete / name)
        return complete

    if not program.exists():
        with disk_errors(cache_dir):
            compile_once(program, f"linking the ExecuTorch runner in {count} further layouts", make, progress)
    programs = {**build.programs, "program": program, **{name: program.parent / name for name in names}}
    return build.model_copy(update={"programs": programs, "digest": digest})


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
