"""Files that `harness import` reads: plain, compressed, archives, and standard input; all of bounded size."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import sys
import time
import zipfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct

from harness.core.errors import EnvironmentProblem, UsageError
from harness.files.reading import read_bounded

STANDARD_INPUT: Final = "-"
_FILE_BYTES: Final = 256 << 20
"""Limit of a file as it is, and of everything that is unpacked from it: 2,000 times LiteRT's leaderboard."""
_MOST_MEMBERS: Final = 2000
"""Files of an archive; a device farm's has a dozen."""
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class ForeignFile(Struct, frozen=True):
    """Content of a file of another tool.

    Attributes:
        name: Its name without folders; of a file in an archive that of the archive, `:` and its own.
        digest: SHA-256 of its content, unpacked.
        text: Its content.
        modified: Unix seconds of its last change; of standard input now.
        is_member: Whether it comes from an archive, which may hold anything beside it.
    """

    name: str
    digest: str
    text: str
    modified: float
    is_member: bool = False


def read_sources(path: str) -> Iterator[ForeignFile]:
    """Yield the file of a path, or each file of an archive; `-` is standard input.

    Raises:
        UsageError: There is no such file, or it is no archive although it begins as one.
        EnvironmentProblem: It cannot be read, or is too large.
    """
    data, modified = _read(path)
    name = "standard input" if path == STANDARD_INPUT else Path(path).name
    if data.startswith(_ZIP):
        yield from _unpack(data, name)
        return
    if data.startswith(_GZIP):
        data, name = _decompress(data, name), name.removesuffix(".gz")
    yield _make(data, name, modified)


def _read(path: str) -> tuple[bytes, float]:
    if path == STANDARD_INPUT:
        data = sys.stdin.buffer.read(_FILE_BYTES + 1)
        if len(data) > _FILE_BYTES:
            raise _too_large("standard input")
        return data, time.time()
    try:
        return read_bounded(Path(path), _FILE_BYTES), os.stat(path).st_mtime  # noqa: PTH116 - a path of any kind
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {path}", hint="harness import FILE...; `-` is standard input") from error
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise EnvironmentProblem(f"{path} cannot be read: {reason}") from error


def _decompress(data: bytes, name: str) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            content = stream.read(_FILE_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{name} is damaged: {error}", hint="copy or download it again") from error
    if len(content) > _FILE_BYTES:
        raise _too_large(name)
    return content


def _unpack(data: bytes, name: str) -> Iterator[ForeignFile]:
    """Yield the files of an archive. Nothing is written anywhere, so that their names cannot lead out of a folder."""
    left = _FILE_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if len(members) > _MOST_MEMBERS:
                raise UsageError(f"{name} holds {len(members)} files", hint=f"at most {_MOST_MEMBERS} are read")
            for member in members:
                with archive.open(member) as stream:
                    content = stream.read(left + 1)
                left -= len(content)
                if left < 0:
                    raise _too_large(name)
                title = f"{name}:{Path(member.filename).name}"
                yield _make(content, title, _parse_date(member), is_member=True)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError) as error:
        raise UsageError(f"{name} cannot be unpacked: {error}", hint="unpack it, and name its files") from error


def _make(data: bytes, name: str, modified: float, *, is_member: bool = False) -> ForeignFile:
    encoding = "utf-16" if data.startswith(_UTF_16) else "utf-8-sig"
    return ForeignFile(name, sha256(data).hexdigest(), data.decode(encoding, errors="replace"), modified, is_member)


def _parse_date(member: zipfile.ZipInfo) -> float:
    """Return Unix seconds of a file of an archive, which names no time zone: UTC is assumed."""
    try:
        return datetime(*member.date_time, tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


def _too_large(name: str) -> UsageError:
    return UsageError(f"{name} is larger than {_FILE_BYTES >> 20} MiB", hint="split it into several files")
