"""SQLite file of a state: opened with checks, changed in transactions, its errors translated.

WAL, so that `harness status` reads while a watcher writes; `synchronous=FULL`, so that what was recorded survives a
power failure too (https://www.sqlite.org/pragma.html#pragma_synchronous).
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from pydantic import BaseModel, ValidationError

from harness.core.errors import EnvironmentProblem, UsageError

VERSION: Final = 5
"""Version of the schema; in the file as `user_version`. `harness.watch.store.migration` brings older files to it."""
APPLICATION: Final = 0x68_77_61_74
"""`hwat`: marks our files (https://www.sqlite.org/pragma.html#pragma_application_id)."""
_BUSY_S: Final = 30.0

ColumnValue = str | int | float | None
AnyModel = TypeVar("AnyModel", bound=BaseModel)

_SCHEMA: Final = """
CREATE TABLE facts (kind TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE events (number INTEGER PRIMARY KEY, time REAL NOT NULL, text TEXT NOT NULL) STRICT;
CREATE TABLE commits (
  position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, source TEXT NOT NULL, time INTEGER, author TEXT NOT NULL,
  subject TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', control TEXT, started REAL,
  finished REAL, attempts INTEGER NOT NULL DEFAULT 0, rounds INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX commits_by_status ON commits (status, position);
CREATE TABLE points (
  number INTEGER PRIMARY KEY, commit_id TEXT NOT NULL REFERENCES commits (id), round INTEGER NOT NULL,
  benchmark TEXT NOT NULL, title TEXT NOT NULL, device TEXT NOT NULL, control TEXT NOT NULL, metric TEXT NOT NULL,
  unit TEXT NOT NULL, direction TEXT NOT NULL, verdict TEXT NOT NULL, log_ratio REAL, low_log_ratio REAL,
  high_log_ratio REAL, standard_error REAL, pairs INTEGER NOT NULL, result TEXT NOT NULL,
  figures TEXT NOT NULL DEFAULT '[]', outputs TEXT, last_good_checks TEXT NOT NULL DEFAULT '{}',
  doubt TEXT NOT NULL DEFAULT '',
  UNIQUE (commit_id, round, benchmark, device, metric)
) STRICT;
CREATE INDEX points_by_series ON points (benchmark, device, metric);
CREATE TABLE judgements (
  benchmark TEXT NOT NULL, device TEXT NOT NULL, metric TEXT NOT NULL, number INTEGER NOT NULL, progress TEXT NOT NULL,
  PRIMARY KEY (benchmark, device, metric)
) STRICT;
CREATE TABLE alarms (
  identity TEXT PRIMARY KEY, stage TEXT NOT NULL, opened REAL NOT NULL, alarm TEXT NOT NULL
) STRICT;
CREATE TABLE searches (identity TEXT PRIMARY KEY REFERENCES alarms (identity), progress TEXT NOT NULL) STRICT;
CREATE TABLE deliveries (
  number INTEGER PRIMARY KEY, key TEXT NOT NULL, channel TEXT NOT NULL, identity TEXT NOT NULL, status TEXT NOT NULL,
  delivery TEXT NOT NULL, UNIQUE (key, channel)
) STRICT;
CREATE INDEX deliveries_by_status ON deliveries (status, number);
"""


class StateFull(EnvironmentProblem):
    """The disk is full. Nothing was changed; the same can be tried again."""


def describe_invalid(error: ValidationError) -> str:
    """Describe the first error of a stored value on one line."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"a stored {error.title.lstrip('_')} has no valid {place or 'content'}: {first['msg']}"


def is_current(path: Path) -> bool:
    """Return whether a file has the present version of the schema. It is read as it is, and not changed.

    Raises:
        EnvironmentProblem: It cannot be read.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            return bool(connection.execute("PRAGMA user_version").fetchone()[0] == VERSION)
    except sqlite3.Error as error:
        raise EnvironmentProblem(f"cannot read the state {path}: {error}", hint="is it a file of ours?") from error


class StateDatabase:
    """An open state file. Used by one thread.

    Args:
        path: The file.
        readonly: Only read the file, which must be there. Otherwise it is made when needed.

    Raises:
        UsageError: There is no such file to look at.
        EnvironmentProblem: It is damaged, something else, of a newer harness, or of an older one that cannot be read.
    """

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self.path = path
        if readonly and not path.is_file():
            raise UsageError(f"there is no state {path}", hint="`harness watch` makes it; name the same file")
        try:
            if not readonly:
                path.parent.mkdir(parents=True, exist_ok=True)
            mode = "ro" if readonly else "rwc"
            address = f"{path.resolve().as_uri()}?mode={mode}"
            self._connection = sqlite3.connect(address, uri=True, timeout=_BUSY_S, isolation_level=None)
        except (sqlite3.Error, OSError) as error:
            raise EnvironmentProblem(f"cannot open the state {path}: {error}", hint="is its folder yours?") from error
        try:
            self._check()
            if not readonly:
                self._prepare()
            elif 0 < self.version() < VERSION:
                self._migrate_copy()
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. What was not in a finished transaction was never there."""
        self._connection.close()

    def rows(self, query: str, *values: ColumnValue) -> Sequence[Sequence[ColumnValue]]:
        """Return the rows of a query.

        Raises:
            EnvironmentProblem: The file cannot be read.
        """
        with self._translated_errors():
            return self._connection.execute(query, values).fetchall()

    def change(self, statement: str, *values: ColumnValue) -> int:
        """Execute a statement that changes something: a transaction of its own, or a part of the one that is open.

        Returns:
            How many rows were changed.

        Raises:
            StateFull: There is no room.
            EnvironmentProblem: The file cannot be written.
        """
        with self._translated_errors():
            return self._connection.execute(statement, values).rowcount

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all changes of the context, or none.

        Raises:
            StateFull: There is no room.
            EnvironmentProblem: The file cannot be written.
        """
        self.change("BEGIN IMMEDIATE")
        try:
            yield
            self.change("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _check(self) -> None:
        """Refuse a file that is not ours, is newer, or is damaged."""
        application, tables = (
            self.rows(query)[0][0] for query in ("PRAGMA application_id", "SELECT count(*) FROM sqlite_schema")
        )
        if tables and application != APPLICATION:
            raise UsageError(f"{self.path} is a database of something else", hint="name another file for the state")
        if (version := self.version()) > VERSION:
            raise EnvironmentProblem(
                f"the state {self.path} has schema version {version}; this harness knows up to {VERSION}",
                hint="use the newer harness that wrote it, or another file for the state",
            )
        if (problem := self.rows("PRAGMA quick_check(1)")[0][0]) != "ok":
            raise self.damaged(str(problem))

    def _prepare(self) -> None:
        self.rows("PRAGMA journal_mode = WAL")
        self.rows("PRAGMA synchronous = FULL")
        self.rows("PRAGMA foreign_keys = ON")
        with self.transaction():
            if (version := self.version()) == VERSION:
                return
            if version:
                self._migrate()
                return
            self.create_schema()
            self.change(f"PRAGMA application_id = {APPLICATION}")

    def create_schema(self) -> None:
        """Create all tables of the present version."""
        for statement in filter(str.strip, _SCHEMA.split(";")):
            self.change(statement)
        self.change(f"PRAGMA user_version = {VERSION}")

    def _migrate(self) -> None:
        from harness.watch.store.migration import migrate  # noqa: PLC0415 - needed once in the life of a file

        migrate(self)

    def _migrate_copy(self) -> None:
        """Read a file of an older version through a copy in memory: it stays as it is."""
        copy = sqlite3.connect(":memory:", isolation_level=None)
        with self._translated_errors():
            self._connection.backup(copy)
        self._connection.close()
        self._connection = copy
        with self.transaction():
            self._migrate()

    def version(self) -> int:
        """Return the version of the schema of the file; 0 where it is empty."""
        return int(str(self.rows("PRAGMA user_version")[0][0]))

    def parse(self, model: type[AnyModel], cell: ColumnValue) -> AnyModel:
        """Validate a stored JSON document.

        Raises:
            EnvironmentProblem: It is no such document.
        """
        try:
            return model.model_validate_json(str(cell))
        except ValidationError as error:
            raise self._unreadable(error) from error

    def validate(self, model: type[AnyModel], fields: Mapping[str, object]) -> AnyModel:
        """Validate the columns of a row.

        Raises:
            EnvironmentProblem: They make no such value.
        """
        try:
            return model.model_validate(fields)
        except ValidationError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: ValidationError) -> EnvironmentProblem:
        return self.damaged(describe_invalid(error))

    @contextlib.contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
                raise StateFull(f"no room for the state {self.path}", hint="make room on its disk") from error
            raise EnvironmentProblem(f"the state {self.path}: {error}", hint="see disk and permissions") from error
        except sqlite3.DatabaseError as error:
            raise self.damaged(str(error)) from error

    def damaged(self, problem: str) -> EnvironmentProblem:
        """Return the error that says what is wrong with the file, and how to begin again without it."""
        return EnvironmentProblem(
            f"the state {self.path} is damaged: {problem}",
            hint=f"move it away (`mv {self.path} {self.path}.damaged`, and -wal and -shm beside it); results are not in"
            " it. Begin again after the last good commit with --commit-file or --commit",
        )
