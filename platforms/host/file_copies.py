"""The files of benchmarks as programs see them: never the cache's own, and never changed without a word."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Final, NamedTuple

from harness.core.errors import BenchmarkFailed

LARGE_BYTES: Final = 64 << 20
"""From here on a file is used where it is: a copy takes about 0.3 ms per MiB, and room on the disk."""

_CHUNK_BYTES: Final = 8 << 20


class _Stamp(NamedTuple):
    size_bytes: int
    mtime_ns: int
    inode: int


class _Kept(NamedTuple):
    """Where programs find a file, with it and its source as they were then."""

    place: Path
    stamp: _Stamp | None
    source: _Stamp | None


class Copies:
    """Every file once for the whole session, for as long as programs leave it as it was.

    A small file is copied (on file systems that can, its blocks are shared), so that a program that writes to its input
    changes neither the cache nor what others measure. A large one, or a folder, is used where it is. Files are looked
    at after each program: no result is told of a file that is not the one that it names. (Folders are not.)

    All are in the page cache afterwards: a copy because it was just written, a large file because it is read once. What
    is measured does not depend on who used the file before.

    Args:
        folder: Where copies are kept; made when needed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = 0
        self._kept: dict[Path, _Kept] = {}
        self._links: dict[Path, Path] = {}
        self._spoilt: dict[Path, _Stamp | None] = {}

    def link(self, place: Path, source: Path) -> None:
        """Give programs a file (or a folder) in this place.

        Raises:
            BenchmarkFailed: It is used where it is, and an earlier program of the session changed it.
            OSError: It cannot be read, or not be copied.
        """
        target = self._of(source.resolve(strict=True))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)
        self._links[place] = target

    def check(self, fate: str) -> None:
        """See that everything that was given is what it was. What is not is not given again.

        Args:
            fate: What became of the program that was running, in words.

        Raises:
            BenchmarkFailed: Something has changed.
        """
        for source, kept in list(self._kept.items()):
            if _stamp(kept.place) != kept.stamp:
                del self._kept[source]
                if kept.place == source:
                    self._spoilt[source] = _stamp(source)
                raise _changed(source.name, fate)
        for place, target in list(self._links.items()):
            if not place.is_symlink() or place.readlink() != target:
                del self._links[place]
                raise _changed(place.name, fate)

    def _of(self, source: Path) -> Path:
        if source.is_dir():
            return source
        now = _stamp(source)
        if source in self._spoilt and self._spoilt[source] == now:
            raise _changed(source.name, "an earlier one")
        kept = self._kept.get(source)
        if kept is None or kept.source != now:  # a step on the host may have made it anew
            place = self._placed(source)
            kept = self._kept[source] = _Kept(place, _stamp(place), now)
        return kept.place

    def _placed(self, source: Path) -> Path:
        if source.stat().st_size >= LARGE_BYTES:
            _read_through(source)
            return source
        copy = self._folder / str(self._made)
        self._made += 1
        self._folder.mkdir(exist_ok=True)
        _copy(source, copy)
        shutil.copystat(source, copy)  # its times too: any later write shows
        return copy


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


def _stamp(path: Path) -> _Stamp | None:
    """None when it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return _Stamp(found.st_size, found.st_mtime_ns, found.st_ino)


def _changed(name: str, fate: str) -> BenchmarkFailed:
    return BenchmarkFailed(
        f"{name} was changed while a program used it ({fate}): nobody knows what was measured",
        hint="let the program write elsewhere ({TGTDIR}), or give it a copy of its own",
    )
