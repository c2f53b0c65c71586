"""Folders of sources: mirrors that several processes share, and folders that are filled completely or removed."""

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
"""Limit of waiting for another process that uses the same mirror: it may be fetching a large repository."""


def mirror_folder(cache_dir: Path, place: str) -> Path:
    """Return the folder of the mirror of a place: `<cache_dir>/sources/<digest of the place>`."""
    return cache_dir / "sources" / hashlib.sha256(place.encode(errors="surrogateescape")).hexdigest()[:16]


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Make a folder, and lock it for exclusive use.

    Raises:
        EnvironmentProblem: It cannot be written, or another process uses it for too long.
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
def fill_folder(folder: Path) -> Iterator[None]:
    """Let the caller fill an empty folder; if that fails, the folder is removed with everything in it.

    Raises:
        BuildFailed: It is not empty (its content stays), or its content cannot be fetched.
        EnvironmentProblem: Network, disk or a lock stood in the way: a later attempt may succeed.
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
