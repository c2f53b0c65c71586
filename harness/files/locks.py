"""Locks between processes and threads: one may change a thing, or many may use it.

Kept by the system, so they end with the process that holds them, however it ends. The lock files stay: removing one
would let two hold what they believe to be the same lock. (`filelock` has no shared locks on lock files.)
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self


class Lock:
    """A lock that is held, until it is released or left as a context.

    Args:
        handle: Open file that has the lock.
    """

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle

    def release(self) -> None:
        """Let others have it. May be called again."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def try_lock(file: Path, *, shared: bool = False) -> Lock | None:
    """The lock of a file, or None while somebody else has it. Never waits.

    Args:
        file: Lock file, made when needed.
        shared: Tolerate others who share it; they keep out only those who want it for themselves.

    Raises:
        OSError: The lock file cannot be made.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:
        os.close(handle)
        raise
    return Lock(handle)
