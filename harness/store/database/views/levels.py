"""Levels before and at the end of a period: medians side by side, that no test compared.

The interval of their ratio comes from the two intervals over launches. Each median has logarithm m and interval [l, u]
on the logarithmic scale; the difference d = m2 - m1 has the interval

    d - sqrt((m2 - l2)^2 + (u1 - m1)^2)   to   d + sqrt((u2 - m2)^2 + (m1 - l1)^2)

(method of variance estimates recovery: Zou and Donner, "Construction of confidence limits about effect measures",
Statistics in Medicine 27, 2008, equation 5; for ratios by their logarithms as in Donner and Zou, Statistical Methods in
Medical Research 21, 2012). What launches of one run have in common, it cannot show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlalchemy import Connection, ScalarSelect, func, null, select

from harness.core.effect import Effect
from harness.core.metric import Direction, convert
from harness.core.outcome import Outcome
from harness.core.verdict import Verdict
from harness.store.database.tables import CELLS, RESULTS
from harness.store.database.views.rows import load_commits, load_figures, load_named_cells
from harness.store.database.views.selecting import ids_of, split, within
from harness.store.history import ChangeRow, Figure, Page, Period, ProofKind, Selection


def list_levels(connection: Connection, period: Period, selection: Selection, page: Page) -> tuple[ChangeRow, ...]:
    """Return for each cell its last good result before the period, or the first in it, beside the last in it."""
    ends = _find_ends(connection, period, selection)
    figures = load_figures(connection, [identity for _, first, last in ends for identity in (first, last)])
    changes: list[tuple[float, int, int, int]] = []
    for cell, first, last in ends:
        earlier, later = figures.get(first), figures.get(last)
        if earlier is not None and later is not None and earlier.metric.name == later.metric.name:
            changes.append((-measure_worsening(earlier, later), cell, first, last))
    chosen = [change[1:] for change in sorted(changes)[page.offset : page.offset + page.limit]]
    return _describe(connection, chosen, figures)


def compare_figures(earlier: Figure, later: Figure) -> Effect | None:
    """Return the later median against the earlier, with an interval where both have one (see the module).

    None where a median is missing or not positive, or units do not convert.
    """
    values = _find_logarithms(earlier, 1.0)
    factor = convert(1.0, later.metric.unit, earlier.metric.unit)
    others = None if factor is None else _find_logarithms(later, factor)
    if values is None or others is None:
        return None
    (middle, low, high), (middle_2, low_2, high_2) = values, others
    ratio = middle_2 - middle
    if low is None or high is None or low_2 is None or high_2 is None:
        return Effect(log_ratio=ratio)
    return Effect(
        log_ratio=ratio,
        low_log_ratio=ratio - math.hypot(middle_2 - low_2, high - middle),
        high_log_ratio=ratio + math.hypot(high_2 - middle_2, middle - low),
    )


def measure_worsening(earlier: Figure, later: Figure) -> float:
    """Return the log ratio for the worse, positive where it is worse; minus infinity where there is no ratio."""
    effect = compare_figures(earlier, later)
    if effect is None:
        return -math.inf
    return -effect.log_ratio if later.metric.direction is Direction.HIGHER else effect.log_ratio


def _find_logarithms(figure: Figure, factor: float) -> tuple[float, float | None, float | None] | None:
    """Return the logarithms of median, lower and upper end, which is None where it is not positive."""
    if figure.median is None or figure.median <= 0:
        return None
    shift = math.log(factor)
    ends = (None if end is None or end <= 0 else math.log(end) + shift for end in (figure.low, figure.high))
    return math.log(figure.median) + shift, next(ends), next(ends)


def _find_ends(connection: Connection, period: Period, selection: Selection) -> Sequence[tuple[int, int, int]]:
    """Return cells with their two results, where these are not the same."""
    last, first = _find_good(period, newest=True), _find_good(period, newest=False)
    before = _find_before(period.start) if period.start is not None else null()
    query = select(CELLS.c.id, func.coalesce(before, first).label("first"), last.label("last"))
    if (cells := ids_of(selection)) is not None:
        query = query.where(CELLS.c.id.in_(cells))
    return [
        (cell, first_id, last_id)
        for cell, first_id, last_id in connection.execute(query)
        if last_id is not None and first_id is not None and first_id != last_id
    ]


def _find_good(period: Period, *, newest: bool) -> ScalarSelect[int]:
    """Return the query of the newest or oldest good result of a cell in a period; a walk along an index."""
    order = (RESULTS.c.time, RESULTS.c.started, RESULTS.c.id)
    return (
        select(RESULTS.c.id)
        .where(RESULTS.c.cell_id == CELLS.c.id, *within(RESULTS.c.time, period), RESULTS.c.outcome == Outcome.OK.value)
        .order_by(*(column.desc() if newest else column for column in order))
        .limit(1)
        .correlate(CELLS)
        .scalar_subquery()
    )


def _find_before(start: float) -> ScalarSelect[int]:
    """Return the query of the newest good result of a cell before a time."""
    return (
        select(RESULTS.c.id)
        .where(RESULTS.c.cell_id == CELLS.c.id, RESULTS.c.time < start, RESULTS.c.outcome == Outcome.OK.value)
        .order_by(RESULTS.c.time.desc(), RESULTS.c.started.desc(), RESULTS.c.id.desc())
        .limit(1)
        .correlate(CELLS)
        .scalar_subquery()
    )


def _describe(
    connection: Connection, chosen: Sequence[tuple[int, int, int]], figures: dict[int, Figure]
) -> tuple[ChangeRow, ...]:
    columns = (RESULTS.c.id, RESULTS.c.uid, RESULTS.c.commit_id, RESULTS.c.time, RESULTS.c.origin, RESULTS.c.reproduce)
    ids = [identity for _, first, last in chosen for identity in (first, last)]
    rows = {
        row.id: row for part in split(ids) for row in connection.execute(select(*columns).where(RESULTS.c.id.in_(part)))
    }
    cells = load_named_cells(connection, (cell for cell, _, _ in chosen))
    commits = load_commits(connection, (row.commit_id for row in rows.values()))
    return tuple(
        ChangeRow(
            cell=cells[cell],
            metric=figures[last].metric,
            proof=ProofKind.MEDIANS,
            verdict=Verdict.UNDECIDED,
            effect=compare_figures(figures[first], figures[last]),
            before=commits.get(rows[first].commit_id),
            after=commits.get(rows[last].commit_id),
            time=rows[last].time,
            earlier=figures[first],
            later=figures[last],
            result=rows[last].uid,
            reproduce=rows[last].reproduce,
            elsewhere=bool(rows[first].origin or rows[last].origin),
        )
        for cell, first, last in chosen
    )
