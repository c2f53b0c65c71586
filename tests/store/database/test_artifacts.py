"""Files of results: stored once, read back whole, and never outside of their folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.result import RawLog
from harness.store.database.artifacts import find_artifact, store_artifact, sweep_artifacts
from harness.store.database.engine import Database
from harness.store.database.views.reader import History
from harness.store.database.writing import NewResult, store_results
from harness.testing.results import STARTED, ok_result

MIB = 1 << 20


def _files(database: Database) -> list[Path]:
    return [path for path in database.artifacts.path.rglob("*") if path.is_file()]


def test_logs_come_back_and_equal_ones_are_stored_once(database: Database) -> None:
    logs = (RawLog(name="0.txt", text="out\ud800"), RawLog(name="../1.txt", text="out\ud800"))
    store_results(database, [NewResult(ok_result(uid="1"), logs=logs), NewResult(ok_result(uid="2"), logs=logs)], now=1)
    assert len(_files(database)) == 1
    assert [info.name for info in History(database).artifacts("1")] == ["logs/%2E.%2F1.txt", "logs/0.txt"]
    info = find_artifact(database, "2", "logs/0.txt")
    assert info is not None
    with database.artifacts.open(info.digest) as file:
        assert file.read() == b"out\\ud800"


def test_a_stream_is_stored_in_parts_up_to_a_limit(database: Database, tmp_path: Path) -> None:
    store_results(database, [NewResult(ok_result(uid="1"))], now=1)
    big = tmp_path / "big"
    big.write_bytes(os.urandom(3 * MIB + 5))
    with big.open("rb") as stream:
        info = store_artifact(database, "1", "traces/big", stream, media_type="application/zip", now=1)
    assert info.size_bytes == 3 * MIB + 5
    assert database.artifacts.locate(info.digest).read_bytes() == big.read_bytes()
    with big.open("rb") as stream, pytest.raises(UsageError, match="larger than"):
        store_artifact(database, "1", "more", stream, media_type="x/y", now=1, limit_bytes=3 * MIB)
    assert len(_files(database)) == 1
    assert find_artifact(database, "1", "more") is None


def test_a_name_has_one_content(database: Database) -> None:
    store_results(database, [NewResult(ok_result(uid="1"))], now=1)
    for _ in range(2):
        store_artifact(database, "1", "a", b"same", media_type="text/plain", now=1)
    with pytest.raises(UsageError, match="another file 'a'"):
        store_artifact(database, "1", "a", b"other", media_type="text/plain", now=1)
    with pytest.raises(UsageError, match="no result '2'"):
        store_artifact(database, "2", "a", b"same", media_type="text/plain", now=1)


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "../a", "a/../b", "a//b", ".", "a\\b", "C:a", "a\0", "a\n", "x" * 999]
)
def test_a_name_stays_within_its_folder(database: Database, name: str) -> None:
    store_results(database, [NewResult(ok_result(uid="1"))], now=1)
    with pytest.raises(UsageError, match="cannot be the name of a file"):
        store_artifact(database, "1", name, b"", media_type="text/plain", now=1)


@pytest.mark.parametrize("digest", ["../../etc/passwd", "A" * 64, "a" * 63, "a" * 64 + "\n", ""])
def test_only_a_digest_finds_a_file(database: Database, digest: str) -> None:
    with pytest.raises(UsageError, match="no SHA-256"):
        database.artifacts.open(digest)


def test_a_lost_file_is_reported_in_words(database: Database) -> None:
    with pytest.raises(EnvironmentProblem, match="cannot read the file"):
        database.artifacts.open("a" * 64)


def test_files_of_no_result_are_swept_when_they_are_old(database: Database) -> None:
    store_results(database, [NewResult(ok_result(uid="1"), logs=(RawLog(name="0.txt", text="kept"),))], now=1)
    orphan = database.artifacts.write("lost", b"lost")
    written = database.artifacts.locate(orphan.digest).stat().st_mtime
    assert sweep_artifacts(database, now=written + 60).files == 0
    swept = sweep_artifacts(database, now=written + 90_000)
    assert (swept.files, swept.size_bytes) == (1, 4)
    assert [path.read_bytes() for path in _files(database)] == [b"kept"]
    with pytest.raises(EnvironmentProblem, match="removed meanwhile"), database.write() as connection:
        database.artifacts.attach(connection, {1: [orphan]}, STARTED)
