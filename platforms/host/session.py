"""This machine while it is held: files, program starts, state."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from harness import shell
from harness.core.command import Command, Completed
from harness.core.device import Device, DeviceState
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Staged
from harness.files.atomic import replacing
from platforms.host import energy
from platforms.host.file_copies import Copies
from platforms.host.placement import Placement, can_pin, checked, pinned
from platforms.host.programs import check_program
from platforms.host.state import StateReader

_TICK_NS = 20_000_000
"""By how much the time of a file may lag behind the clock: a tick of the kernel, of 10 ms at most."""
_DIGITS = 6
"""Of the folders of one session: their paths are equally long, because the length of an argument moves the stack of a
program, and with it its speed."""


class _Written(NamedTuple):
    """When something was last done to a file, which nobody can choose, and which file it is."""

    ns: int
    inode: int


class HostSession:
    """A session on this machine (`Session` and `Interactive` of `harness.core.protocols`).

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
        self._copies = Copies(folder / "files")
        self._began_ns = time.time_ns()
        self._pulled: dict[Path, _Written] = {}

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path]) -> Staged:
        """Data are linked to copies of this session (see `Copies`); programs are used where they are, if they can be.

        Raises:
            BenchmarkFailed: An earlier program changed a file of the cache.
            EnvironmentProblem: A file cannot be read, or not be copied.
        """
        folder = self._folder / f"{self._staged:0{_DIGITS}}"
        self._staged += 1
        try:
            folder.mkdir()
            for name, path in files.items():
                self._copies.link(folder / name, path)
            started = {name: str(_executable(path, folder / "programs")) for name, path in programs.items()}
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot stage {error.filename or folder}: {error.strerror}", hint="check space and permissions there"
            ) from error
        return Staged(str(folder), {name: str(folder / name) for name in files}, started)

    def run(self, command: Command) -> Completed:
        """Run pinned, in a process group of its own, which dies with the harness.

        Raises:
            BenchmarkFailed: It is no program of this machine, or a staged file was changed.
            BenchmarkUnsupported: It cannot be pinned to its CPUs.
            EnvironmentProblem: It cannot be started.
        """
        cpus = self._cpus(command)
        prefixed = self._prefixed(command, cpus)
        completed = energy.metered(lambda: shell.run(prefixed)) if command.energy else shell.run(prefixed)
        return self._ended(completed, cpus)

    @contextlib.contextmanager
    def start(self, command: Command) -> Iterator[_Live]:
        """Start as `run` does, to talk with. Its errors are those of `run`."""
        cpus = self._cpus(command)
        with shell.start(self._prefixed(command, cpus)) as running:
            yield _Live(running, lambda completed: self._ended(completed, cpus))

    def pull(self, remote: str, local: Path) -> None:
        """Fetch, whole or not at all, then remove; what lies outside the session's folder stays.

        Raises:
            FileNotFoundError: There is no such file, or it lies outside and was not written since the last launch.
        """
        place = Path(remote)
        ours = place.is_relative_to(self._folder) and ".." not in place.parts
        written = _written(place)
        if not ours and (written.ns < self._began_ns - _TICK_NS or self._pulled.get(place) == written):
            raise FileNotFoundError(f"{remote} was not written since the launch")
        local.parent.mkdir(parents=True, exist_ok=True)
        with replacing(local) as draft:
            shutil.copyfile(place, draft)
        self._pulled[place] = written
        if ours:
            place.unlink()

    def state(self) -> DeviceState:
        """The machine's state now."""
        return self._state.read()

    def _prefixed(self, command: Command, cpus: tuple[int, ...]) -> Command:
        placed = replace(command, cwd=command.cwd or self._folder)
        started = shell.kill_with_harness(placed)  # looks for the program itself, and not for what pins it
        check_program(shell.locate_program(placed), self._folder)
        self._began_ns = time.time_ns()
        if not cpus:
            return started
        prefix = started.argv[: -len(placed.argv)]
        return started.replace_argv((*prefix, *pinned(cpus), *placed.argv))

    def _ended(self, completed: Completed, cpus: tuple[int, ...]) -> Completed:
        self._copies.check(f"it {completed.describe()}" if not completed.ok else "it ended well")
        return replace(completed, cpus=cpus or None)

    def _cpus(self, command: Command) -> tuple[int, ...]:
        if command.cpus is not None:
            return checked(command.cpus)
        if self._pin and can_pin() and command.threads is not None:
            return self._placement.choose(command.threads)
        return ()


@dataclass(frozen=True, slots=True)
class _Live:
    """A live process, and what is to be done at its end."""

    running: shell.RunningProcess
    ended: Callable[[Completed], Completed]

    def write_line(self, line: str) -> None:
        self.running.write_line(line)

    def wait_for_line(self, line: str) -> bool:
        return self.running.wait_for_line(line)

    def finish(self) -> Completed:
        return self.ended(self.running.finish())


def _written(place: Path) -> _Written:
    found = place.stat()
    return _Written(found.st_ctime_ns, found.st_ino)


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
