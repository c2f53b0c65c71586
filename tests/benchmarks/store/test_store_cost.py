"""Cost of the store: storing beside bare inserts, each view at 1,000,000 metrics, bytes of a result, memory.

A big store takes minutes to make. `HARNESS_BIG_STORES` names a folder that keeps them from run to run.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

import pytest
from sqlalchemy import Table, create_engine, func, insert, select

from harness.core.result import Result
from harness.store.canonical_json import to_json_line
from harness.store.database.engine import open_database
from harness.store.database.tables import CONTRASTS, METADATA, METRICS, RESULTS, SAMPLES
from harness.store.database.views import History
from harness.store.database.writing import NewResult, store_results
from tests.benchmarks.figures import claim, spread
from tests.benchmarks.store.views import make_calls
from tests.store.big_store import fill_store, iterate_results
from tests.store.big_world import Laboratory

SHAPES = {
    "10,000 commits x 20 cells": Laboratory(commits=10_000, models=5, backends=2, devices=2),
    "1,000 commits x 200 cells": Laboratory(commits=1_000, models=5, backends=5, devices=8),
}
CALLS = 40
INGESTED = 2000
BATCH = 100
pytestmark = pytest.mark.benchmark


@pytest.fixture(scope="module", params=SHAPES)
def big_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 200,000 results with 1,000,000 metrics."""
    folder = Path(os.environ.get("HARNESS_BIG_STORES") or tmp_path_factory.mktemp("stores"))
    path = folder / f"{str(request.param).replace(',', '').replace(' ', '_')}.db"
    if not path.exists():
        draft = Path(tempfile.mkdtemp(dir=folder)) / "draft.db"  # a run that was ended may have left a write-ahead log
        began = time.monotonic()
        with open_database(draft) as database:
            count = fill_store(database, SHAPES[request.param])
        draft.rename(path)
        print(f"\n{request.param}: {count} results in {time.monotonic() - began:.0f} s")
    return path


def test_every_view_is_fast_with_a_million_metrics(big_store: Path) -> None:
    print(f"\n{big_store.stem}; load {os.getloadavg()[0]:.1f}")
    slowest = 0.0
    with open_database(big_store) as database:
        for name, call in make_calls(History(database), random.Random(2)).items():
            spent = [_measure(call) for _ in range(CALLS)]
            wall_ms = sorted(1000 * wall for wall, _ in spent)
            cpu_ms = sorted(1000 * cpu for _, cpu in spent)
            p95 = CALLS * 95 // 100 - 1
            slowest = max(slowest, cpu_ms[p95])
            print(
                f"{name:20s} median {wall_ms[CALLS // 2]:6.1f} ms, p95 {wall_ms[p95]:6.1f} ms (CPU {cpu_ms[p95]:.1f})"
            )
    claim("p95 of the slowest view, CPU", slowest, 200, " ms")


def test_a_reader_needs_little_memory(big_store: Path) -> None:
    words = (sys.executable, "-m", "tests.benchmarks.store.views", str(big_store))
    before, after = map(float, subprocess.run(words, check=True, capture_output=True, text=True).stdout.split())
    print(f"\nresident MiB of a process: {before:.0f} before, {after:.0f} after 10 calls of each view")
    claim("memory of all views beyond the imports", after - before, 150, " MiB")


def test_a_result_takes_few_bytes(big_store: Path) -> None:
    with open_database(big_store) as database, database.read() as connection:
        count, plain = connection.execute(select(func.count(), func.sum(RESULTS.c.size_bytes))).one()
    size = big_store.stat().st_size
    print(f"\n{size / 1e6:.0f} MB for {count} results: {size / count:.0f} bytes of each, {plain / count:.0f} as JSON")
    claim("bytes of a result in the store, as a share of its JSON", size / plain, 1.0)


def test_storing_beside_bare_inserts_of_the_same_rows(tmp_path: Path) -> None:
    results = list(islice(iterate_results(Laboratory(commits=INGESTED // 9 + 1)), INGESTED))
    batches = [results[start : start + BATCH] for start in range(0, INGESTED, BATCH)]
    with open_database(tmp_path / "stored.db") as database:
        stored = []
        for batch in batches:
            new = [NewResult(result) for result in batch]
            stored.append(_measure(partial(store_results, database, new, now=batch[-1].finished + 60)))
        with database.read() as connection:
            tables = (RESULTS, METRICS, SAMPLES, CONTRASTS)
            rows = {table: [dict(row) for row in connection.execute(select(table)).mappings()] for table in tables}
    bare = _insert_bare(tmp_path / "bare.db", rows, len(batches))
    encoding = [_measure(partial(_encode, batch)) for batch in batches]
    for name, figures in (("stored", stored), ("bare inserts", bare), ("JSON alone", encoding)):
        print(f"\n{name}: results/s of CPU {spread([BATCH / max(cpu, 1e-9) for _, cpu in figures])}", end="")
    print(f"\nresults/s of wall time: {INGESTED / sum(wall for wall, _ in stored):.0f}; load {os.getloadavg()[0]:.1f}")
    # what is more than inserting: JSON twice, a digest, compression, samples and intervals
    ratio = sum(cpu for _, cpu in stored) / sum(cpu for _, cpu in bare)
    claim("CPU of storing results, in bare inserts of the same rows", ratio, 15)


def _encode(results: list[Result]) -> None:
    for result in results:
        to_json_line(result)


def _insert_bare(path: Path, rows: dict[Table, list[dict[str, object]]], batches: int) -> list[tuple[float, float]]:
    """Insert rows that are ready into the same tables and indexes, in as many transactions; return the times."""
    engine = create_engine(f"sqlite:///{path}")
    METADATA.create_all(engine)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        connection.exec_driver_sql("PRAGMA synchronous=NORMAL")
        spent = []
        for batch in range(batches):
            parts = {
                table: part
                for table, all_rows in rows.items()
                if (part := all_rows[batch * len(all_rows) // batches : (batch + 1) * len(all_rows) // batches])
            }

            def store(parts: dict[Table, list[dict[str, object]]] = parts) -> None:
                for table, part in parts.items():
                    connection.execute(insert(table), part)
                connection.commit()

            spent.append(_measure(store))
    engine.dispose()
    return spent


def _measure(action: Callable[[], object]) -> tuple[float, float]:
    """Return wall and CPU seconds of an action."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - cpu
