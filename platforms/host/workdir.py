"""A folder for each session, which is gone after it, even when the session was killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness import shell
from platforms.machine_lock import take

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
    with _guard(work / "sessions.lock"):  # nobody sweeps between making a folder and holding it
        if not keep:
            _sweep(sessions)
        folder = Path(tempfile.mkdtemp(prefix="session-", dir=sessions))
        held = _open(folder / _LOCK)
        take(held)
    try:
        yield folder
    finally:
        os.close(held)
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _guard(path: Path) -> Iterator[None]:
    descriptor = _open(path)
    try:
        shell.patiently(lambda: take(descriptor))
        yield
    finally:
        os.close(descriptor)


def _sweep(sessions: Path) -> None:
    for left in sessions.iterdir():
        with contextlib.suppress(OSError):  # its session removes it at this moment
            descriptor = _open(left / _LOCK)
            try:
                if take(descriptor):
                    shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(descriptor)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
