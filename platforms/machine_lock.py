"""One measurement at a time on each device, whoever starts it on this machine."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from harness import shell
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Progress
from harness.files.locks import try_flock

_FOLDERS: Final = (Path("/run/lock"), Path("/var/lock"), Path("/tmp"))  # noqa: S108 - see `_open`
_OPEN: Final = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""A link is not followed, and a pipe is not waited for: in these folders anybody may lay down anything."""


def lock_path(device: str) -> Path:
    """The same file for every user and every environment of the machine: `TMPDIR` has no say.

    Args:
        device: What is held: letters, digits, `-`, `_` and `.`.
    """
    folders = _FOLDERS if sys.platform == "linux" else _FOLDERS[-1:]
    return shared_folder(folders) / f"edge-harness-{device}.lock"


def shared_folder(folders: Sequence[Path]) -> Path:
    """The first that everybody may write, whoever asks; else the last."""
    return next((folder for folder in folders if _is_shared(folder)), folders[-1])


@contextlib.contextmanager
def held(path: Path, timeout_s: float, progress: Progress, device: str = "this machine") -> Iterator[None]:
    """Hold a device. The kernel gives the lock back when the holder ends, however it ends.

    It opens the lock file itself, because it must also hold on one of another user, read-only.

    Args:
        path: The lock file (`lock_path`).
        timeout_s: How long to wait for another job.
        progress: Told that it waits.
        device: What a person calls the device.

    Raises:
        EnvironmentProblem: Another job measures for longer than `timeout_s`, or there can be no lock.
        Interrupted: The harness is being stopped.
    """
    descriptor = _open(path)
    try:
        _wait(descriptor, timeout_s, progress, device)
        with contextlib.suppress(OSError):  # a lock file of another user cannot be written; the lock holds all the same
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
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
        descriptor = _open_or_make(path)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot open the lock file {path}: {error.strerror}",
            hint="remove it, if it is not a lock file of the harness",
        ) from error
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        os.close(descriptor)
        raise EnvironmentProblem(f"{path} is not a file of its own, and no lock of the harness", hint="remove it")
    return descriptor


def _open_or_make(path: Path) -> int:
    """The file of whoever was first. Only who makes it says who may open it.

    `O_CREAT` is for a new file alone: in folders like these Linux may refuse it for another user's file
    (`fs.protected_regular`).
    """
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _OPEN, 0o666)
        os.fchmod(descriptor, 0o666)  # whatever our umask
        return descriptor
    try:
        return os.open(path, os.O_RDWR | _OPEN)
    except PermissionError:
        return os.open(path, os.O_RDONLY | _OPEN)


def _wait(descriptor: int, timeout_s: float, progress: Progress, device: str) -> None:
    if try_flock(descriptor):
        return
    holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
    started = time.monotonic()
    with progress.task(f"another harness (process {holder}) measures on {device}: waiting", timeout_s) as task:

        def attempt() -> bool:
            task.update(completed=time.monotonic() - started)
            return try_flock(descriptor)

        if not shell.poll_until(attempt, timeout_s):
            raise EnvironmentProblem(
                f"another harness (process {holder}) has been measuring on {device} for {timeout_s:.0f} s",
                hint="two measurements at once disturb each other: wait for it, or give more time (--lock_timeout)",
            )
