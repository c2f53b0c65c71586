"""Files by their content: each is written whole, before the database knows of it."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct
from sqlalchemy import Connection

from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.result import RawLog
from harness.files.atomic import sync
from harness.files.drafts import open_draft, sweep_drafts
from harness.store.database.columns import KEY_CHARACTERS, key_text
from harness.store.database.names import insert_new
from harness.store.database.tables import ARTIFACTS, ARTIFACTS_OF_RESULTS
from harness.store.history import ArtifactInfo
from harness.store.tree import LOGS, encode_segment

ARTIFACT_BYTES: Final = 1 << 30
"""Largest file by default."""

_TEXT: Final = "text/plain; charset=utf-8"
_CHUNK: Final = 1 << 20
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_HINT: Final = "check the permissions of its folder, and the space on its disk"


class ArtifactFolder(Struct, frozen=True):
    """Folder of files by SHA-256.

    Attributes:
        path: The folder; made when the first file is stored.
        durable: Whether a file outlives also a failure of power. It outlives a crash of programs anyway.
    """

    path: Path
    durable: bool = True

    def locate(self, digest: str) -> Path:
        """Return the place of the file with this content, whether it is there or not.

        Raises:
            UsageError: That is no SHA-256.
        """
        if not _DIGEST.fullmatch(digest):
            raise UsageError(f"{digest[:80]!r} is no SHA-256 of a file")
        return self.path / digest[:2] / digest[2:]

    def write_logs(self, logs: Sequence[RawLog]) -> tuple[ArtifactInfo, ...]:
        """Write the output of launches as files `logs/NAME`, whose names are encoded where they are no names of files.

        Raises:
            EnvironmentProblem: A file cannot be written.
        """
        return tuple(self.write(_log_name(log.name), log.text.encode(errors="backslashreplace")) for log in logs)

    def write(
        self,
        name: str,
        content: bytes | BinaryIO | Iterable[bytes],
        *,
        media_type: str = _TEXT,
        limit_bytes: int = ARTIFACT_BYTES,
    ) -> ArtifactInfo:
        """Write a file, unless its content is there; no more than 1 MiB of a stream is held at once.

        Args:
            name: Its name for people, with folders: `logs/launch-0.txt`. It names no place on the disk.
            content: Its content; parts of an iterable are written as they come.
            media_type: Its type.
            limit_bytes: Largest size.

        Raises:
            UsageError: The name is unfit, or the content is larger than the limit.
            EnvironmentProblem: It cannot be written.
        """
        check_name(name)
        digest, size = sha256(), 0
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with open_draft(self.path) as draft:
                with draft.open("xb") as file:
                    for part in _parts(content):
                        size += len(part)
                        if size > limit_bytes:
                            raise UsageError(f"the file {name!r} is larger than {limit_bytes} bytes")
                        digest.update(part)
                        file.write(part)
                    if self.durable:
                        file.flush()
                        os.fsync(file.fileno())
                self._publish(draft, self.locate(digest.hexdigest()))
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot write a file into {self.path}: {error.strerror or error}", hint=_HINT
            ) from error
        return ArtifactInfo(name=name, digest=digest.hexdigest(), size_bytes=size, media_type=key_text(media_type))

    def open(self, digest: str) -> BinaryIO:
        """Open a file for reading.

        Raises:
            EnvironmentProblem: It is not there, or cannot be read.
        """
        path = self.locate(digest)
        try:
            return path.open("rb")
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot read the file {path}: {error.strerror or error}",
                hint="the folder of files belongs to its database: copy both",
            ) from error

    def attach(self, connection: Connection, files: Mapping[int, Sequence[ArtifactInfo]], now: float) -> None:
        """Store that files belong to results, given by id, in a transaction that writes.

        Raises:
            EnvironmentProblem: A file is gone: it was removed as one that nothing refers to, before this.
        """
        stored: dict[str, dict[str, object]] = {}
        rows: list[dict[str, object]] = []
        for key, group in files.items():
            for file in group:
                if file.digest not in stored and not self.locate(file.digest).exists():
                    raise EnvironmentProblem(f"the file {file.name!r} was removed meanwhile", hint="store it again")
                columns = {"size_bytes": file.size_bytes, "media_type": file.media_type, "stored": now}
                stored[file.digest] = {"digest": file.digest, **columns}
                rows.append({"result_id": key, "name": file.name, "digest": file.digest})
        insert_new(connection, ARTIFACTS, [stored[digest] for digest in sorted(stored)])
        insert_new(connection, ARTIFACTS_OF_RESULTS, rows)

    def list_digests(self) -> Iterator[tuple[str, float]]:
        """Yield the digest of each file, and when it was last written or used, in Unix seconds."""
        sweep_drafts(self.path)
        for path in self.path.glob("??/*"):
            digest = path.parent.name + path.name
            if _DIGEST.fullmatch(digest) and path.is_file():
                yield digest, path.stat().st_mtime

    def remove(self, digest: str) -> int:
        """Remove a file; return its size in bytes."""
        path = self.locate(digest)
        try:
            size = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise EnvironmentProblem(f"cannot remove {path}: {error.strerror or error}", hint=_HINT) from error
        return size

    def _publish(self, draft: Path, path: Path) -> None:
        """Give a finished draft its place, unless it is there; then that is marked as used."""
        if path.exists():
            os.utime(path)
            return
        path.parent.mkdir(exist_ok=True)
        draft.replace(path)
        if self.durable:
            sync(path.parent)


def check_name(name: str) -> None:
    """Check that a name of a file stays within its folder wherever it is unpacked.

    Raises:
        UsageError: It does not, or it is no name.
    """
    if not _is_name(name):
        raise UsageError(
            f"{name[:80]!r} cannot be the name of a file",
            hint="give a short name with folders, such as logs/launch-0.txt",
        )


def _is_name(name: str) -> bool:
    stays = all(segment.strip(". ") and segment == segment.strip() for segment in name.split("/"))
    return stays and len(name) <= KEY_CHARACTERS and name.isprintable() and "\\" not in name and ":" not in name


def _log_name(name: str) -> str:
    """Return the name of a log as that of a file: a log is stored whatever it is called."""
    path = f"{LOGS}/{name}"
    return path if _is_name(path) else f"{LOGS}/{encode_segment(name)}"


def _parts(content: bytes | BinaryIO | Iterable[bytes]) -> Iterator[bytes]:
    stream: BinaryIO | Iterable[bytes] = io.BytesIO(content) if isinstance(content, bytes) else content
    if isinstance(stream, io.IOBase):
        yield from iter(lambda: stream.read(_CHUNK), b"")
    else:
        yield from stream
