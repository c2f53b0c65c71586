"""Opening the database that the settings name."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from harness.config.settings import Settings
from harness.core.errors import UsageError
from harness.store.database.engine import PATIENCE_S, Database, open_database
from harness.store.tree import encode_segment


def open_configured(
    settings: Settings, *, create: bool = True, durable: bool = False, patience_s: float = PATIENCE_S
) -> Database:
    """Open the database of `--database`, HARNESS_DATABASE or the saved defaults.

    Args:
        settings: The settings.
        create: Whether to make it where there is none.
        durable: Whether what was stored outlives also a failure of power.
        patience_s: How long to wait for other writers, in seconds.

    Raises:
        UsageError: None is named, or its address is none.
        EnvironmentProblem: It cannot be opened.
    """
    if settings.database is None:
        raise UsageError(
            "no database is named",
            hint="give --database FILE or --database postgresql://HOST/NAME, or set HARNESS_DATABASE",
        )
    return open_database(
        settings.database,
        create=create,
        durable=durable,
        artifacts=_find_artifacts(settings.database, settings),
        patience_s=patience_s,
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
