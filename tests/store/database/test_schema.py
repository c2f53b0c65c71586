"""Schema of the database: made and brought forward by whoever opens it, and never with a loss."""

from __future__ import annotations

import multiprocessing
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, func, select, text

from harness.core.errors import EnvironmentProblem
from harness.store.canonical_json import to_json_line
from harness.store.database import schema
from harness.store.database.engine import Database, open_database
from harness.store.database.tables import METADATA, METRICS, RESULTS, SAMPLES
from harness.store.database.writing import NewResult, iterate_results, store_results
from harness.testing.results import STARTED, failed_result, ok_result

LANDED = Path(__file__).with_name("schemas")
"""Databases of every schema that ever landed, with the same two results."""

UIDS = ["a" * 32, "b" * 32]


def test_the_version_is_the_newest_migration() -> None:
    revisions = ScriptDirectory(str(schema.MIGRATIONS))
    assert revisions.get_current_head() == schema.VERSION
    assert sorted(revision.revision for revision in revisions.walk_revisions()) == list(schema.known_versions())


def test_migrations_make_just_the_tables(database: Database) -> None:
    with database.write() as connection:
        options = {"compare_type": True, "version_table": schema.VERSION_TABLE}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), METADATA) == []


def test_migrations_make_the_same_indexes_with_the_same_conditions(tmp_path: Path) -> None:
    open_database(tmp_path / "migrated.db").close()
    engine = create_engine(f"sqlite:///{tmp_path / 'made.db'}")
    METADATA.create_all(engine)
    engine.dispose()
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    indexes = []
    for name in ("migrated.db", "made.db"):
        with closing(sqlite3.connect(tmp_path / name)) as connection:
            indexes.append({key: sql.replace('"', "") for key, sql in connection.execute(query)})
    assert indexes[0] == indexes[1]


@pytest.mark.parametrize("dump", sorted(LANDED.glob("*.sql")), ids=lambda path: path.stem)
def test_every_schema_that_landed_is_brought_forward(dump: Path, tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(dump.read_text())
    with open_database(path) as database:
        assert [result.uid for result in iterate_results(database)] == UIDS
        with database.read() as connection:
            assert schema.read_version(connection) == schema.VERSION
            assert connection.execute(select(func.count()).select_from(SAMPLES)).scalar() == 3


def test_every_landed_version_has_its_database() -> None:
    assert sorted(path.stem for path in LANDED.glob("*.sql")) == [f"schema_{name}" for name in schema.known_versions()]


def test_only_a_database_that_is_made_or_brought_forward_loads_alembic(tmp_path: Path) -> None:
    program = (
        "import sys; from harness.store.database.engine import open_database\n"
        "open_database(sys.argv[1]).close(); print('alembic' in sys.modules)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "results.db")]
    assert [subprocess.check_output(command, text=True).strip() for _ in range(2)] == ["True", "False"]


def test_a_newer_schema_is_refused(database_url: str, tmp_path: Path) -> None:
    with open_database(database_url, artifacts=tmp_path) as database, database.write() as connection:
        connection.execute(text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(EnvironmentProblem, match="written by a newer harness: its schema is 9999"):
        open_database(database_url, artifacts=tmp_path)


def test_the_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
    before = path.read_bytes()
    with pytest.raises(EnvironmentProblem, match="belongs to something else: it has a table 'alembic_version'"):
        open_database(path)
    assert path.read_bytes() == before


def test_rebuilding_a_table_deletes_nothing_that_refers_to_it(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = ok_result()
    with open_database(database_url, artifacts=tmp_path / "files") as database:
        store_results(database, [NewResult(result)], now=STARTED)
    migrations = tmp_path / "migrations"
    shutil.copytree(schema.MIGRATIONS, migrations, ignore=shutil.ignore_patterns("__pycache__"))
    (migrations / "versions" / "schema_9000.py").write_text(
        "import sqlalchemy as sa\nfrom alembic import op\n"
        f"revision, down_revision, branch_labels, depends_on = '9000', {schema.VERSION!r}, None, None\n"
        "def upgrade():\n"
        "    with op.batch_alter_table('results', recreate='auto') as batch:\n"
        "        batch.add_column(sa.Column('extra', sa.String, nullable=False, server_default=''))\n"
        "        batch.alter_column('run', nullable=True)\n"  # SQLite can do that only by a new table
    )
    monkeypatch.setattr(schema, "MIGRATIONS", migrations)
    monkeypatch.setattr(schema, "VERSION", "9000")
    with open_database(database_url, artifacts=tmp_path / "files") as database:
        with database.read() as connection:
            assert schema.read_version(connection) == "9000"
            counts = [
                connection.execute(select(func.count()).select_from(table)).scalar() for table in (RESULTS, METRICS)
            ]
        assert counts == [1, len(result.metrics)]
        assert [to_json_line(stored) for stored in iterate_results(database)] == [to_json_line(result)]
        assert store_results(database, [NewResult(failed_result())], now=STARTED) == ("created",)


def test_a_failed_migration_changes_nothing(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_database(database_url, artifacts=tmp_path / "files") as database:
        store_results(database, [NewResult(ok_result(uid="1"))], now=STARTED)
    migrations = tmp_path / "migrations"
    shutil.copytree(schema.MIGRATIONS, migrations, ignore=shutil.ignore_patterns("__pycache__"))
    broken = migrations / "versions" / "schema_9000.py"
    broken.write_text(
        "from alembic import op\n"
        f"revision, down_revision, branch_labels, depends_on = '9000', {schema.VERSION!r}, None, None\n"
        "def upgrade():\n    op.drop_table('samples')\n    op.execute('SELECT nothing')\n"
    )
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", migrations)
        patch.setattr(schema, "VERSION", "9000")
        with pytest.raises(EnvironmentProblem, match="nothing"):
            open_database(database_url, artifacts=tmp_path / "files")
    with open_database(database_url, artifacts=tmp_path / "files") as database:
        assert [result.uid for result in iterate_results(database)] == ["1"]


@pytest.mark.slow
def test_processes_that_make_a_database_at_once_all_succeed(database_url: str, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(4)
    processes = [
        context.Process(target=_open_and_store, args=(database_url, tmp_path / "files", barrier)) for _ in range(4)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    with open_database(database_url, artifacts=tmp_path / "files") as database:
        assert len(list(iterate_results(database))) == 4


def _open_and_store(url: str, artifacts: Path, barrier: multiprocessing.synchronize.Barrier) -> None:
    barrier.wait()
    with open_database(url, artifacts=artifacts) as database:
        store_results(database, [NewResult(ok_result())], now=STARTED)
