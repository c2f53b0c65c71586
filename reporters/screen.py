"""Show a table at the end of a run: what was measured, how far to trust it, and what went wrong."""

from __future__ import annotations

import sys

from rich.console import Console

from harness.config.settings import Settings
from harness.core.errors import ReporterFailed
from harness.core.result import Report, Result, make_writable, without_samples
from harness.display.console import CleanConsole
from harness.display.results import show_results
from harness.files.streams import discard_output


class ScreenReporter:
    """Reporter that keeps all results of a run and shows them when it is over."""

    name = "screen"

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose
        self._results: list[Result] = []
        self._failed = False

    def report(self, report: Report) -> None:
        """Keep a result for the table, without samples, which no table shows."""
        self._results.append(without_samples(make_writable(report.result)))

    @property
    def unreported(self) -> int:
        """Number of results that a table lacks that could not be shown."""
        return len(self._results) if self._failed else 0

    def close(self) -> None:
        """Show all results."""
        if not self._results:
            return
        try:
            show_results(self._results, self._console, verbose=self._verbose)
        except (OSError, ValueError) as error:  # ValueError: the stream was closed, or knows too few characters
            self._failed = True
            discard_output(self._console.file)
            raise ReporterFailed(
                f"the table cannot be shown: {error}",
                hint="keep the reader of this output open until the end; `harness report` shows stored results again",
            ) from error


def create(settings: Settings) -> ScreenReporter | None:
    """Create the reporter unless it is switched off; beside `simple_screen` it writes to standard error."""
    if not settings.screen_reporter:
        return None
    console = CleanConsole(file=sys.stderr if settings.simple_screen_reporter else sys.stdout)
    return ScreenReporter(console, verbose=settings.verbose)
