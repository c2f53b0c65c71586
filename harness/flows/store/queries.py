"""`harness query`: rows of the results of a database, on the screen, as JSON or as a table in a file."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain
from typing import Final

from msgspec.structs import replace
from rich.console import Console

from harness.core.commit import short_id
from harness.core.errors import ExitCode, UsageError
from harness.core.metric import main_metric
from harness.core.outcome import Outcome
from harness.core.result import Result
from harness.core.verdict import Verdict
from harness.display.documents import print_document
from harness.display.tables import fit_table, print_line, show_hidden, widen
from harness.presentation.documents import Document
from harness.presentation.numbers import format_change, format_interval, format_quantity
from harness.presentation.tables import Column, make_cells
from harness.presentation.text import Line, Span, Tone
from harness.presentation.times import format_time
from harness.presentation.verdicts import mark_stored
from harness.store.database.engine import Database
from harness.store.database.selection import StoredSelection, iterate_selected
from harness.store.rows import MetricRow, make_metric_rows

_ELSEWHERE: Final = (
    "`harness query` lists the newest ones; `harness store import` brings in those of runs without --database"
)

SCREENFUL = 25
"""Results that are shown on the screen without a limit."""


class QueryDocument(Document):
    """`harness query --json`: a row for each metric of each selected result, oldest first.

    Attributes:
        rows: The rows, with the columns of `harness report --export`.
    """

    rows: tuple[MetricRow, ...]


def show_rows(database: Database, selection: StoredSelection, console: Console) -> ExitCode:
    """Show the main metric of each selected result, or the metrics that are selected.

    Raises:
        UsageError: Nothing has the names that are selected. That a period has no results, or no failures, is an answer.
        EnvironmentProblem: The database cannot be read.
    """
    limit = selection.limit
    more = selection if limit is None else replace(selection, limit=limit + 1)  # one more tells whether there are more
    results = [
        list(select_rows(result, selection.metrics or _main_metric(result)))
        for result in iterate_selected(database, more)
    ]
    is_cut = limit is not None and len(results) > limit
    rows = list(chain.from_iterable(results[1:] if is_cut else results))
    console = widen(console)
    if not rows:
        if selection.is_by_name_alone:
            raise UsageError(f"no such results in {database.place}", hint=_ELSEWHERE)
        print_line(Line.of(f"no such results in {database.place}"), console)
        return ExitCode.OK
    columns = _columns(rows)
    console.print(fit_table(columns, console))
    if is_cut:
        print_line(Line.of(Span(f"the newest {limit} are shown; `--limit COUNT` shows more", Tone.MUTED)), console)
    show_hidden(columns, console)
    return ExitCode.OK


def describe_rows(database: Database, selection: StoredSelection, console: Console) -> ExitCode:
    """Print a document about all metrics of the selected results.

    Raises:
        EnvironmentProblem: The database cannot be read.
    """
    results = iterate_selected(database, selection)
    rows = tuple(row for result in results for row in select_rows(result, selection.metrics))
    print_document(QueryDocument(rows=rows), console)
    return ExitCode.OK


def select_rows(result: Result, metrics: Collection[str]) -> Iterator[MetricRow]:
    """Yield the rows of a result that are about some metrics; all where none is named, and that of a failure."""
    for row in make_metric_rows(result):
        if not metrics or row.metric is None or row.metric in metrics:
            yield row


def _main_metric(result: Result) -> tuple[str, ...]:
    main = main_metric(result.metrics)
    return (main.name,) if main is not None else ()


def _columns(rows: list[MetricRow]) -> list[Column]:
    return [
        Column("", list(map(_mark, rows))),
        Column("time (UTC)", make_cells(format_time(row.started) for row in rows)),
        Column("benchmark", make_cells(f"{row.model}/{row.identifier}" for row in rows)),
        Column("device", make_cells(row.device_name or row.device or "" for row in rows), weight=40),
        Column("commit", make_cells(short_id(row.commit or "") for row in rows), weight=50),
        Column("outcome", make_cells(row.outcome.replace("_", " ") for row in rows), weight=60, distinguishing=True),
        Column("metric", make_cells(row.metric or "" for row in rows), weight=70, distinguishing=True),
        Column("median", make_cells(format_quantity(row.median, row.unit or "") for row in rows), right=True),
        Column("n", make_cells("" if row.n is None else str(row.n) for row in rows), weight=20, right=True),
        Column("verdict", make_cells(row.verdict or "" for row in rows)),
        Column("change", make_cells(format_change(row.difference) for row in rows), right=True),
        Column("95 % interval", make_cells(format_interval(row.low, row.high) for row in rows), weight=30),
        Column("reason", make_cells(row.reason or "" for row in rows), weight=10),
    ]


def _mark(row: MetricRow) -> Span:
    verdict = Verdict(row.verdict) if row.verdict else None
    return mark_stored(Outcome(row.outcome), verdict, trusted=row.trusted)
