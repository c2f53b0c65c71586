"""Deadlines: how many executions of a paced run responded too late, and whether 99 % of them are in time.

The interval of the share is that of Clopper and Pearson. Executions that follow one another are not independent: one
that is late makes the next one wait. So it is too narrow where many of them are late in a row, and the note says how
many rows there were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from harness.core.metric import Direction, Metric, convert
from harness.core.note import Note
from harness.core.percent import in_percent
from harness.core.scenario import Arrival

RESPONSE_TIME: Final = "NET response_time"
MISSED_DEADLINES: Final = "missed_deadlines"

ALLOWED: Final = 0.01
"""Share of late executions up to which a deadline is met: p99 is not later than the deadline."""


def assess_deadline(metrics: Sequence[Metric], arrival: Arrival | None) -> tuple[tuple[Metric, ...], tuple[Note, ...]]:
    """Return the share of executions that were late, and a note on whether the deadline is met.

    Args:
        metrics: Metrics of a result, with `NET response_time`.
        arrival: When its executions were asked for; None where they were back to back.

    Returns:
        The metric `NET missed_deadlines` and the note `deadline`; neither without a deadline or response times.
    """
    response = next((metric for metric in metrics if metric.name == RESPONSE_TIME and metric.samples), None)
    factor = convert(1.0, response.unit, "s") if response is not None else None
    if arrival is None or arrival.deadline_s is None or response is None or factor is None:
        return (), ()
    late = [factor * sample > arrival.deadline_s for sample in response.samples]
    share = sum(late) / len(late)
    metric = Metric(
        name=f"NET {MISSED_DEADLINES}",
        type="NET",
        metric=MISSED_DEADLINES,
        unit="",
        direction=Direction.LOWER,
        summary={"n": float(len(late)), "mean": share, "p50": share},
    )
    return (metric,), tuple(_note(late, arrival.deadline_s, response.launches))


def _note(late: Sequence[bool], deadline_s: float, launches: Sequence[int]) -> Iterator[Note]:
    from harness.analysis.accuracy.intervals import proportion_interval  # noqa: PLC0415 - numpy, for deadlines only

    missed, count = sum(late), len(late)
    interval = proportion_interval(missed, count)
    if interval is None:
        return
    if interval.high <= ALLOWED:
        verdict = "p99 meets it"
    elif interval.low > ALLOWED:
        verdict = "p99 misses it"
    else:
        verdict = "whether p99 meets it is not sure after so few executions"
    rows = sum(now and not (before and same) for (before, now), same in _neighbours(late, launches))
    in_rows = f" in {rows} row{'s' if rows != 1 else ''}" if missed > rows else ""
    yield Note(
        code="deadline",
        message=f"{missed} of {count} executions{in_rows} responded later than the deadline of "
        f"{1000 * deadline_s:g} ms ({in_percent(missed / count, 2)}, 95 % interval {in_percent(interval.low, 2)} to "
        f"{in_percent(interval.high, 2)}): {verdict}",
    )


def _neighbours(late: Sequence[bool], launches: Sequence[int]) -> Iterator[tuple[tuple[bool, bool], bool]]:
    """Yield each execution with the one before it, and whether both were in one launch."""
    same = (before == now for before, now in pairwise(launches))
    yield from zip(pairwise((False, *late)), (False, *same), strict=True)
