"""Opening a database of results: a file of SQLite, or PostgreSQL by its address."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from platformdirs import user_data_dir
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from harness.config.settings import APP
from harness.core.errors import EnvironmentProblem, UsageError
from harness.files.installation import install_command
from harness.store.database import schema
from harness.store.database.artifact_files import ArtifactFolder
from harness.store.database.faults import explain_fault, explain_sqlite_fault
from harness.store.tree import encode_segment

PATIENCE_S: Final = 60.0
"""How long a writer waits for those of other processes."""

_PAUSE_S: Final = 0.05
_WRITES: Final = "harness_writes"
_BARE: Final = "harness_bare"
"""Option of a connection of SQLite that begins no transaction, as `VACUUM` wants it."""
_WRITERS: Final = 0x6861726E657373
"""Advisory lock of PostgreSQL that writers hold until their transaction ends ("harness" in ASCII)."""


class Database:
    """Database of results; several threads may use it at once.

    Attributes:
        place: Where it is, for messages: without a password.
        artifacts: Files that belong to results.
    """

    def __init__(self, engine: Engine, place: str, artifacts: ArtifactFolder) -> None:
        self.place = place
        self.artifacts = artifacts
        self._engine = engine
        self._writing = threading.Lock()

    @property
    def dialect(self) -> str:
        """Return `sqlite` or `postgresql`."""
        return self._engine.dialect.name

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection whose queries all see the database as it is at the first of them.

        Raises:
            EnvironmentProblem: The database cannot be read.
        """
        try:
            with self._engine.connect() as connection, connection.begin():
                if self.dialect == "postgresql":
                    connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"))
                yield connection
        except SQLAlchemyError as error:
            raise explain_fault(error, self.place, writes=False) from error

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Give a connection in a transaction, which ends well or is rolled back; no other writes meanwhile.

        Raises:
            EnvironmentProblem: The database cannot be written, or was locked for too long; then nothing was changed.
        """
        try:
            with self._writing, self._engine.connect() as plain:
                connection = plain.execution_options(**{_WRITES: True})
                with connection.begin():
                    if self.dialect == "postgresql":
                        connection.execute(text(f"SELECT pg_advisory_xact_lock({_WRITERS})"))
                    yield connection
        except SQLAlchemyError as error:
            raise explain_fault(error, self.place) from error

    def optimize(self) -> None:
        """Let the database look at its rows, so that it chooses the right indexes; after much was stored."""
        with self.write() as connection:
            connection.execute(text("ANALYZE"))

    def vacuum(self) -> None:
        """Give the room of what was removed back to the disk. SQLite needs as much again meanwhile, and locks out all.

        Raises:
            EnvironmentProblem: There is no room for it, or somebody else uses the database.
        """
        options = {"isolation_level": "AUTOCOMMIT"} if self.dialect == "postgresql" else {_BARE: True}
        try:
            with self._writing, self._engine.connect() as connection:
                connection.execution_options(**options).execute(text("VACUUM"))
        except SQLAlchemyError as error:
            raise explain_fault(error, self.place) from error

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_database(
    url: str | Path,
    *,
    create: bool = True,
    durable: bool = False,
    artifacts: Path | None = None,
    patience_s: float = PATIENCE_S,
) -> Database:
    """Open a database, and bring its schema forward if an older harness made it.

    Args:
        url: Path of a file of SQLite, `sqlite:///PATH` or `postgresql://USER@HOST/NAME`.
        create: Whether to make it where there is none; of PostgreSQL, its tables.
        durable: Whether what was stored outlives also a failure of power. It outlives a crash of programs anyway.
        artifacts: Folder of the files that belong to results; None takes `<file>.artifacts` beside the file of SQLite,
            and a folder of this user, by the name of the database, for PostgreSQL.
        patience_s: How long to wait for other writers, in seconds.

    Raises:
        UsageError: The address is none.
        EnvironmentProblem: It cannot be opened, is no database of the harness, or one of a newer harness.
    """
    address = _parse(url)
    place = address.render_as_string(hide_password=True)
    if address.get_backend_name() == "sqlite":
        return _open_sqlite(address, create=create, durable=durable, artifacts=artifacts, patience_s=patience_s)
    folder = artifacts or Path(user_data_dir(APP)) / "artifacts" / encode_segment(address.database or "")
    engine = create_engine(
        address,
        pool_pre_ping=True,
        max_overflow=-1,
        connect_args={"connect_timeout": 10, "options": f"-c lock_timeout={int(patience_s * 1000)}"},
    )
    database = Database(engine, place, ArtifactFolder(folder))
    try:
        _prepare(database, engine, create=create)
    except BaseException:
        database.close()
        raise
    return database


def _parse(url: str | Path) -> URL:
    """Return the address of a database with the driver that is used for it."""
    if isinstance(url, Path) or "://" not in url:
        return URL.create("sqlite", database=str(url))
    try:
        address = make_url(url)
        backend = address.get_backend_name()
    except (ArgumentError, ValueError) as error:
        raise UsageError("the address of the database is none", hint=_ADDRESSES) from error
    if backend == "sqlite":
        if not address.database or address.database == ":memory:":
            raise UsageError("the address of the database names no file", hint=_ADDRESSES)
        return URL.create("sqlite", database=address.database)
    if backend not in {"postgresql", "postgres"}:
        raise UsageError(f"databases of {backend} are not supported", hint=_ADDRESSES)
    if find_spec("psycopg") is None:
        raise EnvironmentProblem(
            "PostgreSQL needs the package psycopg, which is not installed",
            hint=f"install it: {install_command(['postgresql'])}",
        )
    return address.set(drivername="postgresql+psycopg")


_ADDRESSES: Final = "give a file, or postgresql://USER@HOST/NAME"


def _open_sqlite(address: URL, *, create: bool, durable: bool, artifacts: Path | None, patience_s: float) -> Database:
    path = Path(str(address.database)).expanduser().absolute()
    if not path.exists():
        if not create:
            raise EnvironmentProblem(f"there is no database {path}", hint="results that are stored make it")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EnvironmentProblem(f"cannot make the folder {path.parent}: {error.strerror or error}") from error
    elif path.is_dir():
        raise EnvironmentProblem(f"{path} is a folder, and no database", hint="name a file in it")
    place = str(path)
    connect_args = {"timeout": patience_s, "isolation_level": None}
    engine = create_engine(URL.create("sqlite", database=place), connect_args=connect_args, max_overflow=-1)
    _set_up_connections(engine, f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}", "PRAGMA foreign_keys=ON")
    # foreign keys cannot be switched off within a transaction, and migrations need them off
    migrating = create_engine(URL.create("sqlite", database=place), connect_args=connect_args, poolclass=NullPool)
    _set_up_connections(migrating, "PRAGMA foreign_keys=OFF")
    folder = artifacts or path.with_name(f"{path.name}.artifacts")
    database = Database(engine, place, ArtifactFolder(folder, durable=durable))
    try:
        _prepare(database, migrating, create=create, before=lambda: _use_write_ahead_log(path, patience_s))
    except BaseException:
        database.close()
        raise
    finally:
        migrating.dispose()
    return database


def _set_up_connections(engine: Engine, *pragmas: str) -> None:
    """Let transactions of SQLite begin when SQLAlchemy says so, with the lock that they need from the beginning."""

    @event.listens_for(engine, "connect")
    def configure(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        for pragma in pragmas:
            cursor.execute(pragma)
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get(_BARE, False):
            return
        writes = connection.get_execution_options().get(_WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _prepare(database: Database, migrating: Engine, *, create: bool, before: Callable[[], None] | None = None) -> None:
    """Make the tables where there are none, and bring older ones forward; two processes may do so at once."""
    with database.read() as connection:
        version = schema.require_ours(connection, database.place)
    if version == schema.VERSION:
        return
    if version is None and not create:
        raise EnvironmentProblem(f"the database {database.place} is empty", hint="results that are stored fill it")
    if before is not None:
        before()
    migration = Database(migrating, database.place, database.artifacts)
    with migration.write() as connection:
        if schema.require_ours(connection, database.place) != schema.VERSION:  # another process may have been first
            schema.migrate(connection)


def _use_write_ahead_log(path: Path, patience_s: float) -> None:
    """Let readers and one writer work at once; the file remembers it. SQLite does not wait for its lock by itself."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            with closing(sqlite3.connect(path, timeout=patience_s)) as connection:
                connection.execute("PRAGMA journal_mode=WAL").fetchall()
        except sqlite3.Error as error:
            is_locked = getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
            if not is_locked or time.monotonic() > deadline:
                raise explain_sqlite_fault(error, str(path)) from error
            time.sleep(_PAUSE_S)
        else:
            return
