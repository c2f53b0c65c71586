"""Names for what is not finished yet. What a killed process leaves under one is removed by the next that looks there.

A draft lies beside a lock file with its name and `.lock`, which the process holds as long as it works on the draft. The
kernel releases the lock when the process ends, however it ends: a draft whose lock is free belongs to nobody. On file
systems without locks drafts are made without one, and left alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.files.locks import try_lock
from harness.files.open_flags import NO_FOLLOW

_PREFIX: Final = ".draft-"
_LOCK: Final = ".lock"


@contextlib.contextmanager
def open_draft(folder: Path) -> Iterator[Path]:
    """Give an unused hidden name in a folder that exists; what still has it at the end, file or folder, is removed.

    Raises:
        OSError: The folder cannot be written.
    """
    draft, descriptor = _claim(folder)
    try:
        yield draft
    finally:
        _remove(draft)
        if descriptor is not None:
            _discard(_lock_of(draft), descriptor)


@contextlib.contextmanager
def open_scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder that is removed at the end, or after the death of this process by the next one that makes one.

    Args:
        parent: Folder for it, made when needed; None for one of this user's in the folder for temporary files.

    Raises:
        OSError: It cannot be made.
    """
    parent = _temporary_parent() if parent is None else parent
    parent.mkdir(parents=True, exist_ok=True)
    sweep_drafts(parent)
    with open_draft(parent) as draft:
        draft.mkdir()
        yield draft


def sweep_drafts(folder: Path) -> None:
    """Remove the drafts in a folder whose process has ended; those of others, and what cannot be removed, stay."""
    try:
        locks = [Path(entry) for entry in os.scandir(folder) if _is_lock(entry.name)]
    except OSError:
        return
    for lock in locks:
        with contextlib.suppress(OSError):
            _sweep(lock)


def _sweep(lock: Path) -> None:
    descriptor = os.open(lock, os.O_RDWR | NO_FOLLOW)
    try:
        is_abandoned = try_lock(descriptor, shared=False)
        if is_abandoned:
            _remove(lock.with_name(lock.name.removesuffix(_LOCK)))
    except BaseException:
        os.close(descriptor)
        raise
    if is_abandoned:
        _discard(lock, descriptor)
    else:
        os.close(descriptor)


def _discard(lock: Path, descriptor: int) -> None:
    """Remove a lock file that this process holds, and release it: while it is held, where the system lets that be."""
    try:
        with contextlib.suppress(PermissionError):  # Windows removes no open file
            lock.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
    with contextlib.suppress(OSError):
        lock.unlink(missing_ok=True)


def _claim(folder: Path) -> tuple[Path, int | None]:
    """Return a name and the descriptor of its lock; no descriptor where the file system has no locks."""
    while True:
        draft = folder / f"{_PREFIX}{uuid.uuid4().hex}"
        descriptor = os.open(_lock_of(draft), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            # Somebody who sweeps between creation and lock is first: then the name is given up.
            if try_lock(descriptor, shared=False) and os.fstat(descriptor).st_nlink:
                return draft, descriptor
        except OSError:
            os.close(descriptor)
            _lock_of(draft).unlink(missing_ok=True)
            return draft, None
        os.close(descriptor)


def _lock_of(draft: Path) -> Path:
    return draft.with_name(draft.name + _LOCK)


def _is_lock(name: str) -> bool:
    return name.startswith(_PREFIX) and name.endswith(_LOCK)


def _remove(draft: Path) -> None:
    try:
        draft.unlink(missing_ok=True)
    except (IsADirectoryError, PermissionError):  # of a folder; POSIX lets unlink fail with either
        shutil.rmtree(draft, ignore_errors=True)


def _temporary_parent() -> Path:
    """Return a folder below the one for temporary files that nobody else can write to, or that one itself."""
    temporary = Path(tempfile.gettempdir())
    if not hasattr(os, "getuid"):  # Windows, where it lies in the profile of each user
        return temporary / "edge-harness"
    folder = temporary / f"edge-harness-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return temporary
    is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022
    return folder if is_ours else temporary
