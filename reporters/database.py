"""Keep every result in a database, with its logs: `--database FILE` (SQLite) or `--database postgresql://HOST/NAME`.

The folder of results stays the archive: it needs nothing but a disk, and its folders are what pages and messages name.
So a database that fails costs no result and stops no measurement. What it missed is stored at the end of the run from
the folder, or by `harness store import`.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.config.settings import Settings
from harness.core.device_doubt import DeviceDoubt
from harness.core.errors import EnvironmentProblem, HarnessError, ReporterFailed
from harness.core.protocols import Reporter
from harness.core.result import Report, make_writable
from harness.files.writability import check_writable_folder

if TYPE_CHECKING:
    from harness.store.database.engine import Database
    from harness.store.database.writing import NewResult


class DatabaseReporter:
    """Reporter that stores results in a database, which several processes may share.

    Args:
        settings: The database, and the folder of results.
    """

    name = "database"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._database: Database | None = None
        self._missed: list[Path | None] = []

    def prepare(self) -> None:
        """Open the database, bring its tables up to date, and write into it.

        Raises:
            EnvironmentProblem: One of these is not possible.
        """
        from sqlalchemy import delete, insert  # noqa: PLC0415 - only where a database is asked for

        from harness.store.database.tables import COMMITS  # noqa: PLC0415

        database = self._open()
        probe = f"probe-{uuid.uuid4().hex}"
        with database.write() as connection:  # written and gone with one transaction, which a full disk refuses
            connection.execute(insert(COMMITS).values(source="", sha=probe))
            connection.execute(delete(COMMITS).where(COMMITS.c.source == "", COMMITS.c.sha == probe))
        try:
            check_writable_folder(database.artifacts.path)
        except OSError as error:
            raise EnvironmentProblem(
                f"logs cannot be stored in {database.artifacts.path}: {error.strerror or error}",
                hint="free disk space or fix permissions there, or leave out --database",
            ) from error

    def report(self, report: Report) -> None:
        """Store one result with its logs."""
        from harness.store.database.writing import NewResult  # noqa: PLC0415 - only where a database is asked for

        try:
            self._store(NewResult(result=make_writable(report.result), logs=report.logs))
        except HarnessError as error:
            self._missed.append(Path(report.place) if report.place is not None else None)
            raise self._describe(error) from error

    def keep_doubts(self, doubts: Sequence[DeviceDoubt]) -> None:
        """Store of which devices the results are in doubt."""
        from harness.store.database.doubts import store_doubts  # noqa: PLC0415 - only where a database is asked for

        store_doubts(self._open(), doubts)

    @property
    def unreported(self) -> int:
        """Number of results of this run that are not in the database."""
        return len(self._missed)

    def close(self) -> None:
        """Store what the database missed, from the folder of results."""
        try:
            self._store_missed()
        except HarnessError as error:
            raise self._describe(error) from error
        finally:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _store_missed(self) -> None:
        if not self._missed:
            return
        from harness.store.canonical_json import load_result  # noqa: PLC0415 - only where something was missed
        from harness.store.database.folder import read_logs  # noqa: PLC0415
        from harness.store.database.writing import NewResult  # noqa: PLC0415

        for place in tuple(self._missed):
            if place is not None:
                self._store(NewResult(result=load_result(place), logs=read_logs(place)))
                self._missed.remove(place)

    def _open(self) -> Database:
        from harness.store.database.opening import open_configured  # noqa: PLC0415 - only where one is asked for

        if self._database is None:
            self._database = open_configured(self._settings)
        return self._database

    def _store(self, new: NewResult) -> None:
        from harness.store.database.writing import Storing, store_results  # noqa: PLC0415 - as above

        if store_results(self._open(), [new], now=time.time()) == (Storing.CONFLICT,):
            raise ReporterFailed(f"the database has another result with the identifier {new.result.uid}")

    def _describe(self, error: HarnessError) -> ReporterFailed:
        return ReporterFailed(
            f"not stored in the database: {error.message}",
            hint=f"the result is safe in {self._settings.local_reporter}: `harness store import` brings it later",
        )


def create(settings: Settings) -> Reporter | None:
    """Create the reporter for `--database`, if given."""
    return None if settings.database is None else DatabaseReporter(settings)
