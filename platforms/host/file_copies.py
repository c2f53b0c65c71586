"""Copies of the files of benchmarks for programs, which must not change the cache's own, nor their own unnoticed."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Final, NamedTuple

from platforms.staging import FileStamp, changed_input

LARGE_BYTES: Final = 64 << 20
"""From this size on a file is used where it is: a copy takes about 0.3 ms per MiB, and disk space."""

_CHUNK_BYTES: Final = 8 << 20


class _Provided(NamedTuple):
    """Path under which programs find a file, with the stamps of that path and of its source at that time."""

    path: Path
    stamp: FileStamp | None
    source: FileStamp | None


class _Link(NamedTuple):
    """What a link leads to, and what it is like."""

    target: Path
    state: Path | FileStamp | None


class FileCopies:
    """Provides every file once for the whole session, for as long as programs leave it as it was.

    A small file is copied (on file systems that can, its blocks are shared), so that a program that writes to its input
    changes neither the cache nor what others measure. A large one, or a folder, is used where it is. Files, but not
    folders, are checked after each program: no result is reported for a file that is not the one that it names.

    All are in the page cache afterwards: a copy because it was just written, a large file because it is read once. So
    measurements do not depend on who used the file before.

    Args:
        folder: Folder for copies, created when needed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._provided: dict[Path, _Provided] = {}
        self._links: dict[Path, _Link] = {}
        self._changed: dict[Path, FileStamp | None] = {}

    def link(self, link: Path, source: Path) -> None:
        """Create a link to a file or folder for programs; where only few may make one, another name or a copy.

        Raises:
            BenchmarkFailed: It is used where it is, and an earlier program of the session changed it.
            OSError: It cannot be read or copied.
        """
        target = self._provide(source.resolve(strict=True))
        link.parent.mkdir(parents=True, exist_ok=True)
        _make_link(link, target)
        self._links[link] = _Link(target, _read_link(link))

    def release(self, link: Path, *, keep_copy: bool) -> None:
        """Remove a link, and the copy that it leads to unless that is to be kept, or another link needs it."""
        made = self._links.pop(link, None)
        if link.is_dir() and not link.is_symlink():
            shutil.rmtree(link)
        else:
            link.unlink(missing_ok=True)
        if keep_copy or made is None or made.target in {other.target for other in self._links.values()}:
            return
        target = made.target
        for source, provided in list(self._provided.items()):
            if provided.path == target:
                del self._provided[source]
        if target.parent == self._folder:
            target.unlink(missing_ok=True)

    def check(self, program_end: str) -> None:
        """Check that no provided file has changed. One that has is not used again.

        Args:
            program_end: Clause about the end of the program that ran (`staging.describe_end`).

        Raises:
            BenchmarkFailed: A file has changed.
        """
        for source, provided in list(self._provided.items()):
            if _read_stamp(provided.path) != provided.stamp:
                del self._provided[source]
                self._links = {link: made for link, made in self._links.items() if made.target != provided.path}
                if provided.path == source:
                    self._changed[source] = _read_stamp(source)
                raise changed_input(source.name, program_end)
        for link, made in list(self._links.items()):
            if _read_link(link) != made.state:
                del self._links[link]
                raise changed_input(link.name, program_end)

    def _provide(self, source: Path) -> Path:
        if source.is_dir():
            return source
        now = _read_stamp(source)
        if source in self._changed and self._changed[source] == now:
            raise changed_input(source.name, "an earlier one")
        provided = self._provided.get(source)
        if provided is None or provided.source != now:  # a step on the host may have written it anew
            path = self._copy_or_read(source)
            provided = self._provided[source] = _Provided(path, _read_stamp(path), now)
        return provided.path

    def _copy_or_read(self, source: Path) -> Path:
        if source.stat().st_size >= LARGE_BYTES:
            _read_through(source)
            return source
        copy = self._folder / str(self._count)
        self._count += 1
        self._folder.mkdir(exist_ok=True)
        _copy(source, copy)
        shutil.copystat(source, copy)  # its times too: any later write shows
        return copy


def _make_link(link: Path, target: Path) -> None:
    """Make a symbolic link. Windows lets few users make them: then a file gets a second name, or is copied."""
    try:
        link.symlink_to(target, target_is_directory=target.is_dir())
    except OSError:
        if target.is_dir():
            shutil.copytree(target, link)
            return
        try:
            link.hardlink_to(target)
        except OSError:
            shutil.copy2(target, link)


def _read_link(link: Path) -> Path | FileStamp | None:
    """Return what tells a link from another that took its place; None for a copied folder, or if there is nothing."""
    if link.is_symlink():
        return link.readlink()
    return None if link.is_dir() else _read_stamp(link)


def _copy(source: Path, copy: Path) -> None:
    if hasattr(os, "copy_file_range"):
        with contextlib.suppress(OSError), source.open("rb") as old, copy.open("wb") as new:  # some file systems cannot
            left = os.fstat(old.fileno()).st_size
            while left > 0 and (done := os.copy_file_range(old.fileno(), new.fileno(), left)):
                left -= done
            if left == 0:
                return
    shutil.copyfile(source, copy)


def _read_through(path: Path) -> None:
    with path.open("rb", buffering=0) as content:
        while content.read(_CHUNK_BYTES):
            pass


def _read_stamp(path: Path) -> FileStamp | None:
    """Return None when the file does not exist."""
    try:
        return FileStamp.read(path)
    except OSError:
        return None
