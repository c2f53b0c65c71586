"""Schema of a database: its version, creating it, and bringing an older one forward.

Whoever opens a database does that, in one transaction that excludes others. There is no way back: a database of a newer
harness is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, column, inspect, select, table, text

from harness.core.errors import EnvironmentProblem

MIGRATIONS: Final = Path(__file__).with_name("migrations")

VERSION_TABLE: Final = "harness_schema"
"""Table with the version; its name tells a database of the harness from any other that alembic migrates."""

VERSION: Final = "0004"
"""Version that this harness reads and writes: the newest of `migrations`."""


def read_version(connection: Connection) -> str | None:
    """Return the version of the schema; None where there is none."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    versions = table(VERSION_TABLE, column("version_num"))
    return connection.execute(select(versions.c.version_num)).scalar()


def require_ours(connection: Connection, place: str) -> str | None:
    """Return the version of the schema; None for an empty database.

    Raises:
        EnvironmentProblem: The database belongs to something else, or to a newer harness.
    """
    version = read_version(connection)
    if version is None:
        names = inspect(connection).get_table_names()
        if names:
            raise EnvironmentProblem(
                f"the database {place} belongs to something else: it has a table {names[0]!r}",
                hint="name another file or database; the harness needs one of its own",
            )
    elif version not in known_versions():
        raise EnvironmentProblem(
            f"the database {place} was written by a newer harness: its schema is {version}, this one knows {VERSION}",
            hint="use the newer harness for it, or name another database",
        )
    return version


def known_versions() -> tuple[str, ...]:
    """Return all versions that this harness can bring forward, by the names of the files of its migrations."""
    return tuple(sorted(path.stem.split("_")[1] for path in (MIGRATIONS / "versions").glob("schema_*.py")))


def migrate(connection: Connection, version: str | None = None) -> None:
    """Bring the schema to a version, by default `VERSION`, in the transaction of the connection.

    On SQLite foreign keys must be off: rebuilding a table drops it, which would delete what refers to it.

    Raises:
        EnvironmentProblem: Afterwards something refers to a row that is not there.
    """
    # It takes a quarter of a second, and databases are rarely made or brought forward.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, version or VERSION)
    if connection.dialect.name == "sqlite":
        broken = connection.execute(text("PRAGMA foreign_key_check")).first()
        if broken is not None:
            raise EnvironmentProblem(
                f"the database cannot be brought forward: a row of {broken[0]} refers to {broken[2]}, which has none",
                hint="restore a copy of it; nothing was changed",
            )
