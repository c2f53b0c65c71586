"""Native runner for Android without an NDK: cross-compiled against the released wheel for Linux on the same processor.

The wheel and GCC bring glibc's view of a system, Android has another C library (bionic). So glibc and its loader go to
the device beside the runner, and a static launcher starts it with them.
"""

from __future__ import annotations

from pathlib import Path

from packaging.version import Version

from frameworks.executorch.runners.compiling import OPTIONS, RunnerPlan, compile_once, run_steps
from frameworks.executorch.runners.device_wheel import CachedWheel, fetch_wheel
from frameworks.executorch.runners.native import SOURCES, configure_words
from frameworks.executorch.runners.toolchain import describe_c_library, find_c_library, find_cross_tools
from frameworks.executorch.runners.wheel import wheel_with_sdk
from frameworks.runner_cache import disk_errors, runner_path, runners_folder
from harness.core.build import Build
from harness.core.device import LINUX_MACHINES
from harness.core.errors import BuildFailed
from harness.core.protocols import Progress
from harness.files.digests import sha256_of_file, sha256_of_folder, sha256_of_texts
from harness.shell import pip


def cross_build(cache_dir: Path, abi: str, progress: Progress) -> Build:
    """Return the native runner for an architecture of Android: one of `LINUX_MACHINES`.

    Raises:
        BuildFailed: A tool is missing, the wheel cannot be had, or it does not compile; the hint says what to do.
        EnvironmentProblem: The package index cannot be reached.
    """
    plan = _plan(cache_dir, abi, progress)
    with disk_errors(cache_dir):
        if not plan.program.exists():
            _compile(plan, progress)
        programs = {file.name: file for file in sorted(plan.program.parent.iterdir())}
    return plan.build.model_copy(update={"programs": programs})


def _plan(cache_dir: Path, abi: str, progress: Progress) -> RunnerPlan[CachedWheel]:
    """Determine everything that makes up the runner. What is cheap to find missing comes first."""
    machine = LINUX_MACHINES[abi]
    version = Version(wheel_with_sdk().version).public  # without the label of a local build, which no index has
    with disk_errors(cache_dir):
        tools = find_cross_tools(runners_folder(cache_dir), machine)
        library = find_c_library(tools.compiler)
        wheel = fetch_wheel(version, machine, cache_dir, progress)
        flags = {
            "runner": "native",
            "executorch": version,
            "wheel": f"{wheel.path.name} {wheel.sha256}",
            "abi": abi,
            "libc": describe_c_library(library),
            "libc_sha256": sha256_of_file(library),
            "compiler": f"{tools.compiler.path} ({tools.compiler.version})",
            "cmake": tools.cmake.version,
            "options": OPTIONS,
            "sources": sha256_of_folder(SOURCES),
        }
    digest = sha256_of_texts(flags)
    program = runner_path(cache_dir, digest).with_name("program")
    build = Build(
        source="installed", commit=version, recipe="cross", flags=flags, digest=digest, programs={"program": program}
    )
    return RunnerPlan(build, wheel, tools)


def _compile(plan: RunnerPlan[CachedWheel], progress: Progress) -> None:
    """Compile the programs. What other machines execute cannot be tried here; the linker finds what is missing."""

    def make(folder: Path, log: Path) -> Path:
        unpacked, build = folder / "wheel", folder / "build"
        pip.unpack_wheel(plan.wheel.path, unpacked)
        if not any((unpacked / "executorch" / "lib").glob("libexecutorch.*")):
            raise BuildFailed(f"{plan.wheel.path.name} contains no C++ SDK to compile a runner against")
        configure = (
            *configure_words(plan.tools, build, plan.build.commit),
            "-DCMAKE_SYSTEM_NAME=Linux",
            f"-DCMAKE_SYSTEM_PROCESSOR={LINUX_MACHINES[plan.build.flags['abi']]}",
            f"-DCMAKE_PREFIX_PATH={unpacked / 'executorch'}",
            "-DBUNDLE=ON",
        )
        run_steps((configure, (str(plan.tools.cmake.path), "--build", str(build))), log)
        return build / "bundle"

    title = f"compiling the ExecuTorch {plan.build.commit} runner for {plan.build.flags['abi']} (once)"
    compile_once(plan.program, title, make, progress)
