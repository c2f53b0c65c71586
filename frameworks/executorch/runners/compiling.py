"""Compiling a runner once, whoever asks at the same time."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Generic, TypeVar

from msgspec import Struct

from frameworks.executorch.runners.toolchain import Tools
from harness import shell
from harness.core.build import Build
from harness.core.command import Command
from harness.core.errors import BuildFailed
from harness.core.protocols import Progress
from harness.files.locks import FileLock

WheelT = TypeVar("WheelT")

OPTIONS: Final = "-O3 -DNDEBUG"

_STEP_S: Final = 300.0
"""Limit of configuring and of compiling: both take seconds on an idle machine."""

_LOCK_S: Final = 3 * _STEP_S
"""Time to wait for another process that compiles the same runner."""


class RunnerPlan(Struct, Generic[WheelT], frozen=True):
    """Native runner that is compiled or can be.

    Attributes:
        build: The build, as it is once its program exists; beside `program`, which is started, those that it needs.
        wheel: The package that it is compiled against.
        tools: The tools that compile it.
    """

    build: Build
    wheel: WheelT
    tools: Tools

    @property
    def program(self) -> Path:
        """Path of the program, which may not exist yet."""
        return self.build.programs["program"]


def compile_once(program: Path, title: str, make: Callable[[Path, Path], Path], progress: Progress) -> None:
    """Compile in a temporary folder beside that of the program, which a part of it then becomes as a whole.

    Args:
        program: The program that is there afterwards, and perhaps is already.
        title: Text for people.
        make: Is given the temporary folder, and the log to write; returns the complete folder of the program.
        progress: Shows that it is compiled.

    Raises:
        BuildFailed: It cannot be made, or another process takes too long.
    """
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
            progress.task(title),
        ):
            make(Path(name), folder.with_suffix(".log")).rename(folder)


def run_steps(steps: Sequence[Sequence[str]], log: Path) -> None:
    """Run programs one after the other. The output of all of them is kept in `log`.

    Raises:
        BuildFailed: One failed; its last lines are quoted.
    """
    output = ""
    for argv in steps:
        completed = shell.run(Command(tuple(argv), timeout_s=_STEP_S))
        output += f"$ {' '.join(argv)}\n{completed.stdout}{completed.stderr}\n"
        log.write_text(output, encoding="utf-8")
        if not completed.ok:
            last = "\n".join(f"    {line}" for line in output.strip().splitlines()[-15:])
            raise BuildFailed(
                f"the native runner cannot be compiled: {Path(argv[0]).name} {completed.describe()}\n{last}",
                hint=f"the whole log is {log}",
            )
