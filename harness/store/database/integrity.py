"""Check of a database: each result against its digest, each file against its content, and what the database says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from sqlalchemy import exists, func, select, text

from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Progress
from harness.core.result import SCHEMA_VERSION
from harness.store.canonical_json import to_json_line
from harness.store.database.engine import Database
from harness.store.database.tables import ARTIFACTS, CELLS, METRICS, RESULTS, SAMPLES
from harness.store.database.writing import load_stored

_DIGEST_CHARACTERS = 64


@dataclass(slots=True)
class IntegrityReport:
    """Findings of a check.

    Attributes:
        results: Results that were read.
        without_samples: How many of them have had their samples removed.
        other_versions: How many were stored by a harness with another schema, and can be read, but not compared.
        files: Files that were read.
        problems: What is wrong, in words.
        orphans: Files that belong to no result.
    """

    results: int = 0
    without_samples: int = 0
    other_versions: int = 0
    files: int = 0
    problems: list[str] = field(default_factory=list)
    orphans: int = 0


def check_database(database: Database, progress: Progress) -> IntegrityReport:
    """Read everything, and compare it with its digests. Changes nothing.

    Raises:
        EnvironmentProblem: The database cannot be read.
    """
    report = IntegrityReport()
    report.problems += _check_structure(database)
    _check_results(database, report, progress)
    _check_files(database, report, progress)
    return report


def _check_structure(database: Database) -> Iterator[str]:
    counted = select(func.count()).where(RESULTS.c.cell_id == CELLS.c.id).scalar_subquery()
    with database.read() as connection:
        if database.dialect == "sqlite":
            for (line,) in connection.execute(text("PRAGMA integrity_check")):
                if line != "ok":
                    yield f"SQLite: {line}"
            for row in connection.execute(text("PRAGMA foreign_key_check")):
                yield f"SQLite: a row of {row[0]} names one of {row[2]} that is not there"
        for key, known, count in connection.execute(
            select(CELLS.c.key, CELLS.c.results, counted).where(CELLS.c.results != counted)
        ):
            yield f"the cell {key} counts {known} results, and has {count}"


def _check_results(database: Database, report: IntegrityReport, progress: Progress) -> None:
    with database.read() as connection:
        has_samples = exists().where((METRICS.c.result_id == RESULTS.c.id) & (SAMPLES.c.metric_id == METRICS.c.id))
        query = select(RESULTS.c.uid, RESULTS.c.content, has_samples.label("sampled")).order_by(RESULTS.c.id)
        rows = connection.execute(query).all()
    with progress.task("checking results", total=len(rows)) as task:
        for uid, content, sampled in rows:
            report.results += 1
            _check_result(database, uid, content, report, sampled=sampled)
            task.update(completed=report.results)


def _check_result(database: Database, uid: str, content: str, report: IntegrityReport, *, sampled: bool) -> None:
    try:
        result = load_stored(database, uid)
    except EnvironmentProblem as problem:
        report.problems.append(problem.message)
        return
    if result is None or sha256(to_json_line(result).encode()).hexdigest() == content:
        return
    if not sampled:
        report.without_samples += 1
    elif result.schema_version != SCHEMA_VERSION:
        report.other_versions += 1
    else:
        report.problems.append(f"the result {uid} is not what was stored: its digest is another")


def _check_files(database: Database, report: IntegrityReport, progress: Progress) -> None:
    with database.read() as connection:
        digests = connection.execute(select(ARTIFACTS.c.digest).order_by(ARTIFACTS.c.digest)).scalars().all()
    with progress.task("checking files", total=len(digests)) as task:
        for digest in digests:
            report.files += 1
            report.problems += _check_file(database.artifacts.locate(digest), digest)
            task.update(completed=report.files)
    known = set(digests)
    report.orphans = sum(digest not in known for digest in _list_digests(database.artifacts.path))


def _check_file(file: Path, digest: str) -> Iterator[str]:
    computed = sha256()
    try:
        with file.open("rb") as content:
            while chunk := content.read(1 << 20):
                computed.update(chunk)
    except OSError as error:
        yield f"the file {file} of a result cannot be read: {error.strerror or error}"
        return
    if computed.hexdigest() != digest:
        yield f"the file {file} is not what was stored: its digest is another"


def _list_digests(folder: Path) -> Iterator[str]:
    """Yield the digests that files in the folder are named by."""
    for file in folder.glob("??/*"):
        name = file.parent.name + file.name
        if len(name) == _DIGEST_CHARACTERS and file.is_file():
            yield name
