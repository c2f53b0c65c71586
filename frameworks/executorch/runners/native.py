"""Native runner of the installed wheel: from the cache, or compiled on first use."""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from frameworks.executorch.runners.cache import disk_errors, runner_path, runners_folder
from frameworks.executorch.runners.toolchain import Tools, find_tools
from frameworks.executorch.runners.wheel import Wheel, wheel_with_sdk
from harness import shell
from harness.core.build import Build
from harness.core.command import Command
from harness.core.errors import BuildFailed
from harness.core.protocols import Progress
from harness.files.digests import sha256_of_folder, sha256_of_texts
from harness.files.locks import FileLock

SOURCES: Final = Path(__file__).parents[1] / "native"
OPTIONS: Final = "-O3 -DNDEBUG"

_STEP_S = 300.0
"""Limit of configuring and of compiling: both take seconds on an idle machine."""

_LOCK_S = 3 * _STEP_S
"""Time to wait for another process that compiles the same runner."""


@dataclass(frozen=True, slots=True)
class NativeBuildPlan:
    """Native runner that is compiled or can be.

    Attributes:
        build: The build, as it is once its program exists.
        wheel: The package that it is compiled against.
        tools: The tools that compile it.
    """

    build: Build
    wheel: Wheel
    tools: Tools

    @property
    def program(self) -> Path:
        """Path of the program, which may not exist yet."""
        return self.build.programs["program"]


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


def plan_build(cache_dir: Path) -> NativeBuildPlan:
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
    return NativeBuildPlan(build, wheel, tools)


def compile_runner(plan: NativeBuildPlan, progress: Progress) -> None:
    """Compile the program in a temporary folder beside its own, which then takes its place as a whole."""
    program, folder = plan.program, plan.program.parent
    lock = FileLock(folder.with_suffix(".lock"))
    if not shell.poll_until(lock.acquire, _LOCK_S):
        raise BuildFailed(
            f"another process has been compiling the same runner for {_LOCK_S:g} s", hint="end it, and try again"
        )
    with lock:
        if program.exists():
            return
        for leftover in (folder, *folder.parent.glob(f".{folder.name}-*")):
            shutil.rmtree(leftover, ignore_errors=True)  # of a process that was killed: we hold the lock
        with (
            tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as name,
            progress.task(f"compiling the ExecuTorch {plan.wheel.version} runner (once)"),
        ):
            _run_cmake(Path(name), plan, log=folder.with_suffix(".log"))
            complete = Path(name) / "complete"
            complete.mkdir()
            (Path(name) / "build" / program.name).rename(complete / program.name)
            complete.rename(folder)


def _run_cmake(folder: Path, plan: NativeBuildPlan, log: Path) -> None:
    """Configure, compile, and check that the program starts. The output of all steps is kept in `log`."""
    build, cmake = folder / "build", str(plan.tools.cmake.path)
    configure = (
        *(cmake, "-S", str(SOURCES), "-B", str(build), "-G", plan.tools.generator),
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_CXX_COMPILER={plan.tools.compiler.path}",
        f"-DCMAKE_CXX_FLAGS_RELEASE={OPTIONS}",
        "-DCMAKE_CXX_FLAGS=",  # these two: CXXFLAGS and LDFLAGS of the environment have no part in it
        "-DCMAKE_EXE_LINKER_FLAGS=",
        f"-DCMAKE_PREFIX_PATH={plan.wheel.package}",
        f"-DPython3_EXECUTABLE={sys.executable}",
        f"-DEXECUTORCH_VERSION={plan.wheel.version}",
    )
    steps = (configure, (cmake, "--build", str(build)), (str(build / "runner"), "--help"))
    output = ""
    for argv in steps:
        completed = shell.run(Command(argv, timeout_s=_STEP_S))
        output += f"$ {' '.join(argv)}\n{completed.stdout}{completed.stderr}\n"
        log.write_text(output)
        if not completed.ok:
            last = "\n".join(f"    {line}" for line in output.strip().splitlines()[-15:])
            raise BuildFailed(
                f"the native runner cannot be compiled: {Path(argv[0]).name} {completed.describe()}\n{last}",
                hint=f"the whole log is {log}",
            )
