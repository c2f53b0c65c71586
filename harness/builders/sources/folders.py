"""Folders that are filled whole or not at all, and locks around what several processes share."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.builders.sources.tool_errors import ToolFailed
from harness.core.errors import BuildFailed, EnvironmentProblem
from harness.files.locks import FileLock
from harness.shell import poll_until

_LOCK_S: Final = 1800.0
"""How long to wait for another process that uses the same mirror: it may be fetching a large repository."""


def mirror_folder(cache_dir: Path, place: str) -> Path:
    """The folder of the cache that is kept for one place: `<cache_dir>/sources/<digest of the place>`."""
    return cache_dir / "sources" / hashlib.sha256(place.encode(errors="surrogateescape")).hexdigest()[:16]


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make the folder, and be the only one who changes what is in it.

    Raises:
        EnvironmentProblem: It cannot be written, or another process has it for too long.
    """
    lock = FileLock(folder / "lock")
    try:
        free = poll_until(lock.acquire, _LOCK_S)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot write {folder}: {error.strerror}", hint="put the cache elsewhere with --cache-dir"
        ) from error
    if not free:
        raise EnvironmentProblem(f"another process has used {folder} for {_LOCK_S:g} s", hint="wait for it, or end it")
    with lock:
        yield


@contextlib.contextmanager
def filling(folder: Path) -> Iterator[None]:
    """Fill an empty folder. When that fails, for whatever reason, the folder is removed with all that is in it.

    Raises:
        BuildFailed: Something is in it already (which stays); or what belongs into it is not to be had.
        EnvironmentProblem: Network, disk or a lock stood in the way: it can be tried again.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        occupied = next(folder.iterdir(), None)
    except OSError as error:
        raise EnvironmentProblem(f"cannot make {folder}: {error.strerror}") from error
    if occupied is not None:
        raise BuildFailed(f"{folder} is not empty: {occupied.name} is in it")
    with contextlib.ExitStack() as undo:
        undo.callback(shutil.rmtree, folder, ignore_errors=True)
        try:
            yield
        except ToolFailed as error:
            if error.may_pass:
                raise
            raise BuildFailed(error.message, hint=error.hint) from error
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot fill {folder}: {error}", hint="check space and permissions there"
            ) from error
        undo.pop_all()
