"""Opening the database that the settings name."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from harness.config.settings import Settings
from harness.core.errors import EnvironmentProblem
from harness.store.database.engine import PATIENCE_S, Database, open_database
from harness.store.tree import encode_segment

DATABASE_FILE: Final = "results.db"
"""File in the folder of results that is the database where none is named."""


def open_configured(
    settings: Settings, *, create: bool = True, durable: bool = False, patience_s: float = PATIENCE_S
) -> Database:
    """Open the database of `--database`, HARNESS_DATABASE or the saved defaults, or else that beside the results.

    Args:
        settings: The settings.
        create: Whether to make it where there is none.
        durable: Whether what was stored outlives also a failure of power.
        patience_s: How long to wait for other writers, in seconds.

    Raises:
        UsageError: The address is none.
        EnvironmentProblem: It cannot be opened.
    """
    place = settings.database
    if place is None:
        file = settings.local_reporter / DATABASE_FILE
        if not create and not file.exists():
            raise EnvironmentProblem(
                f"no database is named, and there is no {file}",
                hint="`harness store import` makes it; or name one with --database or HARNESS_DATABASE",
            )
        place = str(file)
    return open_database(
        place, create=create, durable=durable, artifacts=_find_artifacts(place, settings), patience_s=patience_s
    )


def _find_artifacts(url: str, settings: Settings) -> Path | None:
    """Return the folder for logs of a database on a server: beside the folder of results. A file has its own."""
    if "://" not in url or url.startswith("sqlite"):
        return None
    try:
        name = urlsplit(url).path.strip("/")
    except ValueError:  # no address: opening it says so
        return None
    return settings.local_reporter.parent / f"{encode_segment(name or 'harness')}.artifacts"
