"""All files of a result as one zip, made while it is sent: nothing of it is held in memory or on the disk."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, Final

from harness.store.canonical_json import RESULT_FILE
from harness.store.history import ArtifactInfo
from harness.store.tree import encode_segment

_CHUNK: Final = 1 << 18


class _Pipe(io.RawIOBase):
    """Writable stream without positions, whose content is taken away as it comes."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        part = bytes(data)  # type: ignore[call-overload]
        self._parts.append(part)
        return len(part)

    def take(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def stream_archive(
    result: bytes, files: Sequence[ArtifactInfo], open_file: Callable[[str], BinaryIO]
) -> Iterator[bytes]:
    """Yield a zip with `result.json` and all files, whose names stay within the folder that it is unpacked into.

    Args:
        result: Canonical JSON.
        files: Files of the result.
        open_file: Opens the content of a digest.

    Raises:
        EnvironmentProblem: A file cannot be read.
    """
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(RESULT_FILE, result)
        yield pipe.take()
        for file in files:
            with archive.open(_member(file.name), "w", force_zip64=True) as member, open_file(file.digest) as content:
                for part in iter(lambda: content.read(_CHUNK), b""):
                    member.write(part)
                    yield pipe.take()
            yield pipe.take()
    yield pipe.take()


def _member(name: str) -> str:
    """Return a name as a path in the archive: without parts that lead elsewhere, and beside `result.json`."""
    segments = [encode_segment(segment) for segment in name.replace("\\", "/").split("/") if segment.strip(".")]
    path = "/".join(segments) or "file"
    return f"{path}.file" if path == RESULT_FILE else path
