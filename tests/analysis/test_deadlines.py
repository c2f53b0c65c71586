"""Deadlines: the share of late executions, its interval, and what is said of p99."""

from __future__ import annotations

import pytest

from harness.analysis.deadlines import assess_deadline
from harness.analysis.summary import collect
from harness.core.metric import Direction, Metric, Observation
from harness.core.scenario import Arrival, Pattern

PACED = Arrival(pattern=Pattern.PERIODIC, interval_s=0.033, deadline_s=0.033)


def response(late: int, count: int, *, unit: str = "ns") -> tuple[Metric, ...]:
    factor = {"ns": 1e6, "ms": 1.0}[unit]
    samples = tuple(factor * (40.0 if number < late else 20.0) for number in range(count))
    return collect([[Observation(type="NET", metric="response_time", unit=unit, samples=samples)]])[0]


@pytest.mark.parametrize(
    ("late", "count", "verdict"),
    [
        (0, 1000, "p99 meets it"),
        (0, 100, "not sure"),
        (10, 1000, "not sure"),
        (30, 1000, "p99 misses it"),
    ],
)
def test_it_says_how_sure_p99_is(late: int, count: int, verdict: str) -> None:
    (metric,), (note,) = assess_deadline(response(late, count), PACED)
    assert (metric.name, metric.unit, metric.direction) == ("NET missed_deadlines", "", Direction.LOWER)
    assert metric.median == late / count
    assert metric.summary["n"] == count
    assert verdict in note.message
    assert note.trust


def test_the_interval_is_that_of_a_binomial() -> None:
    _, (note,) = assess_deadline(response(12, 900), PACED)
    assert "12 of 900 executions in 1 row responded later than the deadline of 33 ms" in note.message
    assert "(1.33 %, 95 % interval 0.69 % to 2.32 %)" in note.message


def test_units_convert_and_rows_end_with_launches() -> None:
    (metric,), _ = assess_deadline(response(12, 900, unit="ms"), PACED)
    assert metric.median == 12 / 900
    (whole,) = response(4, 4)
    two = whole.model_copy(update={"launches": (0, 0, 1, 1)})
    _, (note,) = assess_deadline([two], PACED)
    assert "4 of 4 executions in 2 rows" in note.message


def test_nothing_is_said_without_a_deadline_or_responses() -> None:
    assert assess_deadline(response(1, 9), None) == ((), ())
    assert assess_deadline(response(1, 9), Arrival(pattern=Pattern.POISSON, interval_s=0.1)) == ((), ())
    assert assess_deadline([], PACED) == ((), ())
