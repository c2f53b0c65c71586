"""Folders of a stand-in iPhone as AFC sees them: paths below a root, open files, errors by their AFC numbers."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import dataclass, field
from enum import IntEnum
from io import FileIO
from pathlib import Path
from typing import Final

from harness.testing.phones.ios.phone import StandInIPhone, size_of

_OPEN_FILES: Final = 512
_PATH_BYTES: Final = 4096


class AfcStatus(IntEnum):
    """Errors of AFC."""

    SUCCESS = 0
    UNKNOWN_ERROR = 1
    HEADER_INVALID = 2
    NO_RESOURCES = 3
    UNKNOWN_PACKET = 6
    INVALID_ARGUMENT = 7
    NOT_FOUND = 8
    IS_FOLDER = 9
    PERMISSION_DENIED = 10
    EXISTS = 16
    NO_SPACE_LEFT = 18
    IO_ERROR = 20
    FOLDER_NOT_EMPTY = 33


class AfcRefusal(Exception):
    """A request that AFC refuses."""

    def __init__(self, status: AfcStatus) -> None:
        super().__init__(status.name)
        self.status = status


_STATUS: Final = {
    errno.ENOENT: AfcStatus.NOT_FOUND,
    errno.ENOTDIR: AfcStatus.NOT_FOUND,
    errno.EISDIR: AfcStatus.IS_FOLDER,
    errno.EACCES: AfcStatus.PERMISSION_DENIED,
    errno.EPERM: AfcStatus.PERMISSION_DENIED,
    errno.EEXIST: AfcStatus.EXISTS,
    errno.ENOSPC: AfcStatus.NO_SPACE_LEFT,
    errno.ENOTEMPTY: AfcStatus.FOLDER_NOT_EMPTY,
    errno.ENAMETOOLONG: AfcStatus.INVALID_ARGUMENT,
    errno.EINVAL: AfcStatus.INVALID_ARGUMENT,
}
_MODES: Final = {1: "rb", 2: "r+b", 3: "wb", 4: "w+b", 5: "ab", 6: "a+b"}


def status_of(error: OSError) -> AfcStatus:
    """Return AFC's number for an error of this machine."""
    return _STATUS.get(error.errno or 0, AfcStatus.IO_ERROR)


@dataclass(slots=True)
class FolderView:
    """A folder of a phone that a client sees as `/`, and the files that it opened there.

    Every method raises `AfcRefusal`, or `OSError` as this machine's file system does.

    Attributes:
        phone: The phone, whose room is counted.
        root: The folder on this machine.
    """

    phone: StandInIPhone
    root: Path
    _files: dict[int, FileIO] = field(default_factory=dict)
    _next: int = 1

    def locate(self, name: bytes) -> Path:
        """Return the path on this machine; none leads out of the folder, nor does a symbolic link."""
        text = os.fsdecode(name.partition(b"\0")[0])
        parts = [part for part in text.split("/") if part not in {"", "."}]
        if ".." in parts:
            raise AfcRefusal(AfcStatus.PERMISSION_DENIED)
        if len(name) > _PATH_BYTES:
            raise AfcRefusal(AfcStatus.INVALID_ARGUMENT)
        path = self.root.joinpath(*parts)
        if parts and not path.parent.resolve().is_relative_to(self.root.resolve()):
            raise AfcRefusal(AfcStatus.PERMISSION_DENIED)
        return path

    def list_names(self, name: bytes) -> list[bytes]:
        """Return what is in a folder, with `.` and `..`."""
        path = self.locate(name)
        if not path.is_dir():
            raise AfcRefusal(AfcStatus.NOT_FOUND)
        return [b".", b"..", *sorted(os.fsencode(child.name) for child in path.iterdir())]

    def describe(self, name: bytes) -> dict[str, bytes]:
        """Return what AFC tells of a file or folder."""
        path = self.locate(name)
        status = path.lstat()
        kind = "S_IFLNK" if path.is_symlink() else "S_IFDIR" if path.is_dir() else "S_IFREG"
        values = {
            "st_size": status.st_size,
            "st_blocks": status.st_blocks,
            "st_nlink": status.st_nlink,
            "st_ifmt": kind,
            "st_mtime": status.st_mtime_ns,
            "st_birthtime": status.st_ctime_ns,
        }
        link = {"LinkTarget": os.fsencode(path.readlink())} if path.is_symlink() else {}
        return {**{key: str(value).encode() for key, value in values.items()}, **link}

    def make_folder(self, name: bytes) -> None:
        """Make a folder, and those that it is in."""
        self.locate(name).mkdir(parents=True, exist_ok=True)

    def remove(self, name: bytes, *, contents: bool) -> None:
        """Remove a file or an empty folder; with its contents if asked."""
        path = self.locate(name)
        if path == self.root:
            raise AfcRefusal(AfcStatus.PERMISSION_DENIED)
        if path.is_dir() and not path.is_symlink():
            if not contents:
                path.rmdir()
                return
            freed = size_of(path)
            shutil.rmtree(path)
        else:
            freed = path.lstat().st_size
            path.unlink()
        self.phone.give_room(freed)

    def rename(self, source: bytes, target: bytes) -> None:
        """Rename a file or folder, over an older file."""
        self.locate(source).rename(self.locate(target))

    def open(self, name: bytes, mode: int) -> int:
        """Open a file; return its number."""
        if mode not in _MODES:
            raise AfcRefusal(AfcStatus.INVALID_ARGUMENT)
        if len(self._files) >= _OPEN_FILES:
            raise AfcRefusal(AfcStatus.NO_RESOURCES)
        path = self.locate(name)
        if path.is_symlink() and not path.resolve().is_relative_to(self.root.resolve()):
            raise AfcRefusal(AfcStatus.PERMISSION_DENIED)
        if path.exists() and not path.is_dir() and not path.is_file():
            raise AfcRefusal(AfcStatus.PERMISSION_DENIED)  # a pipe would never answer
        if "w" in _MODES[mode] and path.is_file():
            self.phone.give_room(path.stat().st_size)
        if mode == 2 and not path.exists():
            path.touch()
        self._files[self._next] = FileIO(path, _MODES[mode])
        self._next += 1
        return self._next - 1

    def read(self, number: int, count: int) -> bytes:
        """Read up to so many bytes of an open file."""
        return self._file(number).read(count)

    def write(self, number: int, content: bytes) -> None:
        """Write to an open file."""
        file = self._file(number)
        grown = file.tell() + len(content) - os.fstat(file.fileno()).st_size
        self.phone.take_room(max(grown, 0))
        rest = memoryview(content)
        while rest:
            rest = rest[file.write(rest) :]

    def seek(self, number: int, whence: int, offset: int) -> None:
        """Move in an open file."""
        if whence not in {0, 1, 2}:
            raise AfcRefusal(AfcStatus.INVALID_ARGUMENT)
        self._file(number).seek(offset, whence)

    def tell(self, number: int) -> int:
        """Return the place in an open file."""
        return self._file(number).tell()

    def resize(self, number: int, size: int) -> None:
        """Cut an open file, or make it longer."""
        file = self._file(number)
        grown = size - os.fstat(file.fileno()).st_size
        self.phone.take_room(max(grown, 0))
        file.truncate(size)
        self.phone.give_room(max(-grown, 0))

    def close(self, number: int) -> None:
        """Close an open file."""
        self._file(number).close()
        del self._files[number]

    def close_all(self) -> None:
        """Close every open file."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _file(self, number: int) -> FileIO:
        if number not in self._files:
            raise AfcRefusal(AfcStatus.INVALID_ARGUMENT)
        return self._files[number]
