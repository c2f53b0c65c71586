"""Keep the reports of alarms in the database of `--database`, where the pages of alarms and changes show them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from harness.core.errors import HarnessError, ReporterFailed
from harness.core.values import replace_surrogates

if TYPE_CHECKING:
    from harness.config.settings import Settings
    from harness.core.alarm import AlarmReport
    from harness.core.alarm_protocols import AlarmReporter


class DatabaseAlarms:
    """Reporter of alarms that stores each in a database (`AlarmReporter`).

    Args:
        url: File of SQLite, or address of PostgreSQL.
    """

    name = "database"

    def __init__(self, url: str) -> None:
        self._url = url

    def report(self, report: AlarmReport) -> str:
        """Store a report in place of an earlier one of the same alarm; a later one that is there already stays.

        Returns:
            Name of the database, without a password.

        Raises:
            ReporterFailed: It could not be stored; it is tried again.
        """
        from harness.store.database.alarms import store_alarm  # noqa: PLC0415 - alarms are rare
        from harness.store.database.engine import open_database  # noqa: PLC0415

        try:
            with open_database(self._url) as database:
                store_alarm(database, replace_surrogates(report), now=time.time())
                return database.place
        except HarnessError as error:
            raise ReporterFailed(error.message, hint=error.hint) from error


def create(settings: Settings) -> AlarmReporter | None:
    """Create the reporter of alarms for `--database`, if given."""
    return DatabaseAlarms(settings.database) if settings.database is not None else None
