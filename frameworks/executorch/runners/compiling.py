"""Compiles the native runner, once, in a folder of its own that is moved in whole: what is there is finished."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from frameworks.executorch.runners.toolchain import Tools
from frameworks.executorch.runners.wheel import Wheel
from harness import shell
from harness.core.command import Command
from harness.core.errors import BuildFailed
from harness.core.protocols import Progress
from harness.files.locks import FileLock

SOURCES: Final = Path(__file__).parents[1] / "native"
OPTIONS: Final = "-O3 -DNDEBUG"

_STEP_S = 300.0
"""Limit of configuring and of compiling: both take seconds on an idle machine."""
_LOCK_S = 3 * _STEP_S
"""How long to wait for another process that makes the same runner."""


def make(program: Path, wheel: Wheel, tools: Tools, progress: Progress) -> None:
    """Compile `program` in a folder beside its own, and move it in whole."""
    folder = program.parent
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
            progress.task(f"compiling the ExecuTorch {wheel.version} runner (once)"),
        ):
            _compile(Path(name), wheel, tools, log=folder.with_suffix(".log"))
            made = Path(name) / "made"
            made.mkdir()
            (Path(name) / "build" / program.name).rename(made / program.name)
            made.rename(folder)


def _compile(folder: Path, wheel: Wheel, tools: Tools, log: Path) -> None:
    """Configure, compile, and see that it starts. Everything the steps say goes to `log`, which stays."""
    build = folder / "build"
    configure = (
        *(str(tools.cmake.path), "-S", str(SOURCES), "-B", str(build), "-G", tools.generator),
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_CXX_COMPILER={tools.compiler.path}",
        f"-DCMAKE_CXX_FLAGS_RELEASE={OPTIONS}",
        "-DCMAKE_CXX_FLAGS=",  # these two: CXXFLAGS and LDFLAGS of the environment have no part in it
        "-DCMAKE_EXE_LINKER_FLAGS=",
        f"-DCMAKE_PREFIX_PATH={wheel.package}",
        f"-DPython3_EXECUTABLE={sys.executable}",
        f"-DEXECUTORCH_VERSION={wheel.version}",
    )
    steps = (configure, (str(tools.cmake.path), "--build", str(build)), (str(build / "runner"), "--help"))
    said = ""
    for argv in steps:
        completed = shell.run(Command(argv, timeout_s=_STEP_S))
        said += f"$ {' '.join(argv)}\n{completed.stdout}{completed.stderr}\n"
        log.write_text(said)
        if not completed.ok:
            last = "\n".join(f"    {line}" for line in said.strip().splitlines()[-15:])
            raise BuildFailed(
                f"the native runner cannot be made: {Path(argv[0]).name} {completed.describe()}\n{last}",
                hint=f"the whole log is {log}",
            )
