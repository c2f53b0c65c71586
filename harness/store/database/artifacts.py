"""Files that belong to results, stored once by their content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from harness.core.errors import EnvironmentProblem
from harness.core.result import RawLog
from harness.files.atomic import write_atomically
from harness.store.database.columns import key_text
from harness.store.database.names import insert_new
from harness.store.database.tables import ARTIFACTS, ARTIFACTS_OF_RESULTS
from harness.store.history import ArtifactInfo

_TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class ArtifactFolder:
    """Folder of files by SHA-256.

    Attributes:
        path: The folder; made when the first file is stored.
    """

    path: Path

    def locate(self, digest: str) -> Path:
        """Return the file with this content."""
        return self.path / digest[:2] / digest[2:]

    def write_logs(self, logs: Sequence[RawLog]) -> tuple[ArtifactInfo, ...]:
        """Write the output of launches as files `logs/NAME`.

        Raises:
            EnvironmentProblem: A file cannot be written.
        """
        return tuple(
            self.write(f"logs/{log.name}", log.text.encode(errors="backslashreplace"), media_type=_TEXT) for log in logs
        )

    def write(self, name: str, content: bytes, *, media_type: str) -> ArtifactInfo:
        """Write a file durably, unless its content is there.

        Raises:
            EnvironmentProblem: It cannot be written.
        """
        digest = sha256(content).hexdigest()
        path = self.locate(digest)
        try:
            if not path.exists():
                write_atomically(path, content, durable=True)
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot write the file {path}: {error.strerror or error}",
                hint="check the permissions of its folder, and the space on its disk",
            ) from error
        return ArtifactInfo(name=key_text(name), digest=digest, size_bytes=len(content), media_type=media_type)

    def attach(self, connection: Connection, files: Mapping[int, Sequence[ArtifactInfo]], now: float) -> None:
        """Store that files belong to results, given by id."""
        stored = {
            file.digest: {
                "digest": file.digest,
                "size_bytes": file.size_bytes,
                "media_type": file.media_type,
                "stored": now,
            }
            for group in files.values()
            for file in group
        }
        rows = [
            {"result_id": key, "name": file.name, "digest": file.digest}
            for key, group in files.items()
            for file in group
        ]
        insert_new(connection, ARTIFACTS, list(stored.values()))
        insert_new(connection, ARTIFACTS_OF_RESULTS, rows)
