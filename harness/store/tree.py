"""A tree that several processes fill at once: names as path segments, and folders that are whole or absent."""

from __future__ import annotations

import errno
import shutil
import uuid
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import quote

from harness.files.atomic import sync

_LONGEST: Final = 120
"""Characters of a segment. File systems allow 255, but ten segments must also fit a path (1024 on macOS)."""

_DIGEST: Final = 32
"""Hexadecimal digits (128 bits) that tell apart names whose shortened forms are equal."""

_TAKEN: Final = {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}
"""What renaming a folder onto something that exists says (rename(2))."""


def segment(name: str) -> str:
    """A name as one segment of a path: different names never become the same one.

    Letters, digits and `_.-~+=,@` stay; all else is percent-encoded (RFC 3986) as UTF-8, and so is a leading dot, which
    would hide the file or mean a folder. `%empty` and the `%-` before the digest of a shortened name are no such codes.
    """
    safe = quote(name, safe="+=,@", errors="surrogatepass") or "%empty"
    if safe.startswith("."):
        safe = "%2E" + safe[1:]
    if len(safe) <= _LONGEST:
        return safe
    digest = sha256(safe.encode()).hexdigest()[:_DIGEST]
    return f"{safe[: _LONGEST - _DIGEST - 2]}%-{digest}"


def publish(parent: Path, files: Mapping[str, str]) -> Path:
    """Put files into a new numbered folder below `parent`: all of them or none, and never two callers into one.

    Args:
        parent: Made if missing.
        files: Text by relative path; at least one.

    Returns:
        The folder, `<parent>/0`, `<parent>/1`, ...

    Raises:
        OSError: As the file system says.
    """
    draft = parent / f".{uuid.uuid4().hex}"
    draft.mkdir(parents=True)
    try:
        for name, text in files.items():
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            (draft / name).write_bytes(text.encode(errors="backslashreplace"))
            sync(draft / name)
        return _claim(draft)
    finally:
        shutil.rmtree(draft, ignore_errors=True)  # gone already when it was renamed


def _claim(draft: Path) -> Path:
    """Rename a finished folder to the next free number beside it; renaming decides between processes."""
    parent = draft.parent
    used = (int(path.name) for path in parent.iterdir() if path.name.isdecimal())
    number = 1 + max(used, default=-1)
    while True:
        try:
            return draft.rename(parent / str(number))
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
        number += 1
