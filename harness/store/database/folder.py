"""Import of folders of results: complete, as often as wanted, and without reading again what is known.

A result is known by its uid, which stands at the beginning of its file. It is read again only if the file was changed
after its result was stored, or if it has logs and the database has none of them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import unquote

from msgspec import Struct
from pydantic import ValidationError
from sqlalchemy import func, select

from harness.core.alarm import AlarmReport
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Progress
from harness.core.result import RawLog, Result
from harness.files.reading import RESULT_BYTES, read_bounded
from harness.store.canonical_json import RESULT_FILE, load_result
from harness.store.database.alarms import store_alarm
from harness.store.database.columns import key_text
from harness.store.database.doubts import store_doubts
from harness.store.database.engine import Database
from harness.store.database.tables import ARTIFACTS_OF_RESULTS, RESULTS
from harness.store.database.writing import NewResult, Storing, store_results
from harness.store.doubts import read_doubts
from harness.store.tree import LOGS

_ItemT = TypeVar("_ItemT")

ALARMS: Final = "alarms"
"""Folder of the reports of a watcher's alarms, beside its results."""

ALARM_FILE: Final = "alarm.json"

_OF_DATABASE: Final = ".artifacts"
"""Ending of the folder beside a database that has the logs of results."""

BATCH: Final = 100
"""Results of one transaction."""

_BATCH_BYTES: Final = 32 << 20
"""Size of the files of a transaction from which no other is added."""

_HEAD: Final = re.compile(
    rb'\s*\{\s*"schema_version"\s*:\s*"[^"\\]*"\s*,\s*"harness_version"\s*:\s*"[^"\\]*"\s*,\s*"uid"\s*:\s*("(?:[^"\\]|\\.)*")'
)
"""Beginning of canonical JSON, up to the uid."""

_HEAD_BYTES: Final = 1024
_ASKED_AT_ONCE: Final = 500
"""Uids of one query: SQLite takes 32,766 parameters, old ones 999."""


class Conflict(Struct, frozen=True):
    """Result that was not stored, because the database has another with its uid.

    Attributes:
        uid: Identifier of both.
        place: File, or line of a file, of the one that was not stored.
    """

    uid: str
    place: str


@dataclass(slots=True)
class FolderImport:
    """Outcome of an import.

    Attributes:
        created: Results that are new in the database.
        known: Results that it had already.
        conflicts: Results that it has with other content; the stored ones stay.
        unreadable: Files that are damaged or cannot be read; the rest was imported.
        alarms: Reports of alarms that are new in the database, or newer than those that it had.
    """

    created: int = 0
    known: int = 0
    conflicts: list[Conflict] = field(default_factory=list)
    unreadable: list[EnvironmentProblem] = field(default_factory=list)
    alarms: int = 0


def import_folder(database: Database, folder: Path, *, progress: Progress, now: float) -> FolderImport:
    """Store every result of a folder and below, with its logs, and the reports of alarms that lie beside results.

    Each batch is one transaction: an import that is interrupted goes on where it was. Of a tree, it is stored which
    devices are in doubt, too.

    Args:
        database: Where to store them.
        folder: A tree of results, or any folder above some; or one file.
        progress: Shows how far it is.
        now: Unix seconds, the time of arrival.

    Raises:
        EnvironmentProblem: The database cannot be read or written.
    """
    outcome = FolderImport()
    results, alarms = _find_files(folder, outcome.unreadable)
    with progress.task(f"importing {folder.name or folder}", total=len(results)) as task:
        done = 0
        for files in _split(results):
            importer = ResultImporter(database, now, outcome)
            for file in _select_new(database, files, outcome):
                try:
                    importer.add(load_result(file), str(file), read_logs(file.parent), file.stat().st_size)
                except EnvironmentProblem as problem:
                    outcome.unreadable.append(problem)
                except OSError as error:
                    outcome.unreadable.append(EnvironmentProblem(f"cannot read {file}: {error.strerror or error}"))
            importer.flush()
            done += len(files)
            task.update(completed=done)
    for file in alarms:
        _import_alarm(database, file, outcome, now)
    try:
        store_doubts(database, read_doubts(folder))
    except EnvironmentProblem as problem:
        outcome.unreadable.append(problem)
    return outcome


class ResultImporter:
    """Stores results in batches, and counts what became of them.

    Args:
        database: Where to store them.
        now: Unix seconds.
        outcome: Where to count.
    """

    def __init__(self, database: Database, now: float, outcome: FolderImport) -> None:
        self._database = database
        self._now = now
        self._outcome = outcome
        self._batch: list[tuple[NewResult, str]] = []
        self._size = 0

    def add(self, result: Result, place: str, logs: Sequence[RawLog] = (), size_bytes: int = 0) -> None:
        """Add a result; stores the batch when it is full.

        Args:
            result: The result.
            place: Where it came from, for messages.
            logs: Output of its launches.
            size_bytes: Size of its file.
        """
        self._batch.append((NewResult(result=result, logs=tuple(logs)), place))
        self._size += size_bytes
        if len(self._batch) >= BATCH or self._size >= _BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Store what was added."""
        batch, self._batch, self._size = self._batch, [], 0
        if not batch:
            return
        stored = store_results(self._database, [new for new, _ in batch], now=self._now)
        self._add_logs([new for (new, _), storing in zip(batch, stored, strict=True) if storing is Storing.KNOWN])
        for (new, place), storing in zip(batch, stored, strict=True):
            if storing is Storing.CREATED:
                self._outcome.created += 1
            elif storing is Storing.KNOWN:
                self._outcome.known += 1
            else:
                self._outcome.conflicts.append(Conflict(new.result.uid, place))

    def _add_logs(self, known: Sequence[NewResult]) -> None:
        """Store the logs of results that came without them, from a server for example."""
        logs = {key_text(new.result.uid): new.logs for new in known if new.logs}
        if not logs:
            return
        artifacts = self._database.artifacts
        files = {uid: artifacts.write_logs(texts) for uid, texts in logs.items()}
        with self._database.write() as connection:
            rows = connection.execute(select(RESULTS.c.uid, RESULTS.c.id).where(RESULTS.c.uid.in_(list(files))))
            artifacts.attach(connection, {number: files[uid] for uid, number in rows}, self._now)


def read_logs(folder: Path) -> tuple[RawLog, ...]:
    """Return the logs in the folder of a result, as they were named; none where there are none.

    Raises:
        OSError: One cannot be read.
    """
    place = folder / LOGS
    if not place.is_dir():
        return ()
    files = sorted(file for file in place.iterdir() if file.suffix == ".txt" and file.is_file())
    return tuple(
        RawLog(name=_decode_name(file.stem), text=read_bounded(file, RESULT_BYTES).decode(errors="replace"))
        for file in files
    )


def _decode_name(stem: str) -> str:
    """Return the name that `encode_segment` encoded; one that it shortened or numbered stays as it is."""
    return stem if "%-" in stem else unquote(stem)


def find_known(database: Database, uids: Sequence[str]) -> Mapping[str, tuple[float, int]]:
    """Return, for each of some uids that are stored, when it was stored (Unix seconds), and how many artifacts it has.

    Raises:
        EnvironmentProblem: The database cannot be read.
    """
    count = func.count(ARTIFACTS_OF_RESULTS.c.name)
    query = (
        select(RESULTS.c.uid, RESULTS.c.received, count)
        .join(ARTIFACTS_OF_RESULTS, ARTIFACTS_OF_RESULTS.c.result_id == RESULTS.c.id, isouter=True)
        .group_by(RESULTS.c.uid, RESULTS.c.received)
    )
    known: dict[str, tuple[float, int]] = {}
    with database.read() as connection:
        for part in _split(uids):
            names = {key_text(uid): uid for uid in part}
            rows = connection.execute(query.where(RESULTS.c.uid.in_(list(names))))
            known |= {names[name]: (received, artifacts) for name, received, artifacts in rows}
    return known


def read_uid(head: bytes) -> str | None:
    """Return the uid at the beginning of canonical JSON; None where it has another form, and must be read in full."""
    match = _HEAD.match(head)
    if match is None:
        return None
    try:
        uid = json.loads(match[1])
    except ValueError:
        return None
    return uid if isinstance(uid, str) else None


def _find_files(folder: Path, unreadable: list[EnvironmentProblem]) -> tuple[list[Path], list[Path]]:
    """Return the files of results and of alarms in a folder and below, each in a stable order."""
    if folder.is_file():
        return [folder], []
    results: list[Path] = []
    alarms: list[Path] = []

    def note(error: OSError) -> None:
        unreadable.append(EnvironmentProblem(f"cannot read {error.filename or folder}: {error.strerror or error}"))

    for parent, folders, names in os.walk(folder, onerror=note):
        place = Path(parent)
        if RESULT_FILE in names:
            results.append(place / RESULT_FILE)
            folders.clear()
            continue
        if ALARM_FILE in names and place.parent.name == ALARMS:
            alarms.append(place / ALARM_FILE)
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not name.endswith(_OF_DATABASE))
    return results, alarms


def _split(items: Sequence[_ItemT]) -> Iterator[Sequence[_ItemT]]:
    return (items[start : start + _ASKED_AT_ONCE] for start in range(0, len(items), _ASKED_AT_ONCE))


def _select_new(database: Database, files: Sequence[Path], outcome: FolderImport) -> Iterator[Path]:
    """Yield the files that must be read; count the others as known."""
    uids = {file: _peek_uid(file) for file in files}
    known = find_known(database, [uid for uid in uids.values() if uid is not None])
    for file, uid in uids.items():
        stored = known.get(uid) if uid is not None else None
        if stored is None or _has_news(file, *stored):
            yield file
        else:
            outcome.known += 1


def _has_news(file: Path, received: float, artifacts: int) -> bool:
    """Return whether a file was changed after its result was stored, or has logs that are not."""
    try:
        return file.stat().st_mtime > received or (not artifacts and any((file.parent / LOGS).glob("*.txt")))
    except OSError:
        return True  # reading it says what is wrong


def _peek_uid(file: Path) -> str | None:
    try:
        if not file.is_file():  # a pipe would wait for a writer
            return None
        with file.open("rb") as content:
            return read_uid(content.read(_HEAD_BYTES))
    except (OSError, ValueError):
        return None  # reading it says what is wrong


def _import_alarm(database: Database, file: Path, outcome: FolderImport, now: float) -> None:
    try:
        report = AlarmReport.model_validate_json(read_bounded(file))
    except OSError as error:
        outcome.unreadable.append(EnvironmentProblem(f"cannot read {file}: {error.strerror or error}"))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"]) or "the whole file"
        message = f"{file} is not the report of an alarm that this version understands: {where}: {first['msg']}"
        outcome.unreadable.append(EnvironmentProblem(message))
    else:
        outcome.alarms += store_alarm(database, report, now=now)
