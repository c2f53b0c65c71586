"""One process, and one thread of it, brings a file; the others wait and then find it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from harness.core.benchmark import ModelFile
from harness.core.protocols import Progress
from harness.models.failures import told_as_unavailable


@contextlib.contextmanager
def locked(path: Path, file: ModelFile, progress: Progress) -> Iterator[None]:
    """Hold a lock file. The system frees it when the process ends, however it ends; the empty file stays.

    Raises:
        FileUnavailable: The lock file cannot be made.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - takes 40 ms, and a warm cache needs no lock

    with told_as_unavailable(file, "locking its place in the cache"):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            progress.say(f"{file.filename}: waiting for another harness that is bringing it")
            lock.acquire()
    try:
        yield
    finally:
        lock.release()
