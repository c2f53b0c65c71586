"""Files and folders of this host.

A file is always copied, never linked: a link would let somebody change what is measured after it was hashed. Where
the file system can share blocks (btrfs, XFS, ...) the copy costs neither time nor space.
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
from harness.core.files import CachedFile
from harness.core.protocols import Task
from harness.files.digests import md5_of_file
from harness.models.failures import told_as_unavailable, unavailable
from harness.models.sources import DIRECTORY, Local, Source

_CHUNK_BYTES = 1 << 20
_SHARED_BYTES = 1 << 26
_CANNOT_SHARE = frozenset({errno.EBADF, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EXDEV})
"""What the kernel says where `copy_file_range` does not work (copy_file_range(2))."""


def copy(file: ModelFile, source: Path, part: Path, task: Task) -> None:
    """Copy a local file.

    Raises:
        FileUnavailable: It is no file, cannot be read or written, or changed meanwhile.
    """
    with told_as_unavailable(file, f"copying {source}"):
        before = source.stat()
        if stat.S_ISDIR(before.st_mode):
            raise unavailable(file, f"{source} is a directory", f'say `md5: "{DIRECTORY}"` to use it in place')
        if not stat.S_ISREG(before.st_mode):
            raise unavailable(file, f"{source} is neither a file nor a directory")
        task.update(completed=0, total=before.st_size)
        with source.open("rb", buffering=0) as reader, part.open("wb") as writer:
            _copy_content(reader, writer, before.st_size, task)
        after, copied_bytes = source.stat(), part.stat().st_size
    unchanged = (before.st_size, before.st_mtime_ns, before.st_ino) == (after.st_size, after.st_mtime_ns, after.st_ino)
    if not unchanged or copied_bytes != before.st_size:
        raise unavailable(file, f"{source} changed while it was copied", "run again when it is complete")


def directory(file: ModelFile, source: Source) -> CachedFile:
    """A folder, used where it is. Its MD5 covers the relative names and the contents of its files.

    Raises:
        FileUnavailable: It is no folder of this host, holds a link to a folder, or cannot be read.
    """
    if not isinstance(source, Local):
        raise unavailable(file, f'`md5: "{DIRECTORY}"` needs a directory of this host, not {source.shown}')
    if source.path.is_file():
        raise unavailable(file, f"{source.path} is a file", "promise its MD5, or leave `md5` out")
    digest = hashlib.md5(usedforsecurity=False)
    size_bytes = 0
    with told_as_unavailable(file, f"reading {source.path}"):
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

    found: list[Path] = []
    for root, folders, names in os.walk(folder, onerror=stop):
        for name in folders:
            linked = Path(root, name)
            if linked.is_symlink():  # following it could go round in circles; leaving it out would hide content
                raise unavailable(file, f"{linked} links to another directory", "put a copy in its place")
        found.extend(Path(root, name) for name in names)
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())


def _copy_content(reader: BinaryIO, writer: BinaryIO, size_bytes: int, task: Task) -> None:
    """Copy so many bytes and no more: a file that grows faster than it is copied has no end."""
    completed = _share(reader, writer, size_bytes, task)
    # Both files stand where sharing ended.
    while chunk := reader.read(min(_CHUNK_BYTES, size_bytes - completed)):
        writer.write(chunk)
        completed += len(chunk)
        task.update(completed=completed)


def _share(reader: BinaryIO, writer: BinaryIO, size_bytes: int, task: Task) -> int:
    """Let the kernel copy, or share blocks, as far as it can; returns the number of bytes."""
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
