"""`harness store import`: brings results of folders and files into the database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError
from rich.console import Console

from harness.core.errors import EnvironmentProblem, ExitCode, UsageError
from harness.core.protocols import Progress
from harness.core.result import Result
from harness.core.values import Value
from harness.display.documents import print_document
from harness.files.reading import RESULT_BYTES
from harness.presentation.documents import Document
from harness.store.database.engine import Database
from harness.store.database.folder import FolderImport, ResultImporter, import_folder

_LINES: Final = frozenset({".jsonl", ".ndjson"})
_TABLES: Final = frozenset({".parquet", ".csv"})
_ARCHIVES: Final = frozenset({".gz", ".zip", ".tar", ".tgz", ".xz", ".zst", ".bz2"})
_SHOWN: Final = 20
"""Problems that are named one by one."""


class ImportConflict(Value):
    """Result that was not stored, because the database has another with its uid.

    Attributes:
        uid: Identifier of both.
        place: File, or line of a file, of the one that was not stored.
    """

    uid: str
    place: str


class ImportDocument(Document):
    """`harness store import --json`.

    Attributes:
        database: Where the results were stored.
        created: Results that are new there.
        known: Results that were there already.
        alarms: Reports of alarms that are new there, or newer than those that were there.
        conflicts: Results that are there with other content; the stored ones stay.
        unreadable: Messages about files and lines that were left out.
    """

    database: str
    created: int
    known: int
    alarms: int
    conflicts: tuple[ImportConflict, ...]
    unreadable: tuple[str, ...]


def import_paths(
    database: Database, paths: Sequence[Path], progress: Progress, *, now: float, console: Console | None = None
) -> ExitCode:
    """Import folders, result files and files with a result on each line, and say what became of them.

    Args:
        database: Where to store them.
        paths: What to import.
        progress: Shows how far it is, and the outcome.
        now: Unix seconds.
        console: Where to print the outcome as JSON; None says it in words.

    Raises:
        UsageError: There is nothing at a path, or its kind holds no whole results.
        EnvironmentProblem: The database cannot be written.
    """
    for path in paths:
        _reject_others(path)
    outcome = FolderImport()
    for path in paths:
        if path.suffix.lower() in _LINES and path.is_file():
            part = import_lines(database, path, now=now)
        else:
            part = import_folder(database, path, progress=progress, now=now)
        _add(outcome, part)
    if outcome.created:
        database.optimize()
    if console is not None:
        print_document(_document(database, outcome), console)
    else:
        _say(database, outcome, progress)
    return ExitCode.ENVIRONMENT if outcome.unreadable or outcome.conflicts else ExitCode.OK


def import_lines(database: Database, file: Path, *, now: float) -> FolderImport:
    """Store the canonical result on each line of a file, as `harness store export` writes it.

    Raises:
        EnvironmentProblem: The file cannot be read, or the database cannot be written.
    """
    outcome = FolderImport()
    importer = ResultImporter(database, now, outcome)
    try:
        with file.open("rb") as content:
            number = 0
            while line := content.readline(RESULT_BYTES):
                number += 1
                if line.strip():
                    _import_line(importer, line, f"{file}:{number}", outcome)
    except OSError as error:
        raise EnvironmentProblem(f"cannot read {file}: {error.strerror or error}") from error
    importer.flush()
    return outcome


def _import_line(importer: ResultImporter, line: bytes, place: str, outcome: FolderImport) -> None:
    try:
        result = Result.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole line"
        outcome.unreadable.append(
            EnvironmentProblem(f"{place} is not a result that this version understands: {where}: {first['msg']}")
        )
    else:
        importer.add(result, place, size_bytes=len(line))


def _reject_others(path: Path) -> None:
    """Reject what cannot be imported.

    Raises:
        UsageError: There is nothing at the path, or its kind holds no whole results.
    """
    suffix = path.suffix.lower()
    if not path.exists():
        raise UsageError(
            f"there is no file or folder {path}", hint="name a result.json, a folder of results or a .jsonl"
        )
    if path.is_dir():
        return
    if suffix in _TABLES:
        raise UsageError(
            f"{path} is a table, which has no whole results",
            hint="import the folder of results that it came from, or a .jsonl of `harness store export`",
        )
    if suffix in _ARCHIVES:
        raise UsageError(f"{path} is an archive", hint="unpack it first, and import what was in it")


def _add(outcome: FolderImport, part: FolderImport) -> None:
    outcome.created += part.created
    outcome.known += part.known
    outcome.alarms += part.alarms
    outcome.conflicts += part.conflicts
    outcome.unreadable += part.unreadable


def _say(database: Database, outcome: FolderImport, progress: Progress) -> None:
    problems = [
        *(problem.message for problem in outcome.unreadable),
        *(
            f"{conflict.place}: the database has another result with the identifier {conflict.uid}; it stays"
            for conflict in outcome.conflicts
        ),
    ]
    for problem in problems[:_SHOWN]:
        progress.warn(f"✗ {problem}")
    if len(problems) > _SHOWN:
        progress.warn(f"✗ and {len(problems) - _SHOWN} more; --json names all")
    counts = {
        "new": outcome.created,
        "known": outcome.known,
        "in conflict": len(outcome.conflicts),
        "damaged": len(outcome.unreadable),
    }
    parts = [f"{count} {word}" for word, count in counts.items() if count or word in {"new", "known"}]
    parts += [f"{outcome.alarms} report{'' if outcome.alarms == 1 else 's'} of alarms"] * bool(outcome.alarms)
    progress.say(f"{', '.join(parts)}: {database.place}")


def _document(database: Database, outcome: FolderImport) -> ImportDocument:
    return ImportDocument(
        database=database.place,
        created=outcome.created,
        known=outcome.known,
        alarms=outcome.alarms,
        conflicts=tuple(ImportConflict(uid=each.uid, place=each.place) for each in outcome.conflicts),
        unreadable=tuple(problem.message for problem in outcome.unreadable),
    )
