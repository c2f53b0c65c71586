"""Choice of what gets a page: a folder of pages for every result of years would be larger than the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from msgspec import Struct

from harness.core.metric import MetricInfo, is_of_operator
from harness.dashboard.static_links import Pages
from harness.store.history import (
    AlarmRow,
    ChangeRow,
    CommitInfo,
    CommitRow,
    HistoryReader,
    Page,
    Period,
    ResultRow,
    Selection,
)

_EVERY_CELL: Final = Selection()
_ALWAYS: Final = Period()
_MOST: Final = 1000
"""Rows that a reader gives at once."""

_FURTHER_METRICS: Final = 8
"""Most metrics of a cell that get a page beside the main one."""

_Row = TypeVar("_Row")


class Extent(Struct, frozen=True):
    """Extent of a folder of pages.

    Attributes:
        commits: Number of the newest commits that get a page.
        results: Number of the newest results that get a page.
    """

    commits: int = 200
    results: int = 200


class Contents(Struct, frozen=True):
    """What the pages of a folder show.

    Attributes:
        latest: The newest result of each cell.
        changes: Proven changes.
        levels: First and last medians of each cell.
        commits: Commits that have a page, newest first; among them given programs that changed a metric.
        pairs: Control and treatment of the pages of two commits side by side.
        alarms: Every alarm.
        pages: What has a page.
        total: Number of commits in the store.
    """

    latest: tuple[ResultRow, ...]
    changes: tuple[ChangeRow, ...]
    levels: tuple[ChangeRow, ...]
    commits: tuple[CommitRow, ...]
    pairs: tuple[tuple[CommitInfo, CommitInfo], ...]
    alarms: tuple[AlarmRow, ...]
    pages: Pages
    total: int


def choose_contents(history: HistoryReader, extent: Extent) -> Contents:
    """Return what the pages of a folder show."""
    latest = tuple(_read_all(lambda page: history.latest(_EVERY_CELL, page).rows))
    changes = tuple(_read_all(lambda page: history.changes(_ALWAYS, _EVERY_CELL, page)))
    levels = tuple(_read_all(lambda page: history.levels(_ALWAYS, _EVERY_CELL, page)))
    alarms = tuple(
        _read_all(lambda page: history.alarms(only_open=False, selection=_EVERY_CELL, period=_ALWAYS, page=page))
    )
    newest = history.commits("", Page(limit=max(1, min(extent.commits, _MOST))))
    commits = _with_changed(newest.rows if extent.commits else (), changes, history)
    newest_results = history.results(_EVERY_CELL, _ALWAYS, Page(limit=max(1, min(extent.results, _MOST)))).rows
    shown = newest_results if extent.results else ()
    pairs = tuple(_pair_commits(commits, history))
    pages = Pages(
        cells=frozenset(_list_cells(latest, history)),
        commits=frozenset(row.commit.id for row in commits),
        comparisons=frozenset((control.id, treatment.id) for control, treatment in pairs),
        models=frozenset(row.cell.model for row in latest),
        results=frozenset(
            {row.uid for row in (*latest, *shown)} | {row.result for row in (*changes, *levels) if row.result}
        ),
        alarms=frozenset(row.identity for row in alarms),
    )
    return Contents(latest, changes, levels, commits, pairs, alarms, pages, newest.total)


def _read_all(read: Callable[[Page], Sequence[_Row]]) -> Iterator[_Row]:
    """Yield the rows of all parts of a list."""
    offset = 0
    while rows := read(Page(limit=_MOST, offset=offset)):
        yield from rows
        offset += len(rows)
        if len(rows) < _MOST:
            return


def _with_changed(
    newest: Sequence[CommitRow], changes: Sequence[ChangeRow], history: HistoryReader
) -> tuple[CommitRow, ...]:
    """Return commits with those that changed a metric, newest measurement first."""
    rows = {row.commit.id: row for row in newest}
    for change in changes:
        if change.after is not None and change.after.id not in rows:
            row = history.commit(change.after.id)
            if row is not None:
                rows[row.commit.id] = row
    return tuple(sorted(rows.values(), key=lambda row: -row.measured))


def _pair_commits(commits: Sequence[CommitRow], history: HistoryReader) -> Iterator[tuple[CommitInfo, CommitInfo]]:
    """Yield each commit as a treatment, with its controls and with the commit before it."""
    for place, row in enumerate(commits):
        results = history.results_of(row.commit.id, _EVERY_CELL, Page(limit=_MOST)).rows
        controls = {result.contrast.control.id: result.contrast.control for result in results if result.contrast}
        before = next((other.commit for other in commits[place + 1 :] if not other.commit.is_given), None)
        if before is not None and not row.commit.is_given:
            controls.setdefault(before.id, before)
        yield from ((control, row.commit) for control in controls.values() if control.id != row.commit.id)


def _list_cells(latest: Sequence[ResultRow], history: HistoryReader) -> Iterator[tuple[str, str]]:
    """Yield the key of each cell with the names of the metrics that have a page; the main one has an empty name."""
    for row in latest:
        shown = history.cell(row.cell.key, "", _ALWAYS, 2)
        yield row.cell.key, ""
        if shown is None or shown.metric is None:
            continue
        names = [metric.name for metric in shown.metrics if metric != shown.metric and not _is_of_operator(metric)]
        for name in names[:_FURTHER_METRICS]:
            yield row.cell.key, name


def _is_of_operator(metric: MetricInfo) -> bool:
    """Return whether it is the time of one operator, of which a model has hundreds."""
    type_, _, name = metric.name.rpartition(" ")
    return is_of_operator(type_, name, metric.unit)
