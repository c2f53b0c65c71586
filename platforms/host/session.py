"""This machine while it is held: files, program starts, state."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from harness import shell
from harness.core.command import Command, Completed
from harness.core.device import Device, DeviceState
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Staged
from platforms.host.placement import Placement, checked
from platforms.host.state import StateReader


class HostSession:
    """A session on this machine.

    Args:
        device: This machine.
        folder: The session's folder.
        placement: The CPUs in order of preference.
        pin: Whether programs with a known number of threads are pinned.
    """

    def __init__(self, device: Device, folder: Path, placement: Placement, *, pin: bool) -> None:
        self.device = device
        self._folder = folder
        self._staged = 0
        self._placement = placement
        self._pin = pin
        self._state = StateReader()

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path]) -> Staged:
        """Nothing is copied that can be used where it is: data are linked, programs too unless they lack their bit."""
        folder = self._folder / str(self._staged)
        self._staged += 1
        folder.mkdir()
        return Staged(
            str(folder),
            {name: _linked(folder / name, path) for name, path in files.items()},
            {name: str(_executable(path, folder / "programs")) for name, path in programs.items()},
        )

    def run(self, command: Command) -> Completed:
        """Run pinned, in a process group of its own, which dies with the harness."""
        cpus = self._cpus(command)
        cwd = command.cwd or self._folder
        _check_program(command.argv[0], cwd)
        argv = (*_follow_parent(), *_pinned(cpus), *command.argv)
        completed = shell.run(replace(command, argv=argv, cwd=cwd))
        return replace(completed, cpus=cpus or None)

    def pull(self, remote: str, local: Path) -> None:
        """Move, whole or not at all."""
        local.parent.mkdir(parents=True, exist_ok=True)
        partial = local.with_name(local.name + ".part")
        shutil.copyfile(remote, partial)
        partial.replace(local)
        Path(remote).unlink()

    def state(self) -> DeviceState:
        """The machine's state now."""
        return self._state.read()

    def _cpus(self, command: Command) -> tuple[int, ...]:
        if command.cpus is not None:
            return checked(command.cpus)
        if self._pin and command.threads is not None:
            return self._placement.choose(command.threads)
        return ()


def _linked(place: Path, path: Path) -> str:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(path)
    return str(place)


def _executable(path: Path, folder: Path) -> Path:
    if not path.is_file():
        raise EnvironmentProblem(f"no such program: {path}", hint="check --program, or delete the cached build")
    if path.stat().st_mode & 0o111:
        return path
    folder.mkdir(exist_ok=True)
    copy = folder / path.name
    shutil.copyfile(path, copy)
    copy.chmod(0o755)
    return copy


def _check_program(program: str, cwd: Path) -> None:
    """Say what is missing ourselves: behind a prefix it would look like a failure of the prefix."""
    if shutil.which(program if "/" not in program else cwd / program) is None:
        raise EnvironmentProblem(f"cannot start {program}: no such program", hint="check the path, or install it")


@cache
def _follow_parent() -> tuple[str, ...]:
    """A prefix by which Linux ends the program when the harness is killed: a killed run disturbs no later one."""
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()


def _pinned(cpus: tuple[int, ...]) -> tuple[str, ...]:
    taskset = _taskset()
    return (taskset, "-c", ",".join(map(str, cpus))) if taskset and cpus else ()


@cache
def _taskset() -> str | None:
    return shutil.which("taskset")
