"""Locks on files, between processes and between threads.

The kernel keeps them (`flock`; `LockFileEx` on Windows), so they end with the process that holds them, however it ends.
Lock files stay: removing one would let two processes hold what they believe to be the same lock. The library `filelock`
has no shared locks on files, and takes 40 ms to import.
"""

from __future__ import annotations

import math
import os
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

if sys.platform == "win32":
    from harness.files.windows_locks import try_lock
else:
    from harness.files.posix_locks import try_lock

__all__ = ["FileLock", "try_lock"]

_POLL_S: Final = 0.05


class FileLock:
    """Lock of one file.

    Two objects exclude each other, also within one process; one object belongs to one thread. As a context manager it
    waits as long as it must, unless `acquire` has taken the lock before, and releases it at the end. To wait until a
    signal stops the harness, give `acquire` to `harness.shell.poll_until`.

    Args:
        path: Lock file, made with its folder when needed; its content means nothing.
        shared: Tolerate others who share it; only those who want it exclusively are kept out.
    """

    def __init__(self, path: Path, *, shared: bool = False) -> None:
        self.path = path
        self._shared = shared
        self._descriptor: int | None = None

    def acquire(self, timeout_s: float = 0.0) -> bool:
        """Take the lock.

        Args:
            timeout_s: How long to wait for others; by default not at all.

        Returns:
            Whether the lock is held now; False when somebody else has it for so long.

        Raises:
            OSError: The lock file cannot be made.
        """
        end = time.monotonic() + timeout_s
        while not self._try():
            if (left := end - time.monotonic()) <= 0:
                return False
            time.sleep(min(_POLL_S, left))
        return True

    def check(self) -> None:
        """Check that the lock file is there or can be made, whoever has the lock.

        Raises:
            OSError: It cannot be made.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666))

    def release(self) -> None:
        """Let others have it. Does nothing where the lock is not held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> Self:
        self.acquire(math.inf)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _try(self) -> bool:
        if self._descriptor is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                locked = try_lock(descriptor, shared=self._shared)
            except OSError:
                os.close(descriptor)
                raise
            if not locked:
                os.close(descriptor)
                return False
            self._descriptor = descriptor
        return True
