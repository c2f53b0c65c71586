"""Errors of databases in the words of this project: what happened to which database, and what to do."""

from __future__ import annotations

import sqlite3
from typing import Final

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from harness.core.errors import EnvironmentProblem

_UNCHANGED: Final = "; nothing of this was stored"

_SQLITE: Final = (
    ("SQLITE_BUSY", "is locked by another process", "wait until that has finished, or end it; then try again"),
    ("SQLITE_LOCKED", "is locked by another process", "wait until that has finished, or end it; then try again"),
    ("SQLITE_FULL", "has no room to grow", "free space on its disk, or raise its limit; then try again"),
    ("SQLITE_READONLY", "cannot be written", "check the permissions of the file and of its folder"),
    ("SQLITE_CANTOPEN", "cannot be opened", "check that its folder exists and that you may write into it"),
    ("SQLITE_PERM", "cannot be opened", "check the permissions of the file and of its folder"),
    ("SQLITE_NOTADB", "is not a database", "name another file, or move this one away"),
    ("SQLITE_CORRUPT", "is damaged", "restore a copy; or make a new one and import the stored results again"),
    ("SQLITE_IOERR", "cannot be read or written", "check its disk, and the space on it"),
    ("SQLITE_TOOBIG", "cannot hold a value this large", "results are limited to 1 GB each"),
)

_POSTGRESQL: Final = (
    ("55P03", "is locked by another process", "wait until that has finished, or end it; then try again"),
    ("57014", "took too long to answer", "try again"),
    ("53100", "has no room to grow", "free space on the disk of its server; then try again"),
    ("53", "has not enough resources", "ask whoever keeps its server"),
    ("25006", "cannot be written", "this server is a read-only copy: name the one that is written"),
    ("42501", "refuses this user", "grant the user the right to create and change tables in it"),
    ("28", "refuses this user", "check user and password in the address, or PGPASSWORD and ~/.pgpass"),
    ("3D000", "does not exist", "create it: createdb NAME"),
    ("XX001", "is damaged", "restore a copy; or make a new one and import the stored results again"),
    ("XX002", "is damaged", "restore a copy; or make a new one and import the stored results again"),
)


def explain_fault(error: SQLAlchemyError, place: str, *, writes: bool = True) -> EnvironmentProblem:
    """Return an error of a database as the problem that a person can solve.

    Args:
        error: Error of the library.
        place: Where the database is, without a password.
        writes: Whether something was to be stored.
    """
    unchanged = _UNCHANGED if writes else ""
    if isinstance(error, PoolTimeoutError):
        return EnvironmentProblem(f"the database {place} has no free connection", hint="try again later")
    cause = error.orig if isinstance(error, DBAPIError) else None
    if isinstance(cause, sqlite3.Error):
        return explain_sqlite_fault(cause, place, writes=writes)
    state = getattr(cause, "sqlstate", None)
    for code, what, hint in _POSTGRESQL:
        if state is not None and str(state).startswith(code):
            return EnvironmentProblem(f"the database {place} {what}{unchanged}", hint=hint)
    is_lost = isinstance(error, DBAPIError) and (error.connection_invalidated or state is None)
    if is_lost or str(state).startswith(("08", "57")):
        return EnvironmentProblem(
            f"the database {place} does not answer: {_first_line(cause or error)}",
            hint="check that its server runs and that the address is right; then try again",
        )
    return EnvironmentProblem(f"the database {place} reports: {_first_line(cause or error)}")


def explain_sqlite_fault(cause: sqlite3.Error, place: str, *, writes: bool = True) -> EnvironmentProblem:
    """Return an error of SQLite itself as the problem that a person can solve."""
    name = getattr(cause, "sqlite_errorname", None) or ""
    for code, what, hint in _SQLITE:
        if name.startswith(code):
            message = f"the database {place} {what}: {_first_line(cause)}{_UNCHANGED if writes else ''}"
            return EnvironmentProblem(message, hint=hint)
    return EnvironmentProblem(f"the database {place} reports: {_first_line(cause)}")


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
