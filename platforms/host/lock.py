"""One measurement at a time on this machine, whoever starts it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Progress

_RETRY_S = 0.1


def default_path() -> Path:
    """The same file for every user of the machine."""
    return Path(tempfile.gettempdir()) / "edge-harness-host.lock"


@contextlib.contextmanager
def held(path: Path, timeout_s: float, progress: Progress) -> Iterator[None]:
    """Hold the machine. The kernel gives the lock back when the holder ends, however it ends.

    `flock` by hand and not by a library, because it must also work on a lock file of another user, read-only.

    Raises:
        EnvironmentProblem: Another job measures for longer than `timeout_s`.
    """
    descriptor = _open(path)
    try:
        _wait(descriptor, path, timeout_s, progress)
        with contextlib.suppress(OSError):  # a lock file of another user cannot be written; the lock holds all the same
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except PermissionError:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    with contextlib.suppress(PermissionError):
        path.chmod(0o666)
    return descriptor


def _wait(descriptor: int, path: Path, timeout_s: float, progress: Progress) -> None:
    if _take(descriptor):
        return
    holder = path.read_text().strip() or "unknown"
    started = time.monotonic()
    with progress.task(f"another harness (process {holder}) measures on this machine: waiting", timeout_s) as task:
        while not _take(descriptor):
            waited = time.monotonic() - started
            if waited > timeout_s:
                raise EnvironmentProblem(
                    f"another harness (process {holder}) has been measuring on this machine for {timeout_s:.0f} s",
                    hint="two measurements at once disturb each other: wait for it, or give more time (--lock_timeout)",
                )
            task.update(completed=waited)
            time.sleep(_RETRY_S)


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
