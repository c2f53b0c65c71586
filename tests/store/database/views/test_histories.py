"""History of a cell."""

from __future__ import annotations

from harness.core.metric import Direction
from harness.core.note import Note
from harness.core.outcome import Outcome
from harness.core.verdict import Verdict
from harness.store.database.engine import Database
from harness.store.database.views import History
from harness.store.history import Page, Period, ProofKind
from tests.store.database.views.samples import (
    ALL,
    ALWAYS,
    DAY,
    START,
    against,
    bad,
    foreign,
    good,
    keep,
    key_of,
    metric,
    near,
    sha,
    uids,
)


def test_every_result_is_a_point_failures_and_repetitions_too(database: Database) -> None:
    first, again = good(1, metric(median=10.0, interval=(9.0, 11.0))), good(1, started=START + 9 * DAY)
    keep(database, again, bad(3), good(2, metric(median=12.0), comparison=against(1, 0.2)), first)
    history = History(database).cell(key_of(first), "", ALWAYS, 100)
    assert history is not None
    assert history.total == 4
    points = history.points
    assert [(point.commit.id if point.commit else "", point.median) for point in points] == [
        (sha(1), 10.0),
        (sha(1), 10.0),
        (sha(2), 12.0),
        (sha(3), None),
    ]
    assert uids(points[:2]) == [first.uid, again.uid]
    assert (points[0].low, points[0].high) == (9.0, 11.0)
    assert points[2].verdict is Verdict.REGRESSION
    assert points[2].effect is not None
    assert points[2].effect.log_ratio == near(0.2)
    assert (points[3].outcome, points[3].reason) == (Outcome.CRASHED, "SIGSEGV")
    assert [change.proof for change in history.changes] == [ProofKind.COMPARISON]


def test_the_newest_of_a_period_are_shown(database: Database) -> None:
    results = [good(day) for day in range(10)]
    keep(database, *results)
    period = Period(start=START + 2 * DAY, end=START + 8 * DAY)
    history = History(database).cell(key_of(results[0]), "", period, 3)
    assert history is not None
    assert history.total == 7
    assert [point.time for point in history.points] == [START + day * DAY for day in (6, 7, 8)]


def test_metrics_are_listed_with_the_main_one_first_and_each_can_be_shown(database: Database) -> None:
    rate = metric("NET throughput", 80.0, unit="1/s", direction=Direction.HIGHER)
    first = good(1, rate, metric("NET latency", 10.0), comparison=against(0, 0.1))
    keep(database, first, good(2, metric("RUN load_time", 3.0)))
    reader = History(database)
    history = reader.cell(key_of(first), "NET throughput", ALWAYS, 10)
    assert history is not None
    assert history.metric is not None
    assert (history.metric.name, history.metric.direction) == ("NET throughput", Direction.HIGHER)
    assert history.metrics[0].name == "RUN load_time"
    assert [point.median for point in history.points] == [80.0, None]
    assert history.points[1].reason == "NET throughput was not measured"
    assert history.points[0].verdict is None, "the comparison is of another metric"
    assert history.changes == ()
    unknown = reader.cell(key_of(first), "nothing", ALWAYS, 10)
    assert unknown is not None
    assert (unknown.metric, [point.median for point in unknown.points]) == (None, [None, None])


def test_a_figure_that_leaves_the_range_in_another_unit_is_none(database: Database) -> None:
    first = good(1, metric(median=1e305, unit="s", interval=(1e304, 1.5e305)))
    keep(database, first, *(good(day, metric(median=10.0 + day, unit="us")) for day in range(2, 6)))
    reader = History(database)
    history = reader.cell(key_of(first), "", ALWAYS, 100)
    assert history is not None
    assert [point.median for point in history.points] == [None, 12.0, 13.0, 14.0, 15.0]
    assert [band.count for band in history.bands] == [4]
    (level,) = reader.levels(ALWAYS, ALL, Page())
    assert level.effect is not None
    assert level.effect.log_ratio < -600


def test_another_unit_is_converted_and_one_that_cannot_be_is_told(database: Database) -> None:
    first = good(1, metric(median=9000.0, unit="us", interval=(8000.0, 9500.0)))
    keep(database, first, good(2, metric(median=5.0, unit="cycles")), good(3, metric(median=10.0)))
    history = History(database).cell(key_of(first), "", ALWAYS, 10)
    assert history is not None
    assert [point.median for point in history.points] == [near(9.0), None, 10.0]
    assert history.points[0].low == near(8.0)
    assert history.points[1].reason == "measured in cycles"


def test_figures_from_elsewhere_and_doubtful_ones_are_no_part_of_a_band(database: Database) -> None:
    doubt = Note(code="noisy", message="noisy", trust=False)
    own = [good(day, metric(median=10.0)) for day in range(5)]
    keep(database, *own, good(5, metric(median=99.0), origin=foreign()), good(6, metric(median=50.0), notes=(doubt,)))
    history = History(database).cell(key_of(own[0]), "", ALWAYS, 10)
    assert history is not None
    (band,) = history.bands
    assert (band.count, band.middle) == (5, 10.0)
    assert [point.origin is not None for point in history.points].count(True) == 1
    assert not history.points[-1].trusted


def test_an_edited_benchmark_is_another_cell_that_is_named(database: Database) -> None:
    old, new = good(1, digest="1"), good(2, digest="2")
    keep(database, old, new, good(3, backend="portable"))
    history = History(database).cell(key_of(old), "", ALWAYS, 10)
    assert history is not None
    assert [other.key for other in history.others] == [key_of(new)]
    assert len(History(database).latest(ALL, Page()).rows) == 3
