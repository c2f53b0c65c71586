"""Fingerprints of hashed files, which need not be hashed again until they change.

Hashing takes about 0.2 s per 100 MB. `<file>.stamp.json` keeps the MD5 of a file together with size, modification time
and inode; as long as these three are the same, the content is taken to be the same.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from msgspec import Struct
from pydantic import ValidationError

from harness.core.values import Value
from harness.files.atomic import write_atomically
from harness.files.digests import md5_of_file
from harness.models.layout import CachePlace


class FileFingerprint(Value):
    """State of a file when it was hashed.

    Attributes:
        md5: MD5 of its content.
        size_bytes: Its size.
        mtime_ns: Its modification time, Unix nanoseconds.
        inode: Its inode.
    """

    md5: str
    size_bytes: int
    mtime_ns: int
    inode: int


class Inspection(Struct, frozen=True):
    """Recorded and present state of a file in the cache.

    Attributes:
        recorded: Fingerprint from when it was fetched; None where there is none.
        actual: Fingerprint of the file now.
    """

    recorded: FileFingerprint | None
    actual: FileFingerprint


def fingerprint_file(path: Path) -> FileFingerprint:
    """Hash a file."""
    # Before hashing: a change meanwhile then makes the fingerprint stale instead of wrong.
    status = path.stat()
    return FileFingerprint(
        md5=md5_of_file(path), size_bytes=status.st_size, mtime_ns=status.st_mtime_ns, inode=status.st_ino
    )


def inspect_place(place: CachePlace) -> Inspection | None:
    """Return the recorded and the actual fingerprint, or None where there is no file. Hashes only what changed."""
    if not place.path.is_file():
        return None
    recorded = _read_fingerprint(place.fingerprint)
    if recorded is not None and _is_unchanged(place.path, recorded):
        return Inspection(recorded, recorded)
    return Inspection(recorded, fingerprint_file(place.path))


def write_fingerprint(place: CachePlace, fingerprint: FileFingerprint) -> None:
    """Record the fingerprint of a file in the cache, or of one that will be there in a moment."""
    write_atomically(place.fingerprint, fingerprint.model_dump_json())


def refresh_fingerprint(place: CachePlace, inspection: Inspection) -> None:
    """Record a file that was touched but has the right content. Only saves time, so a read-only cache is no problem."""
    if inspection.actual != inspection.recorded:
        with contextlib.suppress(OSError):
            write_fingerprint(place, inspection.actual)


def _read_fingerprint(path: Path) -> FileFingerprint | None:
    try:
        return FileFingerprint.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def _is_unchanged(path: Path, known: FileFingerprint) -> bool:
    status = path.stat()
    return (status.st_size, status.st_mtime_ns, status.st_ino) == (known.size_bytes, known.mtime_ns, known.inode)
