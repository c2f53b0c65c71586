"""Downloads and local files: fetched into the cache, verified, found there again.

A local file is always copied, never linked: a link would let somebody change what is measured after it was hashed.
Where the file system can share blocks (btrfs, XFS, ...) the copy costs neither time nor space.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from harness.core.benchmark import ModelFile
from harness.core.cached_files import CachedFile
from harness.core.protocols import Progress, Task
from harness.files.atomic import sync
from harness.files.digests import md5_of_file
from harness.models.errors import os_errors_as_unavailable, unavailable, wrong_md5
from harness.models.fingerprints import (
    FileFingerprint,
    fingerprint_file,
    inspect_place,
    refresh_fingerprint,
    write_fingerprint,
)
from harness.models.layout import CachePlace
from harness.models.locations import DIRECTORY, FileLocation, LocalPath

_CHUNK_BYTES = 1 << 20
_SHARED_BYTES = 1 << 26
_CANNOT_SHARE = frozenset({errno.EBADF, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EXDEV})
"""Errors of `copy_file_range` where it does not work (copy_file_range(2))."""


def find(file: ModelFile, source: FileLocation, place: CachePlace) -> CachedFile | None:
    """Return the file from the cache, or None where it is missing or damaged.

    Raises:
        FileUnavailable: The cache cannot be read.
    """
    with os_errors_as_unavailable(file, "reading the cache"):
        inspection = inspect_place(place)
        if inspection is None:
            return None
        recorded = inspection.recorded
        # A file without a promised MD5 and without a fingerprint was not put there by us: its content is unknown.
        expected = file.md5 or (recorded and recorded.md5)
        if inspection.actual.md5 != expected:
            return None
        refresh_fingerprint(place, inspection)
    return _cached_file(file, source, place, inspection.actual, fresh=False)


def fetch_new(file: ModelFile, source: FileLocation, place: CachePlace, progress: Progress) -> CachedFile:
    """Download or copy the file into the cache. The caller holds the lock of its place.

    Raises:
        FileUnavailable: It cannot be fetched, or has another MD5 than promised; nothing of it is kept.
    """
    if place.path.exists():
        progress.say(f"{file.filename}: the copy in the cache is damaged; fetching it again from {source.shown}")
    stamp = _fetch_part(file, source, place, progress)
    with os_errors_as_unavailable(file, "keeping it in the cache"):
        if file.md5 not in {None, stamp.md5}:
            place.discard_part()
            raise wrong_md5(
                file,
                source.shown,
                stamp.md5,
                f'if it was meant to change, promise `"md5": "{stamp.md5}"`; otherwise find out who changed it',
            )
        sync(place.part)
        # The fingerprint comes first: a file that is there always has one.
        write_fingerprint(place, stamp)
        place.part.replace(place.path)
        place.part_note.unlink(missing_ok=True)
    if file.md5 is None:
        progress.say(f'{file.filename}: no MD5 promised; pin it with `"md5": "{stamp.md5}"` ({file.origin})')
    return _cached_file(file, source, place, stamp, fresh=True)


def _fetch_part(file: ModelFile, source: FileLocation, place: CachePlace, progress: Progress) -> FileFingerprint:
    """Download or copy into the partial file of the place."""
    if isinstance(source, LocalPath):
        with progress.task(f"copying {file.filename}") as task:
            copy_file(file, source.path, place.part, task)
        return _stamp(file, place)
    from harness.models.download import download  # noqa: PLC0415 - imports the network, which few runs need

    with progress.task(f"downloading {file.filename}") as task:
        pieced = download(file, source, place, task)
        stamp = _stamp(file, place)
        if pieced and file.md5 not in {None, stamp.md5}:
            progress.say(f"{file.filename}: the continued download is damaged; starting over")
            place.discard_part()
            download(file, source, place, task)
            stamp = _stamp(file, place)
    return stamp


def _stamp(file: ModelFile, place: CachePlace) -> FileFingerprint:
    with os_errors_as_unavailable(file, "reading the fetched file"):
        return fingerprint_file(place.part)


def _cached_file(
    file: ModelFile, source: FileLocation, place: CachePlace, stamp: FileFingerprint, *, fresh: bool
) -> CachedFile:
    return CachedFile(
        key=file.key,
        filename=file.filename,
        path=place.path,
        md5=stamp.md5,
        size_bytes=stamp.size_bytes,
        source=source.shown,
        fresh=fresh,
    )


def copy_file(file: ModelFile, source: Path, part: Path, task: Task) -> None:
    """Copy a local file.

    Raises:
        FileUnavailable: It is no file, cannot be read or written, or changed meanwhile.
    """
    with os_errors_as_unavailable(file, f"copying {source}"):
        before = source.stat()
        if stat.S_ISDIR(before.st_mode):
            raise unavailable(file, f"{source} is a directory", f'say `"md5": "{DIRECTORY}"` to use it in place')
        if not stat.S_ISREG(before.st_mode):
            raise unavailable(file, f"{source} is neither a file nor a directory")
        task.update(completed=0, total=before.st_size)
        with source.open("rb", buffering=0) as reader, part.open("wb") as writer:
            _copy_content(reader, writer, before.st_size, task)
        after, copied_bytes = source.stat(), part.stat().st_size
    unchanged = (before.st_size, before.st_mtime_ns, before.st_ino) == (after.st_size, after.st_mtime_ns, after.st_ino)
    if not unchanged or copied_bytes != before.st_size:
        raise unavailable(file, f"{source} changed while it was copied", "run again when it is complete")


def find_directory(file: ModelFile, source: FileLocation) -> CachedFile:
    """Return a folder, used in place. Its MD5 covers the relative names and the contents of its files.

    Raises:
        FileUnavailable: It is no folder of this host, holds a link to a folder, or cannot be read.
    """
    if not isinstance(source, LocalPath):
        raise unavailable(file, f'`"md5": "{DIRECTORY}"` needs a directory of this host, not {source.shown}')
    if source.path.is_file():
        raise unavailable(file, f"{source.path} is a file", "promise its MD5, or leave `md5` out")
    digest = hashlib.md5(usedforsecurity=False)
    size_bytes = 0
    with os_errors_as_unavailable(file, f"reading {source.path}"):
        for path in _files_below(file, source.path):
            size_bytes += path.stat().st_size
            digest.update(
                f"{path.relative_to(source.path).as_posix()}\0{md5_of_file(path)}\n".encode("utf-8", "surrogateescape")
            )
    return CachedFile(
        key=file.key,
        filename=file.filename,
        path=source.path,
        md5=digest.hexdigest(),
        size_bytes=size_bytes,
        source=source.shown,
    )


def _files_below(file: ModelFile, folder: Path) -> list[Path]:
    def stop(error: OSError) -> None:
        raise error

    files: list[Path] = []
    for root, folders, names in os.walk(folder, onerror=stop):
        for name in folders:
            linked = Path(root, name)
            if linked.is_symlink():  # following it could go round in circles; leaving it out would hide content
                raise unavailable(file, f"{linked} links to another directory", "put a copy in its place")
        files.extend(Path(root, name) for name in names)
    return sorted(files, key=lambda path: path.relative_to(folder).as_posix())


def _copy_content(reader: BinaryIO, writer: BinaryIO, size_bytes: int, task: Task) -> None:
    """Copy so many bytes and no more, because a file that grows faster than it is copied has no end."""
    completed = _copy_in_kernel(reader, writer, size_bytes, task)
    # Both files stand where sharing ended.
    while chunk := reader.read(min(_CHUNK_BYTES, size_bytes - completed)):
        writer.write(chunk)
        completed += len(chunk)
        task.update(completed=completed)


def _copy_in_kernel(reader: BinaryIO, writer: BinaryIO, size_bytes: int, task: Task) -> int:
    """Let the kernel copy, or share blocks, as far as it can; return the number of bytes."""
    completed = 0
    if sys.platform == "linux":
        try:
            while count := os.copy_file_range(
                reader.fileno(), writer.fileno(), min(_SHARED_BYTES, size_bytes - completed)
            ):
                completed += count
                task.update(completed=completed)
        except OSError as error:
            if error.errno not in _CANNOT_SHARE:
                raise
    return completed
