"""Working folders of builds: numbered, each for one build at a time; and the processes that builds leave behind.

A compiler writes paths into its output (assertions, debug information). As the first free number is taken, and so the
same folder again and again, two commits that differ in nothing give the same bytes, and a compiler cache finds what it
compiled before.

Ninja starts every compiler in a process group of its own, so ending the group of the build does not end compilers; and
what they write later would appear in the next build in the same folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil
from msgspec import Struct

from harness.files.locks import FileLock

_ROUNDS: Final = 20
_ROUND_S: Final = 0.5


BUILD_DIR: Final = "HARNESS_BUILD_DIR"
"""Variable that every process of a recipe has in its environment: the folder of its intermediate files."""


class Workdir(Struct, frozen=True):
    """Folder of one build: empty at the beginning, and emptied afterwards.

    Attributes:
        folder: Absolute path.
        log: File for the output of the build; it outlives the folder.
    """

    folder: Path
    log: Path

    @property
    def sources(self) -> Path:
        """Folder for the files of the commit."""
        return self.folder / "sources"

    @property
    def build(self) -> Path:
        """Folder for intermediate files: empty, because file times do not show what differs between two commits."""
        return self.folder / "build"

    @property
    def temporary(self) -> Path:
        """Folder for `TMPDIR`."""
        return self.folder / "tmp"

    @property
    def programs(self) -> Path:
        """Folder that is kept when the build succeeds: programs, and files that must lie beside them."""
        return self.folder / "result" / "programs"

    @property
    def program(self) -> Path:
        """The runner."""
        return self.programs / "program"


@contextlib.contextmanager
def open_workdir(folder: Path, log: Path) -> Iterator[Workdir]:
    """Give the first working folder that is not in use.

    Args:
        folder: Parent of the numbered folders.
        log: File for the output of the build; its folder is made, an old log is removed.

    Raises:
        OSError: It cannot be prepared.
    """
    number, lock = _first_free(folder)
    with lock:
        workdir = Workdir(folder.absolute() / str(number), log.absolute())
        end_orphans(workdir.folder)  # of a harness that was killed: we have the lock
        remove_folder(workdir.folder)
        for needed in (workdir.sources, workdir.build, workdir.temporary, workdir.programs, log.parent):
            needed.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        try:
            yield workdir
        finally:
            end_orphans(workdir.folder)
            with contextlib.suppress(OSError):  # the next build in this folder tries again, and reports
                remove_folder(workdir.folder)


def remove_folder(folder: Path) -> None:
    """Remove a folder with everything in it, including files that a build protected against writing.

    Raises:
        OSError: It exists and cannot be removed.
    """
    for parent, _, _ in os.walk(folder):
        mode = Path(parent).stat().st_mode
        if mode & stat.S_IRWXU != stat.S_IRWXU:
            Path(parent).chmod(mode | stat.S_IRWXU)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


def _first_free(folder: Path) -> tuple[int, FileLock]:
    number = 0
    while not (lock := FileLock(folder / f"{number}.lock")).acquire():
        number += 1
    return number, lock


def end_orphans(folder: Path) -> None:
    """End every process of ours that a build in this folder started, and wait until they are gone.

    They are recognised by their environment, so a user's shell in the folder is left alone. Gives up silently after
    some seconds: emptying the folder fails then, if that matters.
    """
    for _ in range(_ROUNDS):
        orphans = list(_processes_of(folder))
        if not orphans:
            return
        for process in orphans:
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                process.kill()
        psutil.wait_procs(orphans, timeout=_ROUND_S)


def _processes_of(folder: Path) -> Iterator[psutil.Process]:
    home = folder.absolute()
    ourselves = psutil.Process().pid
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess, OSError):
            build_folder = process.environ().get(BUILD_DIR) if process.pid != ourselves else None
            if build_folder is not None and Path(build_folder).is_relative_to(home):
                yield process
