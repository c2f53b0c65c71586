"""Results that a command has just measured, as one document: what `--json` prints in place of the table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rich.console import Console

from harness.core.protocols import Reporter
from harness.core.result import Result, make_writable, without_samples
from harness.display.documents import print_document
from harness.flows.measure.reporting import CollectingReporter
from harness.presentation.documents import ResultsDocument


@contextlib.contextmanager
def open_document(console: Console) -> Iterator[tuple[Reporter, ...]]:
    """Yield the listener of a command, and print a document of its results at the end.

    An interruption leaves the results until then in the document. So does an error that ends the command; where there
    are none, it prints no document.
    """
    collector = CollectingReporter(_leave_out_samples)
    try:
        yield (collector,)
    except BaseException as error:
        if collector.results or isinstance(error, KeyboardInterrupt):
            _print(collector, console)
        raise
    _print(collector, console)


def _print(collector: CollectingReporter, console: Console) -> None:
    print_document(ResultsDocument(results=tuple(collector.results)), console)


def _leave_out_samples(result: Result) -> Result:
    """Return what a document shows of a result: a command of many comparisons need not keep their samples."""
    return without_samples(make_writable(result))
