"""The SQLite file below a state: opened with care, changed in transactions, its errors said in words.

WAL, so that `harness status` reads while a watcher writes; `synchronous=FULL`, so that what was said to be recorded
survives a power failure too (https://www.sqlite.org/pragma.html#pragma_synchronous).
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from harness.core.errors import EnvironmentProblem, UsageError

VERSION: Final = 1
"""Of the schema; in the file as `user_version`."""
APPLICATION: Final = 0x68_77_61_74
"""`hwat`: tells our files from others (https://www.sqlite.org/pragma.html#pragma_application_id)."""
_BUSY_S: Final = 30.0

Cell = str | int | float | None

_SCHEMA: Final = """
CREATE TABLE notebook (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE happenings (number INTEGER PRIMARY KEY, time REAL NOT NULL, text TEXT NOT NULL) STRICT;
CREATE TABLE commits (
  position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, source TEXT NOT NULL, time INTEGER, author TEXT NOT NULL,
  subject TEXT NOT NULL, progress TEXT NOT NULL, why TEXT NOT NULL DEFAULT '', control TEXT, started REAL,
  finished REAL, attempts INTEGER NOT NULL DEFAULT 0, rounds INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX commits_by_progress ON commits (progress, position);
CREATE TABLE points (
  number INTEGER PRIMARY KEY, commit_id TEXT NOT NULL REFERENCES commits (id), round INTEGER NOT NULL,
  benchmark TEXT NOT NULL, title TEXT NOT NULL, device TEXT NOT NULL, control TEXT NOT NULL, metric TEXT NOT NULL,
  higher_is_better INTEGER NOT NULL, verdict TEXT NOT NULL, log_ratio REAL, low REAL, high REAL, error REAL,
  pairs INTEGER NOT NULL, result TEXT NOT NULL, UNIQUE (commit_id, round, benchmark, device, metric)
) STRICT;
CREATE INDEX points_by_series ON points (benchmark, device, metric);
CREATE TABLE alarms (
  identity TEXT PRIMARY KEY, stage TEXT NOT NULL, opened REAL NOT NULL, alarm TEXT NOT NULL
) STRICT;
CREATE TABLE searches (identity TEXT PRIMARY KEY REFERENCES alarms (identity), progress TEXT NOT NULL) STRICT;
CREATE TABLE letters (
  number INTEGER PRIMARY KEY, key TEXT NOT NULL, courier TEXT NOT NULL, identity TEXT NOT NULL, fate TEXT NOT NULL,
  letter TEXT NOT NULL, UNIQUE (key, courier)
) STRICT;
CREATE INDEX letters_by_fate ON letters (fate, number);
"""


class StateFull(EnvironmentProblem):
    """There is no room for the state to grow. Nothing was changed; the same can be tried again."""


class Database:
    """An open state file. Used by one thread.

    Args:
        path: The file.
        readonly: Only look; the file must be there. Otherwise it is made when needed.

    Raises:
        UsageError: There is no such file to look at.
        EnvironmentProblem: It is damaged, something else, or of a newer harness.
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
        """Let the file go. What was not in a finished transaction was never there."""
        self._connection.close()

    def rows(self, query: str, *values: Cell) -> Sequence[Sequence[Cell]]:
        """What a query finds.

        Raises:
            EnvironmentProblem: The file cannot be read.
        """
        with self._told():
            return self._connection.execute(query, values).fetchall()

    def change(self, statement: str, *values: Cell) -> int:
        """Change something: a transaction of its own, or a part of the one that is open.

        Returns:
            How many rows were changed.

        Raises:
            StateFull: There is no room.
            EnvironmentProblem: The file cannot be written.
        """
        with self._told():
            return self._connection.execute(statement, values).rowcount

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes of the context, or none.

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
        """Refuse what is not ours, is newer, or is damaged."""
        application, version, tables = (
            self.rows(query)[0][0]
            for query in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_schema")
        )
        if tables and application != APPLICATION:
            raise UsageError(f"{self.path} is a database of something else", hint="name another file for the state")
        if isinstance(version, int) and version > VERSION:
            raise EnvironmentProblem(
                f"the state {self.path} has schema version {version}; this harness knows up to {VERSION}",
                hint="use the newer harness that wrote it, or another file for the state",
            )
        if (found := self.rows("PRAGMA quick_check(1)")[0][0]) != "ok":
            raise self._damaged(str(found))

    def _prepare(self) -> None:
        self.rows("PRAGMA journal_mode = WAL")
        self.rows("PRAGMA synchronous = FULL")
        self.rows("PRAGMA foreign_keys = ON")
        with self.transaction():
            if self.rows("PRAGMA user_version")[0][0] == VERSION:
                return
            for statement in filter(str.strip, _SCHEMA.split(";")):
                self.change(statement)
            self.change(f"PRAGMA application_id = {APPLICATION}")
            self.change(f"PRAGMA user_version = {VERSION}")

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
                raise StateFull(f"no room for the state {self.path}", hint="make room on its disk") from error
            raise EnvironmentProblem(f"the state {self.path}: {error}", hint="see disk and permissions") from error
        except sqlite3.DatabaseError as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, found: str) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"the state {self.path} is damaged: {found}",
            hint=f"move it away (`mv {self.path} {self.path}.damaged`, and -wal and -shm beside it); results are not in"
            " it. Begin again after the last good commit with --commit_file or --commit",
        )
