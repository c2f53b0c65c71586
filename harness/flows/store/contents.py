"""`harness store info`, `check` and `prune`: what is in a database, whether it is whole, and what is removed."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from sqlalchemy import Connection, Table, func, select, text

from harness.core.errors import ExitCode
from harness.core.protocols import Progress
from harness.display.documents import print_document
from harness.display.tables import draw_rows, print_output
from harness.presentation.documents import Document
from harness.presentation.numbers import format_quantity
from harness.presentation.times import format_time
from harness.store.database import schema
from harness.store.database.engine import Database
from harness.store.database.integrity import check_database
from harness.store.database.retention import Removal, RetentionRule, plan_removal, remove
from harness.store.database.tables import (
    ALARMS,
    ARTIFACTS,
    BENCHMARKS,
    CELLS,
    COMMITS,
    CONTRASTS,
    DEVICES,
    METRICS,
    RESULTS,
    SAMPLES,
    TOKENS,
)

_SHOWN = 20
"""Problems that are named one by one."""


class StoreDocument(Document):
    """`harness store --json`: what is in a database.

    Attributes:
        database: Where it is, without a password.
        kind: `sqlite` or `postgresql`.
        schema_of_database: Version of its tables.
        results: Number of results.
        outcomes: Number of results by outcome.
        comparisons: Number of results with a control.
        metrics: Number of metrics of all results.
        samples: Number of samples of all metrics.
        benchmarks: Number of benchmarks.
        devices: Number of devices.
        cells: Number of benchmarks on devices that have results.
        commits: Number of commits.
        alarms: Number of alarms.
        tokens: Number of tokens of the server.
        first: Start of the oldest measurement, Unix seconds; null in an empty database.
        last: Start of the newest.
        database_bytes: Size of the database.
        results_bytes: Size that the results have as canonical JSON.
        artifacts: Number of files that belong to results.
        artifacts_bytes: Their size.
        artifacts_folder: Where they are.
    """

    database: str
    kind: str
    schema_of_database: str
    results: int
    outcomes: dict[str, int]
    comparisons: int
    metrics: int
    samples: int
    benchmarks: int
    devices: int
    cells: int
    commits: int
    alarms: int
    tokens: int
    first: float | None
    last: float | None
    database_bytes: int
    results_bytes: int
    artifacts: int
    artifacts_bytes: int
    artifacts_folder: str


class CheckDocument(Document):
    """`harness store check --json`.

    Attributes:
        database: Where it is.
        results: Results that were read.
        without_samples: How many of them have had their samples removed.
        other_versions: How many were stored in another version of the format: they can be read, and not compared.
        files: Files that were read.
        orphans: Files that belong to no result; `prune` removes those that the database knows.
        problems: What is wrong, in words.
    """

    database: str
    results: int
    without_samples: int
    other_versions: int
    files: int
    orphans: int
    problems: tuple[str, ...]


class PruneDocument(Document):
    """`harness store prune --json`.

    Attributes:
        database: Where it is.
        kind: What is removed: `results`, `logs` or `samples`.
        removed: Whether it was removed; false for a plan.
        results: Identifiers of the results that it is about, oldest first.
        protected: Results that stay because their cell has an open alarm.
        files: Files that belonged to no result any more, and were removed.
        file_bytes: Their size.
    """

    database: str
    kind: str
    removed: bool
    results: tuple[str, ...]
    protected: int
    files: int
    file_bytes: int


def show_info(database: Database, console: Console, *, as_json: bool) -> ExitCode:
    """Show what is in a database.

    Raises:
        EnvironmentProblem: It cannot be read.
    """
    document = describe_contents(database)
    if as_json:
        print_document(document, console)
        return ExitCode.OK
    print_output(draw_rows((), _rows(document)), console)
    return ExitCode.OK


def describe_contents(database: Database) -> StoreDocument:
    """Return what is in a database.

    Raises:
        EnvironmentProblem: It cannot be read.
    """
    with database.read() as connection:

        def count(table: Table) -> int:
            return connection.execute(select(func.count()).select_from(table)).scalar_one()

        by_outcome = select(RESULTS.c.outcome, func.count()).group_by(RESULTS.c.outcome).order_by(RESULTS.c.outcome)
        outcomes = {row[0]: int(row[1]) for row in connection.execute(by_outcome)}
        size = select(func.coalesce(func.sum(RESULTS.c.size_bytes), 0), func.min(RESULTS.c.started))
        results_bytes, first, last = connection.execute(size.add_columns(func.max(RESULTS.c.started))).one()
        samples = connection.execute(select(func.coalesce(func.sum(SAMPLES.c.count), 0))).scalar_one()
        files_bytes = connection.execute(select(func.coalesce(func.sum(ARTIFACTS.c.size_bytes), 0))).scalar_one()
        return StoreDocument(
            database=database.place,
            kind=database.dialect,
            schema_of_database=str(schema.VERSION),
            results=sum(outcomes.values()),
            outcomes=outcomes,
            comparisons=count(CONTRASTS),
            metrics=count(METRICS),
            samples=int(samples),
            benchmarks=count(BENCHMARKS),
            devices=count(DEVICES),
            cells=count(CELLS),
            commits=count(COMMITS),
            alarms=count(ALARMS),
            tokens=count(TOKENS),
            first=first,
            last=last,
            database_bytes=_measure_size(database, connection),
            results_bytes=int(results_bytes),
            artifacts=count(ARTIFACTS),
            artifacts_bytes=int(files_bytes),
            artifacts_folder=str(database.artifacts.path),
        )


def check(database: Database, progress: Progress, console: Console | None) -> ExitCode:
    """Check a database; what is wrong is a problem of the environment.

    Args:
        database: The database.
        progress: Shows how far it is, and the findings.
        console: Where to print them as JSON; None says them in words.

    Raises:
        EnvironmentProblem: It cannot be read.
    """
    report = check_database(database, progress)
    if console is not None:
        print_document(
            CheckDocument(
                database=database.place,
                results=report.results,
                without_samples=report.without_samples,
                other_versions=report.other_versions,
                files=report.files,
                orphans=report.orphans,
                problems=tuple(report.problems),
            ),
            console,
        )
    else:
        for problem in report.problems[:_SHOWN]:
            progress.warn(f"✗ {problem}")
        if len(report.problems) > _SHOWN:
            progress.warn(f"✗ and {len(report.problems) - _SHOWN} more; --json names all")
        remarks = [f"{_count(report.results, 'result')} and {_count(report.files, 'file')} read"]
        remarks += [f"{report.without_samples} without samples"] * bool(report.without_samples)
        remarks += [f"{report.other_versions} of another version, which are not compared"] * bool(report.other_versions)
        remarks += [f"{_count(report.orphans, 'file')} of no result"] * bool(report.orphans)
        verdict = _count(len(report.problems), "problem") if report.problems else "no problems"
        progress.say(f"{verdict}: {', '.join(remarks)}")
    return ExitCode.ENVIRONMENT if report.problems else ExitCode.OK


def prune(
    database: Database,
    rule: RetentionRule,
    progress: Progress,
    console: Console | None,
    *,
    execute: bool,
    vacuum: bool,
) -> ExitCode:
    """Remove what a rule says, or show what it would remove.

    Args:
        database: The database.
        rule: The rule.
        progress: Shows the outcome.
        console: Where to print it as JSON; None says it in words.
        execute: Whether to remove it.
        vacuum: Whether to give the room back to the disk afterwards.

    Raises:
        EnvironmentProblem: The database cannot be written.
    """
    removal = remove(database, rule) if execute else plan_removal(database, rule)
    if execute and vacuum:
        with progress.task("giving room back to the disk"):
            database.vacuum()
    if console is not None:
        print_document(
            PruneDocument(
                database=database.place,
                kind=rule.kind.value,
                removed=execute,
                results=removal.uids,
                protected=removal.protected,
                files=removal.files,
                file_bytes=removal.file_bytes,
            ),
            console,
        )
        return ExitCode.OK
    for line in _describe_removal(rule, removal, execute=execute):
        progress.say(line)
    return ExitCode.OK


def _describe_removal(rule: RetentionRule, removal: Removal, *, execute: bool) -> list[str]:
    whose = "" if rule.kind.value == "results" else f"{rule.kind.value} of "
    before = f"{format_time(rule.before) or 'any year'} UTC"
    what = f"{whose}{_count(len(removal.uids), 'result')} from before {before}"
    lines = [f"removed: {what}" if execute else f"would remove: {what}; --yes removes"]
    if removal.protected:
        lines.append(f"kept: {_count(removal.protected, 'result')} of cells with an open alarm")
    if removal.files:
        size = format_quantity(removal.file_bytes, "bytes")
        lines.append(f"removed: {_count(removal.files, 'file')} that belonged to no result any more, {size}")
    return lines


def _rows(document: StoreDocument) -> list[tuple[str, str]]:
    outcomes = ", ".join(f"{number} {outcome.replace('_', ' ')}" for outcome, number in document.outcomes.items())
    results = f"{document.results:,}" + (f" ({outcomes})" if document.results else "")
    rows = [
        ("database", document.database),
        ("schema", document.schema_of_database),
        ("results", results),
        ("comparisons", f"{document.comparisons:,}"),
        ("metrics", f"{document.metrics:,} with {document.samples:,} samples"),
        (
            "cells",
            f"{document.cells:,}: {_count(document.benchmarks, 'benchmark')}, {_count(document.devices, 'device')}",
        ),
        ("commits", f"{document.commits:,}"),
        ("alarms", f"{document.alarms:,}"),
        ("size", f"{_size(document.database_bytes)}; the results as JSON: {_size(document.results_bytes)}"),
        ("files", f"{document.artifacts:,}, {_size(document.artifacts_bytes)}: {document.artifacts_folder}"),
    ]
    if document.first is not None and document.last is not None:
        first, last = (format_time(time) or "unknown" for time in (document.first, document.last))
        rows.insert(3, ("measured (UTC)", f"{first} to {last}"))
    return rows


def _measure_size(database: Database, connection: Connection) -> int:
    if database.dialect == "postgresql":
        return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
    files = (Path(f"{database.place}{ending}") for ending in ("", "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _size(number: int) -> str:
    return format_quantity(number, "bytes")
