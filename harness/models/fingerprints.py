"""What is known about a file that was hashed, so that it need not be hashed again until it changes.

Hashing takes about 0.2 s per 100 MB. A stamp beside the file remembers its MD5 together with size, modification time
and inode; as long as these three are the same, the content is taken to be the same.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from harness.core.values import Value
from harness.files.atomic import write_atomically
from harness.files.digests import md5_of_file
from harness.models.layout import Place


class Stamp(Value):
    """A file as it was when it was hashed.

    Attributes:
        md5: Of its content.
        size_bytes: Its size.
        mtime_ns: Its modification time, Unix nanoseconds.
        inode: Its inode.
    """

    md5: str
    size_bytes: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """A file in the cache.

    Attributes:
        remembered: What it was when it was brought; None when nobody knows.
        actual: What it is now.
    """

    remembered: Stamp | None
    actual: Stamp


def stamp_of(path: Path) -> Stamp:
    """Hash a file."""
    # Looked at before hashing: a change meanwhile then makes the stamp stale instead of wrong.
    seen = path.stat()
    return Stamp(md5=md5_of_file(path), size_bytes=seen.st_size, mtime_ns=seen.st_mtime_ns, inode=seen.st_ino)


def inspect(place: Place) -> Inspection | None:
    """What a file was and is, or None when there is no file. Hashes only what changed since the stamp."""
    if not place.path.is_file():
        return None
    remembered = _recall(place.stamp)
    if remembered is not None and _is_unchanged(place.path, remembered):
        return Inspection(remembered, remembered)
    return Inspection(remembered, stamp_of(place.path))


def remember(place: Place, stamp: Stamp) -> None:
    """Write the stamp, whole or not at all."""
    write_atomically(place.stamp, stamp.model_dump_json())


def confirm(place: Place, inspection: Inspection) -> None:
    """Note that a changed file was found to be right. Only saves time, so a cache that is read-only is no problem."""
    if inspection.actual != inspection.remembered:
        with contextlib.suppress(OSError):
            remember(place, inspection.actual)


def _recall(path: Path) -> Stamp | None:
    try:
        return Stamp.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def _is_unchanged(path: Path, stamp: Stamp) -> bool:
    seen = path.stat()
    return (seen.st_size, seen.st_mtime_ns, seen.st_ino) == (stamp.size_bytes, stamp.mtime_ns, stamp.inode)
