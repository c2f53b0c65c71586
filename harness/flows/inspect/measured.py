"""Results that a command has just measured, as one document: what `--json` prints in place of the table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rich.console import Console

from harness.core.protocols import Reporter
from harness.core.result import make_writable, without_samples
from harness.display.documents import print_document
from harness.flows.measure.reporting import CollectingReporter
from harness.presentation.documents import ResultsDocument


@contextlib.contextmanager
def open_document(console: Console) -> Iterator[tuple[Reporter, ...]]:
    """Yield the listener of a command, and print a document of its results at the end.

    An error that ends the command leaves the results until then in the document, and without any prints none.
    """
    collector = CollectingReporter()
    try:
        yield (collector,)
    except BaseException:
        if collector.results:
            _print(collector, console)
        raise
    _print(collector, console)


def _print(collector: CollectingReporter, console: Console) -> None:
    print_document(ResultsDocument(results=tuple(map(without_samples, map(make_writable, collector.results)))), console)
