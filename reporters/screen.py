"""The table at the end: what was measured, how far to believe it, and what went wrong."""

from __future__ import annotations

import sys

from rich.console import Console

from harness.config.settings import Settings
from harness.core.errors import ReporterFailed
from harness.core.result import Report, Result, writable
from harness.display.results import show
from harness.presentation.lean import without_samples
from harness.shell.streams import forget


def create(settings: Settings) -> Screen | None:
    """Entry point of the reporter `screen`; beside `simple_screen`, the table goes to standard error."""
    if not settings.screen_reporter:
        return None
    return Screen(Console(file=sys.stderr if settings.simple_screen_reporter else sys.stdout))


class Screen:
    """Keeps what it is told and shows it when the run is over."""

    name = "screen"

    def __init__(self, console: Console) -> None:
        self._console = console
        self._results: list[Result] = []

    def report(self, report: Report) -> None:
        """Remember it for the table, without samples, which no table shows."""
        self._results.append(without_samples(writable(report.result)))

    def close(self) -> None:
        """Show everything."""
        if not self._results:
            return
        try:
            show(self._results, self._console)
        except (OSError, ValueError) as error:  # ValueError: the stream was closed, or knows too few characters
            forget(self._console.file)
            raise ReporterFailed(
                f"the table cannot be shown: {error}",
                hint="whoever reads it must stay until the end; `harness report` shows kept results again",
            ) from error
