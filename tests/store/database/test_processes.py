"""Several processes that write at once, and processes that are killed while they do."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from harness.core.result import RawLog, Result
from harness.store.database.engine import Database, open_database
from harness.store.database.tables import CELLS, METRICS, RESULTS, SAMPLES
from harness.store.database.writing import NewResult, Storing, iterate_results, store_results
from harness.testing.results import STARTED, ok_result
from tests.processes import wait_until

CONTEXT = multiprocessing.get_context("spawn")
WRITERS = 8
EACH = 15
ROUNDS = 3


def _result(writer: int, number: int) -> Result:
    """Return a result whose cell several writers share."""
    return ok_result(uid=f"{writer}-{number}", identifier=f"test-{number % 5}", started=STARTED + number)


def _store(url: str, folder: Path, writer: int, count: int) -> None:
    """Store results one by one, and write down each that was acknowledged; the first is of all writers."""
    with open_database(url, artifacts=folder / "files") as database, (folder / f"{writer}.log").open("a") as log:
        store_results(database, [NewResult(ok_result(uid="shared", model="shared", started=STARTED))], now=STARTED)
        for number in range(count):
            result = _result(writer, number)
            logs = (RawLog(name="0.txt", text=result.uid),)
            if store_results(database, [NewResult(result, logs=logs)], now=STARTED) == (Storing.CREATED,):
                print(result.uid, file=log, flush=True)


def _start(target: Callable[..., None], arguments: list[tuple[object, ...]]) -> list[BaseProcess]:
    processes: list[BaseProcess] = [CONTEXT.Process(target=target, args=values) for values in arguments]
    for process in processes:
        process.start()
    return processes


def _check_whole(database: Database) -> set[str]:
    """Check that every result is whole and every cell counts its own; return the uids."""
    results = list(iterate_results(database))
    with database.read() as connection:
        metrics = connection.execute(select(func.count()).select_from(METRICS)).scalar()
        samples = connection.execute(select(func.count()).select_from(SAMPLES)).scalar()
        counted = connection.execute(select(func.sum(CELLS.c.results))).scalar()
        if database.dialect == "sqlite":
            assert connection.execute(text("PRAGMA integrity_check")).scalar() == "ok"
        newest = (
            select(RESULTS.c.id)
            .where(RESULTS.c.cell_id == CELLS.c.id)
            .order_by(RESULTS.c.started.desc(), RESULTS.c.id.desc())
            .limit(1)
            .scalar_subquery()
        )
        assert connection.execute(select(CELLS.c.id).where(CELLS.c.latest_result_id != newest)).all() == []
    assert metrics == sum(len(result.metrics) for result in results)
    assert samples == sum(bool(metric.samples) for result in results for metric in result.metrics)
    assert int(counted or 0) == len(results)
    return {result.uid for result in results}


@pytest.mark.slow
def test_eight_writing_processes_lose_nothing(database_url: str, tmp_path: Path) -> None:
    processes = _start(_store, [(database_url, tmp_path, writer, EACH) for writer in range(WRITERS)])
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * WRITERS
    with open_database(database_url, artifacts=tmp_path / "files") as database:
        expected = {_result(writer, number).uid for writer in range(WRITERS) for number in range(EACH)}
        assert _check_whole(database) == {"shared", *expected}


@pytest.mark.slow
def test_killed_writers_lose_nothing_that_was_acknowledged(database_url: str, tmp_path: Path) -> None:
    acknowledged: set[str] = set()
    for round_number in range(ROUNDS):
        writers = range(10 * round_number, 10 * round_number + 3)
        processes = _start(_store, [(database_url, tmp_path, writer, 100_000) for writer in writers])
        logs = [tmp_path / f"{writer}.log" for writer in writers]
        wait_until(lambda: all(log.exists() and log.stat().st_size for log in logs), 120)  # noqa: B023 - at once
        for process in processes:
            os.kill(process.pid or 0, signal.SIGKILL)
        for process in processes:
            process.join()
        for log in logs:
            whole, _, _ = log.read_text().rpartition("\n")
            acknowledged.update(whole.splitlines())
        with open_database(database_url, artifacts=tmp_path / "files") as database:
            stored = _check_whole(database)
            assert acknowledged <= stored
            assert len(stored) <= len(acknowledged) + 1 + 3 * (round_number + 1)


def test_threads_share_a_database(database: Database) -> None:
    def store(writer: int) -> None:
        for number in range(5):
            states.extend(store_results(database, [NewResult(_result(writer, number))], now=STARTED))

    states: list[Storing] = []
    threads = [threading.Thread(target=store, args=(writer,)) for writer in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert states == [Storing.CREATED] * 30
    assert len(_check_whole(database)) == 30
