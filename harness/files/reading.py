"""Reading of files that somebody else named: regular files of bounded size, and nothing that waits or never ends."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

from harness.files.open_flags import BINARY, NO_WAIT

DOCUMENT_BYTES: Final = 16 << 20
"""Limit of a file that people write: specifications, saved defaults, FAI-PEP's info JSON."""
RESULT_BYTES: Final = 1 << 30
"""Limit of a file that the harness writes: one result holds the samples of all its launches."""


def read_bounded(path: Path, limit_bytes: int = DOCUMENT_BYTES) -> bytes:
    """Return the content of a regular file.

    A pipe would wait for a writer, and a device such as `/dev/zero` has no end; neither is opened in a way that waits.

    Args:
        path: The file.
        limit_bytes: Largest size that is read.

    Raises:
        OSError: It cannot be read, is not a regular file, or is larger.
        ValueError: Its name holds a NUL byte or half of a surrogate pair.
    """
    descriptor = os.open(path, os.O_RDONLY | BINARY | NO_WAIT)
    with open(descriptor, "rb") as content:  # noqa: PTH123 - a descriptor
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a regular file; save its content to a file first", str(path))
        data = content.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise OSError(errno.EFBIG, f"larger than {limit_bytes >> 20} MiB", str(path))
    return data
