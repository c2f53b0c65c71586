"""Databases that cannot be used: told in words, and nothing lost or half-written."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

import harness.store.database.engine as engine_module
from harness.core.errors import EnvironmentProblem, UsageError
from harness.store.database.engine import Database, open_database
from harness.store.database.writing import NewResult, iterate_results, load_stored, store_results
from harness.testing.results import STARTED, ok_result
from tests.postgresql import PostgreSqlServer, run_postgresql

FIRST = ok_result(uid="first")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with one result."""
    file = tmp_path / "results.db"
    with open_database(file) as database:
        store_results(database, [NewResult(FIRST)], now=STARTED)
    return file


def _uids(path: Path) -> list[str]:
    with open_database(path) as database:
        return [result.uid for result in iterate_results(database)]


def test_a_database_that_another_process_locks_is_told_after_a_while(path: Path) -> None:
    with open_database(path, patience_s=0.05) as database, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            EnvironmentProblem, match=r"is locked by another process.*nothing of this was stored"
        ) as told:
            store_results(database, [NewResult(ok_result())], now=STARTED)
        assert told.value.hint is not None
        assert load_stored(database, "first") == FIRST  # readers go on
        other.rollback()
        store_results(database, [NewResult(ok_result(uid="second"))], now=STARTED)
    assert sorted(_uids(path)) == ["first", "second"]


def test_a_writer_waits_for_another(path: Path) -> None:
    other = sqlite3.connect(path, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.3, other.rollback)
    timer.start()
    with open_database(path) as database:
        store_results(database, [NewResult(ok_result())], now=STARTED)
    timer.join()
    other.close()
    assert len(_uids(path)) == 2


def test_a_full_disk_is_told_and_nothing_is_half_written(path: Path) -> None:
    new = [NewResult(ok_result(samples=[index / 7 for index in range(1000)])) for _ in range(50)]
    with open_database(path) as database:
        with database.read() as connection:
            pages = connection.execute(text("PRAGMA page_count")).scalar_one()
        with database.read() as connection:  # the same connection of the pool
            connection.execute(text(f"PRAGMA max_page_count={pages + 2}"))
        with pytest.raises(EnvironmentProblem, match="has no room to grow"):
            store_results(database, new, now=STARTED)
        assert [result.uid for result in iterate_results(database)] == ["first"]
    with open_database(path) as database:
        assert store_results(database, new, now=STARTED) == ("created",) * 50
        with database.read() as connection:
            assert connection.execute(text("PRAGMA integrity_check")).scalar_one() == "ok"


@pytest.mark.parametrize("damage", [b"This is a letter, and no database.\n" * 100, b"SQLite"])
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, damage: bytes) -> None:
    file = tmp_path / "letter.txt"
    file.write_bytes(damage)
    with pytest.raises(EnvironmentProblem, match="is not a database"):
        open_database(file)
    assert file.read_bytes() == damage


def test_a_damaged_database_is_told(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(EnvironmentProblem, match="is damaged"):
        open_database(path)


def test_a_damaged_result_is_told_by_its_uid(path: Path) -> None:
    with open_database(path) as database:
        with database.write() as connection:
            connection.execute(text("UPDATE results SET body = x'0178'"))
        with pytest.raises(EnvironmentProblem, match=r"the result first in the database .* cannot be read"):
            load_stored(database, "first")


@pytest.mark.parametrize("place", ["file", "folder"])
def test_a_database_that_must_not_be_written_is_told(place: str) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders can be read by their owner only
        file = Path(folder) / "results.db"
        with open_database(file) as database:
            store_results(database, [NewResult(FIRST)], now=STARTED)
        file.chmod(0o444 if place == "file" else 0o666)
        Path(folder).chmod(0o555 if place == "folder" else 0o777)
        with _without_rights(), pytest.raises(EnvironmentProblem, match=r"cannot be (written|opened)"):
            _store_second(file)
        Path(folder).chmod(0o755)
        assert _uids(file) == ["first"]


def _store_second(path: Path) -> None:
    with open_database(path) as database:
        store_results(database, [NewResult(ok_result())], now=STARTED)


@contextmanager
def _without_rights() -> Iterator[None]:
    """Let root be nobody for a while, who may not write everywhere."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_database_that_refuses_writers_is_told(path: Path) -> None:
    with open_database(path) as database:
        with database.read() as connection:
            connection.execute(text("PRAGMA query_only=ON"))  # as on a disk that was mounted read-only
        with pytest.raises(EnvironmentProblem, match="cannot be written"):
            store_results(database, [NewResult(ok_result())], now=STARTED)
    assert _uids(path) == ["first"]


@pytest.mark.parametrize(
    ("url", "error", "message"),
    [
        ("mysql://host/name", UsageError, "databases of mysql are not supported"),
        ("nonsense://", UsageError, "nonsense"),
        ("://", UsageError, "the address of the database is none"),
        ("sqlite://", UsageError, "names no file"),
        ("sqlite:///:memory:", UsageError, "names no file"),
        ("/dev/null/results.db", EnvironmentProblem, "cannot make the folder /dev/null"),
        ("/tmp", EnvironmentProblem, "/tmp is a folder"),
        ("postgresql://eve:secret@/none?host=/nowhere", EnvironmentProblem, "does not answer"),
    ],
)
def test_an_address_that_names_no_database_is_told(url: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as told:
        open_database(url)
    assert "secret" not in str(told.value)


def test_a_database_is_made_only_where_that_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="there is no database"):
        open_database(tmp_path / "results.db", create=False)
    assert list(tmp_path.iterdir()) == []


def test_postgresql_without_its_package_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "find_spec", lambda _: None)
    with pytest.raises(EnvironmentProblem, match="psycopg") as told:
        open_database("postgresql://host/name")
    assert "[postgresql]" in (told.value.hint or "")


@pytest.mark.parametrize("durable", [True, False])
def test_connections_are_safe_by_default(tmp_path: Path, durable: bool) -> None:
    with open_database(tmp_path / "results.db", durable=durable) as database, database.write() as connection:
        pragmas = ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
        values = [connection.execute(text(f"PRAGMA {name}")).scalar() for name in pragmas]
    assert values == ["wal", 1, 2 if durable else 1, 60_000]


@pytest.mark.slow
def test_postgresql_that_stops_is_told_and_used_again_when_it_is_back(tmp_path: Path) -> None:
    with run_postgresql() as server, open_database(server.create_database(), artifacts=tmp_path) as database:
        store_results(database, [NewResult(FIRST)], now=STARTED)
        server.stop()
        with pytest.raises(EnvironmentProblem, match="does not answer"):
            store_results(database, [NewResult(ok_result())], now=STARTED)
        server.start()
        assert load_stored(database, "first") == FIRST
        store_results(database, [NewResult(ok_result())], now=STARTED)
        with pytest.raises(EnvironmentProblem, match="does not answer"):
            _delete_while_it_stops(database, server)
        server.start()
        assert len(list(iterate_results(database))) == 2


def _delete_while_it_stops(database: Database, server: PostgreSqlServer) -> None:
    with database.write() as connection:
        connection.execute(text("DELETE FROM results"))
        server.stop()
        connection.execute(text("SELECT 1"))


@pytest.mark.slow
def test_postgresql_that_is_locked_for_too_long_is_told(tmp_path: Path) -> None:
    with run_postgresql() as server:
        url = server.create_database()
        with (
            open_database(url, artifacts=tmp_path) as other,
            open_database(url, artifacts=tmp_path, patience_s=0.1) as database,
        ):
            with other.write(), pytest.raises(EnvironmentProblem, match="is locked by another process"):
                store_results(database, [NewResult(FIRST)], now=STARTED)
            assert store_results(database, [NewResult(FIRST)], now=STARTED) == ("created",)
