"""Where builds are made: numbered folders, each for one build at a time.

A compiler writes paths into what it makes (assertions, debug information). Because the first free number is taken,
and so the same folder again and again, two commits that differ in nothing give the same bytes, and a compiler cache
finds what it compiled before.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.builders.orphans import end_strays
from harness.files.locks import FileLock


@dataclass(frozen=True, slots=True)
class Workshop:
    """One folder to build in. It is empty when it is entered, and emptied afterwards.

    Attributes:
        folder: The whole of it, with an absolute path.
        log: File for everything the build says; it outlives the workshop.
    """

    folder: Path
    log: Path

    @property
    def sources(self) -> Path:
        """Below which the commit's files are put."""
        return self.folder / "sources"

    @property
    def build(self) -> Path:
        """For intermediate files. Fresh: times of files do not tell what differs between two commits."""
        return self.folder / "build"

    @property
    def temporary(self) -> Path:
        """For what programs leave behind in `TMPDIR`."""
        return self.folder / "tmp"

    @property
    def programs(self) -> Path:
        """What is kept when the build succeeds: programs and whatever must lie beside them."""
        return self.folder / "result" / "programs"

    @property
    def program(self) -> Path:
        """The runner."""
        return self.programs / "program"


@contextlib.contextmanager
def open_workshop(folder: Path, log: Path) -> Iterator[Workshop]:
    """The first workshop that nobody is using.

    Args:
        folder: Where the numbered folders are.
        log: Where the build shall tell what happens; its folder is made, an old log is removed.

    Raises:
        OSError: It cannot be prepared.
    """
    number, lock = _first_free(folder)
    with lock:
        workshop = Workshop(folder.absolute() / str(number), log.absolute())
        end_strays(workshop.folder)  # of a harness that was killed: we hold the lock
        remove_folder(workshop.folder)
        for needed in (workshop.sources, workshop.build, workshop.temporary, workshop.programs, log.parent):
            needed.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        try:
            yield workshop
        finally:
            end_strays(workshop.folder)
            with contextlib.suppress(OSError):  # the next one here tries again, and tells
                remove_folder(workshop.folder)


def remove_folder(folder: Path) -> None:
    """Remove a folder with everything in it, also what a build protected from being written.

    Raises:
        OSError: It cannot be removed, and is there.
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
