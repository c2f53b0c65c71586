"""Files that belong to results, and those that belong to none any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO, Final

from msgspec import Struct
from sqlalchemy import delete, select

from harness.core.errors import UsageError
from harness.store.database.artifact_files import ARTIFACT_BYTES
from harness.store.database.artifact_files import ArtifactFolder as ArtifactFolder  # noqa: PLC0414 - its place of old
from harness.store.database.columns import key_text
from harness.store.database.engine import Database
from harness.store.database.tables import ARTIFACTS, ARTIFACTS_OF_RESULTS, RESULTS
from harness.store.history import ArtifactInfo

GRACE_S: Final = 86_400.0
"""A file that nothing refers to is kept so long: whoever wrote it may be about to store the result."""


class SweptArtifacts(Struct, frozen=True):
    """What was removed.

    Attributes:
        files: Number of files.
        size_bytes: Their size.
    """

    files: int
    size_bytes: int


def store_artifact(
    database: Database,
    uid: str,
    name: str,
    content: bytes | BinaryIO | Iterable[bytes],
    *,
    media_type: str,
    now: float,
    limit_bytes: int = ARTIFACT_BYTES,
) -> ArtifactInfo:
    """Store a file of a result; storing the same again changes nothing.

    Args:
        database: Where.
        uid: The result.
        name: Name of the file, with folders.
        content: Its content; a stream is read in parts.
        media_type: Its type.
        now: Unix seconds.
        limit_bytes: Largest size.

    Raises:
        UsageError: There is no such result, the name is unfit or taken by another content, or the file is too large.
        EnvironmentProblem: It cannot be written.
    """
    _find_result(database, uid)
    file = database.artifacts.write(name, content, media_type=media_type, limit_bytes=limit_bytes)
    with database.write() as connection:
        key = connection.execute(select(RESULTS.c.id).where(RESULTS.c.uid == key_text(uid))).scalar()
        if key is None:
            raise UsageError(f"there is no result {uid!r}")
        table = ARTIFACTS_OF_RESULTS.c
        known = connection.execute(select(table.digest).where(table.result_id == key, table.name == name)).scalar()
        if known not in {None, file.digest}:
            raise UsageError(f"the result {uid} has another file {name!r}", hint="give it another name")
        database.artifacts.attach(connection, {key: [file]}, now)
    return file


def find_artifact(database: Database, uid: str, name: str) -> ArtifactInfo | None:
    """Return a file of a result; None if it has none of this name. `database.artifacts.open(DIGEST)` reads it.

    Raises:
        EnvironmentProblem: The database cannot be read.
    """
    query = (
        select(ARTIFACTS)
        .join(ARTIFACTS_OF_RESULTS, ARTIFACTS_OF_RESULTS.c.digest == ARTIFACTS.c.digest)
        .join(RESULTS, RESULTS.c.id == ARTIFACTS_OF_RESULTS.c.result_id)
        .where(RESULTS.c.uid == key_text(uid), ARTIFACTS_OF_RESULTS.c.name == key_text(name))
    )
    with database.read() as connection:
        row = connection.execute(query).first()
    if row is None:
        return None
    return ArtifactInfo(name=name, digest=row.digest, size_bytes=row.size_bytes, media_type=row.media_type)


def sweep_artifacts(database: Database, *, now: float, grace_s: float = GRACE_S) -> SweptArtifacts:
    """Remove files that belong to no result, unless they were written or used lately.

    Raises:
        EnvironmentProblem: The database or a file cannot be changed.
    """
    folder, files, size = database.artifacts, 0, 0
    with database.write() as connection:  # nobody can refer to a file meanwhile
        used = set(connection.execute(select(ARTIFACTS_OF_RESULTS.c.digest).distinct()).scalars())
        for digest, written in list(folder.list_digests()):
            if digest not in used and written < now - grace_s:
                files += 1
                size += folder.remove(digest)
        is_used = select(ARTIFACTS_OF_RESULTS.c.digest).where(ARTIFACTS_OF_RESULTS.c.digest == ARTIFACTS.c.digest)
        connection.execute(delete(ARTIFACTS).where(~is_used.exists()))
    return SweptArtifacts(files, size)


def _find_result(database: Database, uid: str) -> None:
    with database.read() as connection:
        if connection.execute(select(RESULTS.c.id).where(RESULTS.c.uid == key_text(uid))).first() is None:
            raise UsageError(f"there is no result {uid!r}")
