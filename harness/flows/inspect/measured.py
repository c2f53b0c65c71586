"""Results that a command has just measured, as one document: what `--json` prints in place of the table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rich.console import Console

from harness.core.protocols import Reporter
from harness.core.result import Report, Result, make_writable, without_samples
from harness.display.documents import print_document
from harness.presentation.documents import ResultsDocument


class _Collector:
    """Reporter that keeps the results of all runs of a command, without samples."""

    name = "document"

    def __init__(self) -> None:
        self.results: list[Result] = []

    def report(self, report: Report) -> None:
        self.results.append(without_samples(make_writable(report.result)))

    def close(self) -> None:
        """Do nothing: another commit may follow."""


@contextlib.contextmanager
def open_document(console: Console) -> Iterator[tuple[Reporter, ...]]:
    """Yield the listener of a command, and print a document of its results at the end.

    An error that ends the command leaves the results until then in the document, and without any prints none.
    """
    collector = _Collector()
    try:
        yield (collector,)
    except BaseException:
        if collector.results:
            _print(collector, console)
        raise
    _print(collector, console)


def _print(collector: _Collector, console: Console) -> None:
    print_document(ResultsDocument(results=tuple(collector.results)), console)
