"""A folder for each session, which is gone after it, even when the session was killed."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness import shell
from harness.files.locks import FileLock

_LOCK: Final = ".lock"


@contextlib.contextmanager
def session_folder(work: Path, *, keep: bool) -> Iterator[Path]:
    """Make a folder that is held until the context ends, and remove those that nobody holds any longer.

    A session under another machine lock (another container with the same cache, another machine with the same home)
    holds its folder, and keeps it.

    Args:
        work: Where the folders are.
        keep: Leave all of them behind for a person to look into.

    Raises:
        OSError: The disk refuses.
        Interrupted: The harness is being stopped.
    """
    sessions = work / "sessions"
    sessions.mkdir(parents=True, exist_ok=True)
    guard = FileLock(work / "sessions.lock")
    shell.poll_until(guard.acquire)
    with guard:  # nobody sweeps between making a folder and holding it
        if not keep:
            _sweep(sessions)
        folder = Path(tempfile.mkdtemp(prefix="session-", dir=sessions))
        lock = FileLock(folder / _LOCK)
        lock.acquire()
    try:
        with lock:
            yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _sweep(sessions: Path) -> None:
    for left in sessions.iterdir():
        with contextlib.suppress(OSError):  # its session removes it at this moment
            lock = FileLock(left / _LOCK)
            if lock.acquire():
                with lock:
                    shutil.rmtree(left, ignore_errors=True)
