"""A model of OpenVINO, which is two files, as one: a zip archive whose members are stored as they are.

    python -m frameworks.openvino.archive MODEL FOLDER

writes `model.xml` and `model.bin` to a folder, for programs that read only those, such as `benchmark_app`.
Everything here needs the standard library alone.
"""

from __future__ import annotations

import contextlib
import io
import struct
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

GRAPH: Final = "model.xml"
"""Member with the graph."""

WEIGHTS: Final = "model.bin"
"""Member with the constants, which the graph refers to by offset."""

_DATE: Final = (1980, 1, 1, 0, 0, 0)
"""Date of all members, so that equal models are equal files; the earliest that the format knows."""

_ALIGNMENT: Final = 4096
"""Alignment of the weights in the file, so that they can be used where they are mapped."""

_SIGNATURE: Final = b"PK\x03\x04"
_FILE_HEADER_BYTES: Final = 30
_PADDING: Final = 0xED65
"""Identifier of an extra field that only pads; readers skip those that they do not know."""


class ArchivedModel(NamedTuple):
    """The two files of a model.

    Attributes:
        graph: Content of the .xml file.
        weights: Content of the .bin file.
    """

    graph: bytes
    weights: bytes


class Located(NamedTuple):
    """A model whose weights are left in the archive.

    Attributes:
        graph: Content of the .xml file.
        begin: Offset of the weights.
        size_bytes: Their size.
    """

    graph: bytes
    begin: int
    size_bytes: int


class NotAnArchive(Exception):
    """A file is no archive of a model; the message says why."""


def pack(model: ArchivedModel) -> bytes:
    """Return the archive. Equal models give equal bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(GRAPH, _DATE), model.graph)
        info = zipfile.ZipInfo(WEIGHTS, _DATE)
        begin = stream.tell() + _FILE_HEADER_BYTES + len(WEIGHTS) + 4
        padding = -begin % _ALIGNMENT
        info.extra = _PADDING.to_bytes(2, "little") + padding.to_bytes(2, "little") + bytes(padding)
        archive.writestr(info, model.weights)
    return stream.getvalue()


def is_archive(path: Path) -> bool:
    """Return whether a file begins like an archive."""
    with path.open("rb") as stream:
        return stream.read(len(_SIGNATURE)) == _SIGNATURE


def read(path: Path) -> ArchivedModel:
    """Read an archive.

    Raises:
        NotAnArchive: The file is none, is damaged, or lacks a member.
    """
    with _opening(path) as archive:
        return ArchivedModel(archive.read(_member(archive, GRAPH)), archive.read(_member(archive, WEIGHTS)))


def locate(path: Path) -> Located:
    """Read the graph of an archive, and find the weights, so that they can be mapped. Errors as of `read`."""
    with _opening(path) as archive, path.open("rb") as stream:
        info = _member(archive, WEIGHTS)
        stream.seek(info.header_offset)
        header = stream.read(_FILE_HEADER_BYTES)
        if len(header) < _FILE_HEADER_BYTES or not header.startswith(_SIGNATURE):
            raise zipfile.BadZipFile(f"{WEIGHTS} has no header")
        begin = info.header_offset + _FILE_HEADER_BYTES + sum(struct.unpack("<HH", header[26:]))
        if begin + info.file_size > path.stat().st_size:
            raise zipfile.BadZipFile(f"{WEIGHTS} is cut off")
        return Located(archive.read(_member(archive, GRAPH)), begin, info.file_size)


@contextlib.contextmanager
def _opening(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, OSError, EOFError, KeyError, NotImplementedError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise NotAnArchive(f"{path} is not an archive of {GRAPH} and {WEIGHTS} ({reason})") from error


def _member(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """Return a member; one that is compressed could be far larger than the file, and none of ours is."""
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
        raise zipfile.BadZipFile(f"{name} is compressed")
    return info


def main(arguments: list[str]) -> int:
    """Write the two files of a model to a folder."""
    if len(arguments) != 2:
        print("usage: python -m frameworks.openvino.archive MODEL FOLDER", file=sys.stderr)
        return 2
    model, folder = map(Path, arguments)
    try:
        content = read(model)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / WEIGHTS).write_bytes(content.weights)
        (folder / GRAPH).write_bytes(content.graph)
    except (NotAnArchive, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
