"""Reader of the database for everything that shows results."""

from __future__ import annotations

import time
from collections.abc import Callable

from harness.core.device_doubt import DeviceDoubt
from harness.core.result import Result
from harness.store.database.doubts import load_doubts
from harness.store.database.engine import Database
from harness.store.database.views.alarms import find_alarm, list_alarms
from harness.store.database.views.backends import list_backends
from harness.store.database.views.changes import list_changes
from harness.store.database.views.commits import find_commit, list_commits, list_results_of
from harness.store.database.views.coverage import load_coverage
from harness.store.database.views.differences import list_differences
from harness.store.database.views.histories import load_history
from harness.store.database.views.latest import (
    find_row,
    list_artifacts,
    list_latest,
    list_results,
    load_options,
)
from harness.store.database.views.levels import list_levels
from harness.store.database.views.selecting import is_stored_text
from harness.store.database.writing import load_stored
from harness.store.history import (
    AlarmDetail,
    AlarmRow,
    ArtifactInfo,
    BackendRow,
    CellHistory,
    ChangeRow,
    CommitDifference,
    CommitPage,
    CommitRow,
    Coverage,
    FilterValues,
    Page,
    Period,
    ResultPage,
    ResultRow,
    Selection,
)


class History:
    """Views of a database (`HistoryReader`). Each method reads one state of it.

    Args:
        database: The database; the caller closes it.
        clock: Returns Unix seconds: mutes of alarms end.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def options(self) -> FilterValues:
        """Return the values that filters can take."""
        with self._database.read() as connection:
            return load_options(connection)

    def latest(self, selection: Selection, page: Page) -> ResultPage:
        """Return the newest result of each cell, by model, identifier and device."""
        with self._database.read() as connection:
            return list_latest(connection, selection, page)

    def results(self, selection: Selection, period: Period, page: Page) -> ResultPage:
        """Return results by the start of their measurement, newest first."""
        with self._database.read() as connection:
            return list_results(connection, selection, period, page)

    def result(self, uid: str) -> Result | None:
        """Return a result in full, as it was measured, with every sample."""
        return load_stored(self._database, uid) if is_stored_text(uid) else None

    def row(self, uid: str) -> ResultRow | None:
        """Return a result as lists have it."""
        with self._database.read() as connection:
            return find_row(connection, uid)

    def doubts(self, result: Result) -> tuple[DeviceDoubt, ...]:
        """Return the doubts about its device that concern a result."""
        if result.device is None:
            return ()
        with self._database.read() as connection:
            found = load_doubts(connection, [result.device.identity])
        return tuple(doubt for doubt in found if doubt.concerns(result))

    def artifacts(self, uid: str) -> tuple[ArtifactInfo, ...]:
        """Return the files that belong to a result, by name."""
        with self._database.read() as connection:
            return list_artifacts(connection, uid)

    def cell(self, key: str, metric: str, period: Period, limit: int) -> CellHistory | None:
        """Return the history of a cell."""
        with self._database.read() as connection:
            return load_history(connection, key, metric, period, limit)

    def changes(self, period: Period, selection: Selection, page: Page) -> tuple[ChangeRow, ...]:
        """Return proven changes of a period."""
        with self._database.read() as connection:
            return list_changes(connection, period, selection, page)

    def levels(self, period: Period, selection: Selection, page: Page) -> tuple[ChangeRow, ...]:
        """Return levels before and at the end of a period, side by side."""
        with self._database.read() as connection:
            return list_levels(connection, period, selection, page)

    def commits(self, text: str, page: Page) -> CommitPage:
        """Return commits by their newest measurement."""
        with self._database.read() as connection:
            return list_commits(connection, text, page)

    def commit(self, name: str) -> CommitRow | None:
        """Return a commit by its id, the beginning of it, or its name."""
        with self._database.read() as connection:
            return find_commit(connection, name)

    def results_of(self, commit: str, selection: Selection, page: Page) -> ResultPage:
        """Return the newest result of each cell at a commit; failures first, then regressions."""
        with self._database.read() as connection:
            return list_results_of(connection, commit, selection, page)

    def differences(self, control: str, treatment: str, selection: Selection) -> tuple[CommitDifference, ...]:
        """Return every cell that was measured at one of two commits."""
        with self._database.read() as connection:
            return list_differences(connection, control, treatment, selection)

    def backends(self, model: str, devices: tuple[str, ...]) -> tuple[BackendRow, ...]:
        """Return the newest good result of each benchmark of a model, by device."""
        with self._database.read() as connection:
            return list_backends(connection, model, devices)

    def coverage(self, selection: Selection, fresh_since: float | None) -> Coverage:
        """Return which combinations of benchmarks and devices have results, and why others have none."""
        with self._database.read() as connection:
            return load_coverage(connection, selection, fresh_since)

    def alarms(self, *, only_open: bool, selection: Selection, period: Period, page: Page) -> tuple[AlarmRow, ...]:
        """Return alarms, newest first."""
        with self._database.read() as connection:
            return list_alarms(connection, selection, period, page, only_open=only_open, now=self._clock())

    def alarm(self, identity: str) -> AlarmDetail | None:
        """Return everything about an alarm."""
        with self._database.read() as connection:
            return find_alarm(connection, identity, self._clock())
