"""Backend against backend."""

from __future__ import annotations

from harness.core.benchmark import Export
from harness.core.cached_files import ExportReport
from harness.core.evaluation import DataInfo, Evaluation, StageEvaluation, Statistic
from harness.core.examples import DataRequest, Stage
from harness.core.result import FileInfo
from harness.store.database.engine import Database
from harness.store.database.views import History
from harness.testing.results import DEVICE
from tests.store.database.views.samples import PHONE, bad, good, keep, metric, near, uids


def exported(backend: str, size_bytes: int) -> dict[str, FileInfo]:
    """Return the file of a program that was exported from one definition."""
    report = ExportReport(
        export=Export(definition="mv2", recipe=backend), versions={}, md5="0" * 32, size_bytes=size_bytes
    )
    return {"model": FileInfo(filename="m.pte", md5="0" * 32, size_bytes=size_bytes, source="export", export=report)}


def evaluated(sqnr: float, agreement: float) -> Evaluation:
    """Return an evaluation with these two statistics."""
    data = DataInfo(request=DataRequest(provider="random"), description="", examples=9, is_labelled=False, digest="d")
    statistics = (
        Statistic(name="sqnr", unit="dB", value=sqnr, examples=9),
        Statistic(name="top1_agreement", value=agreement, examples=9),
    )
    return Evaluation(data=data, stages=(StageEvaluation(stage=Stage.DEVICE, examples=9, statistics=statistics),))


def test_the_newest_good_results_have_speed_size_memory_and_fidelity(database: Database) -> None:
    peak = metric("RUN peak_memory", 5e6, unit="bytes")
    slow = good(1, metric(median=20.0), backend="a", files=exported("a", 400))
    fast = good(1, metric(median=5.0), peak, backend="b", files=exported("b", 100), evaluation=evaluated(24.0, 0.97))
    alone = good(1, metric(median=7.0), backend="b", device=PHONE, files=exported("b", 100))
    keep(
        database, good(0, metric(median=99.0), backend="a"), slow, fast, alone, bad(3, backend="b"), good(1, model="z")
    )
    reader = History(database)
    rows = reader.backends("mv2", ())
    assert uids(row.result for row in rows) == uids([slow, fast, alone])
    assert [row.speed for row in rows] == [1.0, near(4.0), None]
    assert (rows[1].size_bytes, rows[1].peak_memory_bytes) == (100, 5e6)
    assert (rows[1].sqnr_db, rows[1].agreement) == (24.0, 0.97)
    assert (rows[0].sqnr_db, rows[0].peak_memory_bytes) == (None, 40 << 20)
    assert uids(row.result for row in reader.backends("mv2", ("phone-1",))) == [alone.uid]
    assert (reader.backends("m", ()), reader.backends("mv2", ("x",)), reader.backends("\0", ())) == ((), (), ())


def test_of_an_edited_benchmark_the_newest_definition_counts(database: Database) -> None:
    old, new = good(1, digest="1"), good(2, digest="2")
    keep(database, new, old)
    rows = History(database).backends("mv2", (DEVICE.identity,))
    assert uids(row.result for row in rows) == [new.uid]
