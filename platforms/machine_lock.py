"""Lock of a device among all processes and users of this machine."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from harness import shell
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Progress
from harness.files.locks import try_lock
from harness.files.open_flags import NO_FOLLOW, NO_WAIT

_FOLDERS: Final = (Path("/run/lock"), Path("/var/lock"), Path("/tmp"))  # noqa: S108 - see `_open`
FOLDER: Final = "EDGE_HARNESS_LOCKS"
"""Variable that names another folder: one that containers of a machine share, or one of tests."""
_OPEN: Final = NO_FOLLOW | NO_WAIT
"""Links are not followed, and pipes not waited for: anybody may create anything in these folders."""


def lock_path(device: str) -> Path:
    """Return the lock file of a device: the same for every user and environment of this machine, whatever `TMPDIR` is.

    Only the variable `FOLDER` names another folder, which exists: containers do not see each other's files.

    Args:
        device: Name of the device: letters, digits, `-`, `_` and `.`.
    """
    named = os.environ.get(FOLDER)
    return (Path(named) if named else shared_folder(_folders())) / f"edge-harness-{device}.lock"


def _folders() -> tuple[Path, ...]:
    if sys.platform == "win32":  # there every user may create files, and read those of others
        folders: tuple[Path, ...] = (Path(os.environ.get("PROGRAMDATA", tempfile.gettempdir())),)
    else:
        folders = _FOLDERS if sys.platform == "linux" else _FOLDERS[-1:]
    return folders


def shared_folder(folders: Sequence[Path]) -> Path:
    """Return the first folder that everybody may write to; else the last."""
    return next((folder for folder in folders if _is_shared(folder)), folders[-1])


@contextlib.contextmanager
def hold(path: Path, timeout_s: float, progress: Progress, device: str = "this machine") -> Iterator[None]:
    """Lock a device. The kernel releases the lock when its process ends, however it ends.

    The lock file is opened here and not by `FileLock`, because it may be another user's, which can only be read.

    Args:
        path: The lock file (`lock_path`).
        timeout_s: How long to wait for another job.
        progress: Shows the waiting.
        device: Name of the device in messages.

    Raises:
        EnvironmentProblem: Another job uses the device for too long, or the lock file cannot be opened.
        Interrupted: The harness is being stopped.
    """
    descriptor = _open(path)
    try:
        _wait(descriptor, timeout_s, progress, device)
        with contextlib.suppress(OSError):  # another user's lock file cannot be written to; the lock holds all the same
            os.truncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)


def _is_shared(folder: Path) -> bool:
    try:
        mode = folder.stat().st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) and bool(mode & stat.S_IWOTH)


def _open(path: Path) -> int:
    try:
        descriptor = _open_or_create(path)
    except OSError as error:
        hint = "remove it, if it is not a lock file of the harness"
        if not path.parent.is_dir():
            hint = f"make the folder {path.parent}, or name another one in {FOLDER}"
        raise EnvironmentProblem(f"cannot open the lock file {path}: {error.strerror}", hint=hint) from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        os.close(descriptor)
        raise EnvironmentProblem(f"{path} is no regular file, or has several names: no lock file", hint="remove it")
    return descriptor


def _open_or_create(path: Path) -> int:
    """Open the file, or create it for everybody.

    `O_CREAT` is used for a new file only: in folders like these Linux may refuse it for another user's file
    (`fs.protected_regular`).
    """
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _OPEN, 0o666)
        if hasattr(os, "fchmod"):  # Windows has no umask
            os.fchmod(descriptor, 0o666)
        return descriptor
    try:
        return os.open(path, os.O_RDWR | _OPEN)
    except PermissionError:
        return os.open(path, os.O_RDONLY | _OPEN)


def _wait(descriptor: int, timeout_s: float, progress: Progress, device: str) -> None:
    if try_lock(descriptor, shared=False):
        return
    holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
    started = time.monotonic()
    with progress.task(f"waiting: another harness (process {holder}) is measuring on {device}", timeout_s) as task:

        def attempt() -> bool:
            task.update(completed=time.monotonic() - started)
            return try_lock(descriptor, shared=False)

        if not shell.poll_until(attempt, timeout_s):
            raise EnvironmentProblem(
                f"another harness (process {holder}) has been measuring on {device} for {timeout_s:.0f} s",
                hint="two measurements at once disturb each other: wait for it, or give more time (--lock-timeout)",
            )
