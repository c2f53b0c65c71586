"""Errors of files that cannot be fetched: which file, what happened, which entry of which specification wants it."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from harness.core.benchmark import ModelFile
from harness.core.errors import FileUnavailable

_ELSEWHERE = "or put the cache elsewhere with --model-cache"
_REMEDIES = {
    errno.EACCES: f"check the permissions, {_ELSEWHERE}",
    errno.EDQUOT: f"free some of the quota, {_ELSEWHERE}",
    errno.ENAMETOOLONG: "choose a shorter `filename`",
    errno.ENOENT: "check that the file is there",
    errno.ENOSPC: f"free some space, {_ELSEWHERE}",
    errno.EPERM: f"check the permissions, {_ELSEWHERE}",
    errno.EROFS: f"make the file system writable, {_ELSEWHERE}",
}


def unavailable(file: ModelFile, problem: str, hint: str | None = None) -> FileUnavailable:
    """Return the error for one file."""
    return FileUnavailable(f"{file.filename}: {problem} (wanted by {file.origin})", hint=hint)


def wrong_md5(file: ModelFile, source: str, actual: str, remedy: str) -> FileUnavailable:
    """Return the error for a file with another MD5 than the promised one."""
    return unavailable(file, f"{source} has MD5 {actual}, but the specification promises {file.md5}", remedy)


@contextlib.contextmanager
def os_errors_as_unavailable(file: ModelFile, doing: str) -> Iterator[None]:
    """Map errors of the operating system to the error of this file.

    Raises:
        FileUnavailable: With the system's message, the path and a remedy.
    """
    try:
        yield
    except OSError as error:
        where = f": {error.filename}" if error.filename and str(error.filename) not in doing else ""
        words = error.strerror or str(error)
        remedy = _REMEDIES.get(error.errno) if error.errno is not None else None
        raise unavailable(file, f"{doing} failed: {words}{where}", remedy) from error
