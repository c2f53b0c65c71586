"""One process, and one thread of it, brings a file; the others wait and then find it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from harness.core.benchmark import ModelFile
from harness.core.protocols import Progress
from harness.files.locks import FileLock
from harness.models.failures import told_as_unavailable
from harness.shell import poll_until


@contextlib.contextmanager
def locked(path: Path, file: ModelFile, progress: Progress) -> Iterator[None]:
    """Hold a lock file. The system frees it when the process ends, however it ends; the empty file stays.

    Raises:
        FileUnavailable: The lock file cannot be made.
        Interrupted: The harness is being stopped.
    """
    lock = FileLock(path)
    with told_as_unavailable(file, "locking its place in the cache"):
        if not lock.acquire():
            progress.say(f"{file.filename}: waiting for another harness that is bringing it")
            poll_until(lock.acquire)
    with lock:
        yield
