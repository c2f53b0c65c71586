"""Levels of a period, side by side."""

from __future__ import annotations

import math

from harness.core.metric import Direction, MetricInfo
from harness.core.verdict import Verdict
from harness.store.database.engine import Database
from harness.store.database.views import History
from harness.store.database.views.levels import compare_figures
from harness.store.history import Figure, Page, Period, ProofKind
from tests.store.database.views.samples import (
    ALL,
    ALWAYS,
    DAY,
    FIRST,
    START,
    bad,
    foreign,
    good,
    keep,
    metric,
    near,
    sha,
)

MONTH = Period(start=START + 5 * DAY, end=START + 9 * DAY)


def test_the_last_good_result_before_a_period_stands_beside_the_last_in_it(database: Database) -> None:
    levels = {2: 10.0, 4: 11.0, 6: 12.0, 9: 22.0, 10: 99.0}
    keep(database, *(good(day, metric(median=level)) for day, level in levels.items()), bad(5), bad(8))
    (row,) = History(database).levels(MONTH, ALL, FIRST)
    assert (row.proof, row.verdict) == (ProofKind.MEDIANS, Verdict.UNDECIDED)
    assert row.before is not None
    assert row.after is not None
    assert (row.before.id, row.after.id, row.time) == (sha(4), sha(9), START + 9 * DAY)
    assert row.earlier is not None
    assert row.later is not None
    assert (row.earlier.median, row.later.median) == (11.0, 22.0)
    assert row.effect is not None
    assert (row.effect.log_ratio, row.effect.low_log_ratio) == (near(math.log(2)), None)


def test_without_an_earlier_one_the_first_of_the_period_counts(database: Database) -> None:
    keep(database, good(6, metric(median=10.0)), good(7, metric(median=20.0)), good(7, backend="new"))
    (row,) = History(database).levels(MONTH, ALL, FIRST)
    assert row.before is not None
    assert row.before.id == sha(6)
    (always,) = History(database).levels(ALWAYS, ALL, FIRST)
    assert always.effect is not None
    assert always.effect.log_ratio == near(math.log(2))


def test_the_worst_come_first_whichever_way_is_better(database: Database) -> None:
    for backend, later, direction in (
        ("a", 11.0, Direction.LOWER),
        ("b", 5.0, Direction.HIGHER),
        ("c", 12.0, Direction.HIGHER),
        ("d", 9.0, Direction.LOWER),
    ):
        keep(
            database,
            *(
                good(day, metric(median=level, direction=direction), backend=backend)
                for day, level in ((1, 10.0), (6, later))
            ),
        )
    reader = History(database)
    rows = reader.levels(MONTH, ALL, FIRST)
    assert [row.cell.backend for row in rows] == ["b", "a", "d", "c"]
    paged = [reader.levels(MONTH, ALL, Page(limit=1, offset=offset)) for offset in range(5)]
    assert [row for page in paged for row in page] == list(rows)


def test_a_cell_without_results_in_the_period_is_no_row_and_elsewhere_is_told(database: Database) -> None:
    keep(database, good(1), good(2))
    keep(database, good(1, backend="cpu"), good(6, metric(median=20.0), backend="cpu", origin=foreign()))
    (row,) = History(database).levels(MONTH, ALL, FIRST)
    assert (row.cell.backend, row.elsewhere) == ("cpu", True)


def test_the_interval_of_a_ratio_recovers_the_variances_of_both() -> None:
    info = MetricInfo(name="NET latency", unit="ms")
    earlier = Figure(metric=info, median=math.exp(1.0), low=math.exp(0.9), high=math.exp(1.2))
    later = Figure(metric=info, median=math.exp(1.5), low=math.exp(1.3), high=math.exp(1.6))
    effect = compare_figures(earlier, later)
    assert effect is not None
    assert effect.log_ratio == near(0.5)
    assert effect.low_log_ratio == near(0.5 - math.hypot(0.2, 0.2))
    assert effect.high_log_ratio == near(0.5 + math.hypot(0.1, 0.1))
    assert compare_figures(earlier, later.model_copy(update={"median": 0.0})) is None
    microseconds = later.model_copy(update={"metric": MetricInfo(name="NET latency", unit="us"), "low": None})
    converted = compare_figures(earlier, microseconds)
    assert converted is not None
    assert (converted.log_ratio, converted.low_log_ratio) == (near(0.5 - math.log(1000)), None)
    assert compare_figures(earlier, later.model_copy(update={"metric": MetricInfo(name="x", unit="bytes")})) is None
