"""Nothing that was acknowledged is lost, and nothing is stored twice, whatever happens to the server."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from harness.testing.results import ok_result
from tests.processes import wait_until
from tests.server.process import ServerProcess, environment_of, run_harness, run_server

pytestmark = pytest.mark.slow

RESULTS = int(os.environ.get("REPORTED_RESULTS", "400"))
"""The issue's number is 10,000; the rest of them shows nothing else."""
REPORTERS = 8
KILLS = 3


@contextmanager
def reporters(folder: Path, url: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run processes that report, each its own part; all share a spool."""
    words = (sys.executable, "-m", "tests.server.reporting", f"{url}/api/v1/results|nightly", str(folder / "cache"))
    processes = [
        subprocess.Popen((*words, f"r{number}", str(RESULTS // REPORTERS), "25"), env=environment_of(folder))
        for number in range(REPORTERS)
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def stored_uids(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "results" / "results.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [uid for (uid,) in connection.execute("SELECT uid FROM results")]


def waiting(folder: Path) -> set[str]:
    return {path.name for path in (folder / "cache" / "spool").rglob("r*.json")}


def test_every_result_is_stored_once_though_the_server_is_killed_while_eight_report(tmp_path: Path) -> None:
    expected = {f"r{part}-{number}" for part in range(REPORTERS) for number in range(RESULTS // REPORTERS)}
    with run_server(tmp_path) as first, reporters(tmp_path, first.url) as processes:
        port = first.url.rpartition(":")[2]
        kill_when(first, len(expected) // 10)
        for life in range(2, KILLS + 1):
            with run_server(tmp_path, "--port", port) as server:
                kill_when(server, len(expected) * life // 10)
        with run_server(tmp_path, "--port", port) as server:
            for process in processes:
                assert process.wait(600) == 0
            server.process.kill()
    # what was acknowledged has left the spool
    acknowledged = expected - {name.removesuffix(".json") for name in waiting(tmp_path)}
    assert acknowledged <= set(stored_uids(tmp_path))
    with run_server(tmp_path, "--port", port) as server:
        flushed = run_harness(tmp_path, "report", "--flush", "--remote-reporter", f"{server.api}/results|nightly")
        assert flushed.returncode == 0, flushed.stderr
    assert sorted(stored_uids(tmp_path)) == sorted(expected)
    assert waiting(tmp_path) == set()


def kill_when(server: ServerProcess, count: int) -> None:
    """Kill a server as soon as it has stored so many results."""
    wait_until(lambda: len(stored_uids(server.folder)) >= count, within_s=600)
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()


def test_a_locked_store_keeps_readers_and_tells_writers_to_wait(tmp_path: Path) -> None:
    with run_server(tmp_path) as server:
        assert server.post_result(ok_result(uid="a")).status_code == 201
        with closing(sqlite3.connect(tmp_path / "results" / "results.db", isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            answer = server.post_result(ok_result(uid="b"))
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
            assert str(tmp_path) not in answer.text
            assert server.get("/api/v1/results/a").status_code == 200
            connection.execute("ROLLBACK")
        assert "locked" in server.log
        assert server.post_result(ok_result(uid="b")).status_code == 201


def test_a_full_store_refuses_for_now_and_loses_nothing(tmp_path: Path) -> None:
    with run_server(tmp_path) as server:
        assert server.post_result(ok_result(uid="a")).status_code == 201
    with run_server(tmp_path) as server:
        limit_size(server.process.pid, (tmp_path / "results" / "results.db-wal"))
        statuses = {server.post_result(ok_result(uid=f"b{number}")).status_code for number in range(3)}
        assert statuses == {503}
        assert server.get("/api/v1/results/a").status_code == 200
        lift_limit(server.process.pid)
        assert server.post_result(ok_result(uid="b0")).status_code == 201


def limit_size(pid: int, file: Path) -> None:
    """Let no file of a process grow beyond the size that one has: the disk is full for it."""
    size = file.stat().st_size if file.exists() else 0
    subprocess.run(("prlimit", f"--pid={pid}", f"--fsize={size}:"), check=True)


def lift_limit(pid: int) -> None:
    subprocess.run(("prlimit", f"--pid={pid}", "--fsize=unlimited:"), check=True)


def test_a_store_that_cannot_be_written_any_more_is_still_read(tmp_path: Path) -> None:
    with run_server(tmp_path) as server:
        assert server.post_result(ok_result(uid="a")).status_code == 201
        with closing(sqlite3.connect(tmp_path / "results" / "results.db")) as connection:
            connection.execute("CREATE TRIGGER full BEFORE INSERT ON results BEGIN SELECT RAISE(FAIL, 'full'); END")
            connection.commit()
        assert server.post_result(ok_result(uid="b")).status_code == 503
        assert server.get("/health").status_code == 200
        assert server.get("/results/a").status_code == 200


@pytest.mark.parametrize("years", [-1, 1])
def test_a_reporter_whose_clock_is_wrong_by_a_year_is_stored_and_shown(tmp_path: Path, years: int) -> None:
    started = time.time() + years * 31_557_600
    with run_server(tmp_path) as server:
        result = ok_result(uid="a", started=started)
        assert server.post_result(result).status_code == 201
        assert server.get("/api/v1/results/a").json()["started"] == started
        # a list is ordered by times that have come: one that has not counts as the time of its receipt
        assert server.get("/api/v1/results").json()["rows"][0]["time"] == pytest.approx(
            min(started, time.time()), abs=300
        )
        for path in ("/", "/changes", "/coverage", "/results/a"):
            assert server.get(path).status_code == 200
