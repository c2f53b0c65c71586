"""Session on this machine: its folder, files, program starts, state."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Self

from msgspec import Struct
from msgspec.structs import replace

from harness import shell
from harness.core.command import Command, Completed
from harness.core.device import Device, DeviceState
from harness.core.errors import BenchmarkFailed, EnvironmentProblem, OutOfSpace
from harness.core.note import Note
from harness.core.protocols import Staged
from harness.files.atomic import replacing
from harness.files.locks import FileLock
from platforms.host.energy import RaplMeter
from platforms.host.file_copies import FileCopies
from platforms.host.placement import Placement, can_pin, check_pinnable, pin_prefix, pin_process
from platforms.host.programs import check_program
from platforms.host.speed import SpeedGauge
from platforms.host.state import HostStateReader
from platforms.staging import describe_end, missing_program

_TICK_NS = 20_000_000
"""By which the time of a file may lag behind the clock: ticks of the kernel, of 10 ms at most."""
_DIGITS = 6
"""Length of the names of folders in one session: their paths are equally long, because the length of an argument moves
the stack of a program, and with it its speed."""
_LOCK: Final = ".lock"
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_NOT_PINNED: Final = Note(
    code="not_pinned",
    message="not pinned: this system cannot pin programs to CPUs, and may move them between fast and slow ones",
    hint="compare what was measured in the same run only",
)
_BLIND: Final = Note(
    code="state_unknown",
    message="device state unknown: this system shows no clock frequency and no temperature, so throttling goes unseen",
    hint="measure again later, and compare in the same run",
)


class _FileVersion(NamedTuple):
    """Identifies one version of a file: the time of its last change, which nobody can choose, and its inode."""

    changed_ns: int
    inode: int

    @classmethod
    def read(cls, path: Path) -> Self:
        status = path.stat()
        return cls(status.st_ctime_ns, status.st_ino)


@contextlib.contextmanager
def session_folder(work: Path, *, keep: bool) -> Iterator[Path]:
    """Create a folder that is locked until the context ends, and remove those that nobody locks any longer.

    A session under another machine lock (another container with the same cache, another machine with the same home)
    locks its folder, and keeps it.

    Args:
        work: Folder for them.
        keep: Leave all of them for a person to inspect.

    Raises:
        OSError: The disk refuses.
        Interrupted: The harness is being stopped.
    """
    sessions = work / "sessions"
    sessions.mkdir(parents=True, exist_ok=True)
    guard = FileLock(work / "sessions.lock")
    shell.poll_until(guard.acquire)
    with guard:  # nobody removes folders between the creation of one and its lock
        if not keep:
            _remove_abandoned(sessions)
        folder = Path(tempfile.mkdtemp(prefix="session-", dir=sessions))
        lock = FileLock(folder / _LOCK)
        lock.acquire()
    try:
        with lock:
            yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(sessions: Path) -> None:
    for folder in sessions.iterdir():
        with contextlib.suppress(OSError):  # its session removes it at this moment
            lock = FileLock(folder / _LOCK)
            if lock.acquire():
                with lock:
                    shutil.rmtree(folder, ignore_errors=True)


class HostSession:
    """A session on this machine (`Session`, `Releasing` and `Interactive` of `harness.core.protocols`).

    Args:
        device: This machine.
        folder: Folder of the session.
        placement: CPUs in order of preference.
        pin: Whether programs are pinned, where the system can.
        meter: Meter of energy.
        speed: Gauge of the speed of CPUs; None for none.
    """

    def __init__(
        self,
        device: Device,
        folder: Path,
        placement: Placement,
        *,
        pin: bool,
        meter: RaplMeter | None = None,
        speed: SpeedGauge | None = None,
    ) -> None:
        self._meter = meter or RaplMeter()
        self._speed = speed
        self.device = device
        self._folder = folder
        self._staged_count = 0
        self._placement = placement
        self._pin = pin
        self._state = HostStateReader()
        self._copies = FileCopies(folder / "files")
        self._began_ns = time.time_ns()
        self._pulled: dict[Path, _FileVersion] = {}

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path]) -> Staged:
        """Link files to copies of this session (see `FileCopies`); executable programs are used where they are.

        Raises:
            BenchmarkFailed: An earlier program changed a file of the cache.
            EnvironmentProblem: A file cannot be read or copied.
        """
        folder = self._folder / f"{self._staged_count:0{_DIGITS}}"
        self._staged_count += 1
        try:
            folder.mkdir()
            for name, path in files.items():
                self._copies.link(folder / name, path)
            executables = {name: str(_executable(path, folder / "programs")) for name, path in programs.items()}
        except OSError as error:
            kind = OutOfSpace if error.errno in _FULL else EnvironmentProblem
            raise kind(
                f"cannot stage {error.filename or folder}: {error.strerror}", hint="check space and permissions there"
            ) from error
        return Staged(str(folder), {name: str(folder / name) for name in files}, executables)

    def run(self, command: Command) -> Completed:
        """Run pinned, in a process group of its own, which ends with the harness.

        Raises:
            BenchmarkFailed: It is no program for this machine, or a staged file was changed.
            BenchmarkUnsupported: It cannot be pinned to its CPUs.
            EnvironmentProblem: It cannot be started.
        """
        cpus = self._choose_cpus(command)
        pinned = self._pin_to(cpus, command)
        started = partial(shell.run, on_start=partial(self._pin_started, cpus))

        def run_metered() -> Completed:
            return self._meter.measure(pinned, started) if command.energy else started(pinned)

        completed = run_metered() if self._speed is None else self._speed.gauge(cpus, run_metered)
        return self._complete(completed, cpus)

    @contextlib.contextmanager
    def start(self, command: Command) -> Iterator[_PinnedProcess]:
        """Start an interactive program; raises as `run` does."""
        cpus = self._choose_cpus(command)
        pinned = self._pin_to(cpus, command)
        with shell.start(pinned, on_start=partial(self._pin_started, cpus)) as process:
            yield _PinnedProcess(process, lambda completed: self._complete(completed, cpus))

    def pull(self, remote: str, local: Path) -> None:
        """Fetch a file, whole or not at all, then remove it, unless it lies outside the session's folder.

        Raises:
            FileNotFoundError: There is no such file, or it lies outside and was not written since the last launch.
            BenchmarkFailed: It is no regular file, or cannot be read.
            OutOfSpace: This machine has no room for it.
        """
        source = Path(remote)
        is_inside = source.is_relative_to(self._folder) and ".." not in source.parts
        try:
            version = self._read_version(source, is_inside=is_inside)
            _fetch(source, local)
            self._pulled[source] = version
            if is_inside:
                source.unlink()
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno in _FULL:
                raise OutOfSpace(f"no space left for {remote}", hint=f"make room for {local.parent}") from error
            raise BenchmarkFailed(f"{remote} cannot be fetched: {error.strerror}") from error

    def release(self, staged: Staged, names: Collection[str]) -> None:
        """Remove a folder, and the copies of named files; those that are used where they are stay."""
        for name, path in staged.files.items():
            self._copies.release(Path(path), keep_copy=name not in names)
        shutil.rmtree(staged.folder, ignore_errors=True)

    def state(self) -> DeviceState:
        """Read the machine's state now."""
        return self._state.read()

    def _read_version(self, source: Path, *, is_inside: bool) -> _FileVersion:
        version = _FileVersion.read(source)
        if not is_inside and (version.changed_ns < self._began_ns - _TICK_NS or self._pulled.get(source) == version):
            raise FileNotFoundError(f"{source} was not written since the launch")
        return version

    def _pin_to(self, cpus: tuple[int, ...], command: Command) -> Command:
        placed = replace(command, cwd=command.cwd or self._folder)
        guarded = shell.kill_with_harness(placed)  # looks for the program itself, and not for what pins it
        check_program(shell.locate_program(placed), self._folder)
        self._began_ns = time.time_ns()
        if not cpus:
            return guarded
        guard = guarded.argv[: -len(placed.argv)]
        return guarded.replace_argv((*guard, *pin_prefix(cpus), *placed.argv))

    def _complete(self, completed: Completed, cpus: tuple[int, ...]) -> Completed:
        self._copies.check(describe_end(completed))
        return replace(completed, cpus=cpus or None, notes=(*completed.notes, *self._notes(completed.command)))

    def _notes(self, command: Command) -> Iterator[Note]:
        if self._pin and command.threads is not None and command.cpus is None and not can_pin():
            yield _NOT_PINNED
        if self._state.is_blind:
            yield _BLIND

    @staticmethod
    def _pin_started(cpus: tuple[int, ...], pid: int) -> None:
        if cpus:
            pin_process(pid, cpus)

    def _choose_cpus(self, command: Command) -> tuple[int, ...]:
        if command.cpus is not None:
            return check_pinnable(command.cpus)
        return self._placement.choose(command.threads) if self._pin and can_pin() else ()


class _PinnedProcess(Struct, frozen=True):
    """An interactive process, and the completion of its result (`InteractiveProcess` of `harness.core.protocols`)."""

    process: shell.RunningProcess
    complete: Callable[[Completed], Completed]

    def write_line(self, line: str) -> None:
        self.process.write_line(line)

    def wait_for_line(self, line: str) -> bool:
        return self.process.wait_for_line(line)

    def finish(self) -> Completed:
        return self.complete(self.process.finish())


def _fetch(source: Path, local: Path) -> None:
    """Copy a file that a program wrote. A pipe or device has no end, or none that fits a disk.

    Raises:
        BenchmarkFailed: It is no regular file.
        OSError: It cannot be copied.
    """
    if not source.is_file():
        raise BenchmarkFailed(f"{source} is no regular file", hint="let the program write a file there")
    local.parent.mkdir(parents=True, exist_ok=True)
    with replacing(local) as draft:
        shutil.copyfile(source, draft)


def _executable(path: Path, folder: Path) -> Path:
    if not path.is_file():
        raise missing_program(path)
    if os.access(path, os.X_OK):
        return path
    folder.mkdir(exist_ok=True)
    copy = folder / path.name
    shutil.copyfile(path, copy)
    copy.chmod(0o755)
    return copy
