"""Files by their content, in the cache of a host: those that clients sent, and those of builds that were made there.

lab/files/<sha256>/content        a file; the time of the folder is that of the last use
lab/files/<sha256>/partial-<id>   one that is arriving
lab/builds/<sha256>/              the files of a build, put together; the time of the folder is that of the last use

The client of hosts that build keeps what it fetches from them in the same way.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from harness.core.errors import EnvironmentProblem
from harness.files.digests import sha256_of_file
from harness.files.drafts import open_draft
from harness.lab.jobs import FILES, LabFile, describe_file
from harness.lab.processes import host_cache_dir

PART_BYTES: Final = 8 << 20
"""Files travel in parts of this size: whole ones would take their size of memory at each end and in the scheduler."""
LIMIT_BYTES: Final = 10 << 30
BUILDS: Final = Path("lab", "builds")

_IN_USE_S: Final = 86_400.0
"""What was used so recently stays, whatever the size of all: a job may still be using it."""
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class _Entry(NamedTuple):
    """File or folder that can be removed.

    Attributes:
        last_used: Unix seconds.
        path: Its path.
        size_bytes: Its size.
        is_whole: Whether it is a file or a build, and not what a transfer left behind.
    """

    last_used: float
    path: Path
    size_bytes: int
    is_whole: bool


def missing_files(digests: tuple[str, ...]) -> tuple[str, ...]:
    """Return which files this host does not have. Runs in a process of it; the others count as used now."""
    return tuple(digest for digest in digests if not _use(host_cache_dir() / FILES / digest / "content"))


def store_part(sha256: str, transfer: str, offset: int, part: bytes, size_bytes: int) -> None:
    """Keep a part of a file; with its last part the file appears. Runs in a process of the host.

    Args:
        sha256: Digest of the file.
        transfer: Name of the transfer: a word of letters and digits that no other one has.
        offset: Where the part begins. Parts come in order.
        part: Its content.
        size_bytes: Size of the file.

    Raises:
        EnvironmentProblem: The file has another digest, or cannot be written.
    """
    folder = host_cache_dir() / FILES / sha256
    partial = folder / f"partial-{transfer}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _append(partial, offset, part)
        if offset + len(part) >= size_bytes:
            _verify(partial, sha256)
            _appear(partial, folder / "content", sha256)
    except (OSError, EnvironmentProblem) as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if isinstance(error, EnvironmentProblem):
            raise
        reason = error.strerror or str(error)
        raise EnvironmentProblem(f"{socket.gethostname()} cannot keep a file: {reason}", hint="make room") from error


def read_part(sha256: str, offset: int) -> bytes:
    """Return the part of a file that begins at an offset. Runs in a process of the host.

    Raises:
        OSError: It is not there.
    """
    with (host_cache_dir() / FILES / sha256 / "content").open("rb") as file:
        file.seek(offset)
        return file.read(PART_BYTES)


def fetch_file(file: LabFile, cache_dir: Path, read: Callable[[int], bytes]) -> None:
    """Have a file of a host in the cache of this machine, unless it is there.

    Args:
        file: The file.
        cache_dir: The cache.
        read: Returns the part that begins at an offset. What it raises is raised here.

    Raises:
        EnvironmentProblem: What arrived has another digest.
        OSError: It cannot be written.
    """
    place = file.below(cache_dir / FILES)
    if _use(place):
        with contextlib.suppress(EnvironmentProblem):
            _verify(place, file.sha256)
            return
    place.parent.mkdir(parents=True, exist_ok=True)
    with open_draft(place.parent) as draft:
        with draft.open("wb") as written:
            while written.tell() < file.size_bytes and (part := read(written.tell())):
                written.write(part)
        _verify(draft, file.sha256)
        _appear(draft, place, file.sha256)


def keep_file(path: Path, cache_dir: Path) -> LabFile:
    """Keep a copy of a file of this machine, unless it is there, and return what it is called.

    Raises:
        OSError: It cannot be written.
        EnvironmentProblem: It cannot be read.
    """
    file = describe_file(path, path.name)
    place = file.below(cache_dir / FILES)
    if not _use(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        with open_draft(place.parent) as draft:
            shutil.copyfile(path, draft)
            _appear(draft, place, file.sha256)
    return file


def use_build(content: Mapping[str, LabFile], cache_dir: Path) -> tuple[Path, bool]:
    """Return the folder of the build with these files, by their paths within it, and whether it is there."""
    text = "\n".join(f"{file.sha256} {path}" for path, file in sorted(content.items()))
    folder = cache_dir / BUILDS / hashlib.sha256(text.encode()).hexdigest()
    return folder, _use(folder)


def prune_files(cache_dir: Path, limit_bytes: int = LIMIT_BYTES, *, now: float | None = None) -> tuple[int, int]:
    """Remove the files and builds that were used least recently until the others are no larger than a limit.

    What was used within a day stays. What never became whole is removed after a day.

    Returns:
        How many were removed, and their bytes.
    """
    now = time.time() if now is None else now
    entries = sorted((*_list_files(cache_dir / FILES), *_list_builds(cache_dir / BUILDS)))
    size, removed = sum(entry.size_bytes for entry in entries), []
    for entry in entries:
        if entry.last_used > now - _IN_USE_S:
            break
        if (size > limit_bytes or not entry.is_whole) and _remove(entry):
            size -= entry.size_bytes
            removed.append(entry)
    return len(removed), sum(entry.size_bytes for entry in removed)


def _append(path: Path, offset: int, part: bytes) -> None:
    """Append a part to a file; the first one begins it anew."""
    with path.open("ab" if offset else "wb") as file:
        if file.tell() != offset:
            raise EnvironmentProblem("a part of a file is missing before this one", hint="send it again")
        file.write(part)


def _list_files(folder: Path) -> Iterator[_Entry]:
    for path in folder.glob("*/*"):
        with contextlib.suppress(OSError):  # it arrived, or another process removes it
            yield _Entry(_last_used(path), path, path.stat().st_size, is_whole=path.name == "content")


def _list_builds(folder: Path) -> Iterator[_Entry]:
    for path in folder.glob("*"):
        with contextlib.suppress(OSError):
            size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
            yield _Entry(_last_used(path), path, size, is_whole=_DIGEST.fullmatch(path.name) is not None)


def _last_used(path: Path) -> float:
    """Return when a file or a build was used last. A file that arrived before its folder counted has its own time."""
    used = path.stat().st_mtime
    return max(used, path.parent.stat().st_mtime) if path.name == "content" else used


def _remove(entry: _Entry) -> bool:
    """Remove what was not used since it was listed, and return whether it is gone."""
    with contextlib.suppress(OSError):
        if _last_used(entry.path) > entry.last_used:
            return False
        if entry.path.is_dir():
            shutil.rmtree(entry.path)
        else:
            entry.path.unlink()
            entry.path.parent.rmdir()  # unless something else is there
    return not entry.path.exists()


def _use(path: Path) -> bool:
    """Note that a file or a build is used now, and return whether it is there.

    A file stays as it is: somebody may be copying it, to whom another time is a change.
    """
    if not path.exists():
        return False
    with contextlib.suppress(OSError):  # of another user, or on a disk that is read only
        os.utime(path.parent if path.name == "content" else path)
    return path.exists()


def _appear(draft: Path, place: Path, sha256: str) -> None:
    """Let a file appear that is whole, unless it has appeared meanwhile: somebody may be copying that one."""
    try:
        os.link(draft, place)
    except FileExistsError:
        try:
            _verify(place, sha256)
        except (OSError, EnvironmentProblem):
            draft.replace(place)
            return
    except OSError:  # a file system without links
        draft.replace(place)
        return
    draft.unlink()


def _verify(path: Path, sha256: str) -> None:
    """Raise `EnvironmentProblem` for a file with another digest."""
    found = sha256_of_file(path)
    if found != sha256:
        raise EnvironmentProblem(f"a file arrived as {found[:12]} instead of {sha256[:12]}", hint="send it again")
