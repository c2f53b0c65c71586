"""`harness history`: bring a store up to date, choose what gets a page, and write the pages."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct

from harness.config.settings import Settings
from harness.core.errors import ExitCode, UsageError
from harness.core.protocols import Display
from harness.flows.history.folder import PageFolder
from harness.flows.history.pages import SiteWriter
from harness.flows.history.selection import Extent, choose_contents
from harness.store.database.engine import Database, open_database
from harness.store.database.folder import import_folder
from harness.store.database.opening import open_configured
from harness.store.database.views.reader import History

_CACHE: Final = "history"
"""Folder of the cache for the databases of folders of results."""


class HistoryRequest(Struct, frozen=True):
    """What `harness history` is asked for.

    Attributes:
        folder: Folder of results, also relative to the tree; None for the database, else for the tree.
        output: Folder for the pages.
        extent: How much gets a page.
        title: Name of the site.
    """

    folder: Path | None
    output: Path
    extent: Extent
    title: str


def write_history(request: HistoryRequest, settings: Settings, display: Display) -> ExitCode:
    """Write the pages of a store, or of a folder of results, and say where they are.

    Returns:
        `ENVIRONMENT` where a result could not be read, or has the identifier of another: it is named, and is missing on
        every page.

    Raises:
        UsageError: There are no results, or the folder for the pages holds files of somebody else.
        EnvironmentProblem: The store cannot be read, or the pages cannot be written.
    """
    pages = PageFolder(request.output)
    with _open_store(request.folder, settings, display) as (database, is_complete):
        history = History(database)
        contents = choose_contents(history, request.extent)
        if not contents.latest:
            raise UsageError("there are no results", hint="measure first: harness mv2; or name a folder of results")
        writer = SiteWriter(pages, history, database.artifacts, contents, title=request.title, made=time.time())
        with display.task("writing pages", total=writer.total) as task:
            for number, _ in enumerate(writer.write(), 1):
                task.update(completed=number)
    removed = pages.finish()
    display.say(
        f"latest of {len(contents.latest)} (benchmark and device), {len(contents.pages.results)} in full: "
        f"{pages.written} files written, {pages.kept} unchanged, {removed} removed"
    )
    display.say(f"open {request.output / 'index.html'}")
    return ExitCode.OK if is_complete else ExitCode.ENVIRONMENT


@contextlib.contextmanager
def _open_store(folder: Path | None, settings: Settings, display: Display) -> Iterator[tuple[Database, bool]]:
    """Open the database, or one in the cache with the results of a folder; also return whether all could be read."""
    if folder is None and settings.database is not None:
        with open_configured(settings, create=False) as database:
            yield database, True
        return
    place = _find_folder(folder, settings)
    name = sha256(str(place.resolve()).encode(errors="surrogateescape")).hexdigest()[:32]
    with open_database(settings.cache_dir / _CACHE / f"{name}.db") as database:
        imported = import_folder(database, place, progress=display, now=time.time())
        for problem in imported.unreadable:
            display.warn(f"✗ {problem}")
        for conflict in imported.conflicts:
            display.warn(f"✗ {conflict.place}: left out, since another result has its identifier {conflict.uid}")
        yield database, not imported.unreadable and not imported.conflicts


def _find_folder(folder: Path | None, settings: Settings) -> Path:
    if folder is None:
        return settings.local_reporter
    place = folder if folder.exists() else settings.local_reporter / folder
    if not place.is_dir():
        raise UsageError(f"there is no folder {folder}", hint="name a folder of results: harness history FOLDER")
    return place
