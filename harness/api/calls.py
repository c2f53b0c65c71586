"""Calls of flows from Python: results are collected, messages recorded, and an interruption ends what runs."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from harness import display
from harness.api.results import Results
from harness.core.errors import ExitCode, HarnessError, UsageError
from harness.core.protocols import Board, BoardRow, Display, Task
from harness.flows.measure.reporting import CollectingReporter
from harness.shell import Interrupted
from harness.shell.calls import call_interruptibly

_LOG: Final = logging.getLogger("harness")


class _Hidden:
    """Task and board that are not shown."""

    def update(self, *_: object, **__: object) -> None:
        """Show nothing."""

    def show(self, rows: Sequence[BoardRow]) -> None:
        """Show nothing."""


class RecordingDisplay:
    """Display that records messages and writes them to the log; tasks and tables are shown where somebody looks.

    Args:
        shown: Shows everything, too; None shows nothing.
    """

    def __init__(self, shown: Display | None) -> None:
        self._shown = shown
        self._lock = threading.Lock()
        self.messages: list[str] = []

    def say(self, text: str) -> None:
        """Record a message."""
        self._record(text, logging.INFO)
        if self._shown is not None:
            self._shown.say(text)

    def warn(self, text: str) -> None:
        """Record a message about something that went wrong."""
        self._record(text, logging.WARNING)
        if self._shown is not None:
            self._shown.warn(text)

    def _record(self, text: str, level: int) -> None:
        with self._lock:
            self.messages.append(text)
        _LOG.log(level, "%s", text)

    @contextlib.contextmanager
    def task(self, text: str, total: float | None = None) -> Iterator[Task]:
        """Begin a task."""
        with self._shown.task(text, total) if self._shown is not None else contextlib.nullcontext(_Hidden()) as task:
            yield task

    @contextlib.contextmanager
    def board(self, title: str, header: Sequence[str]) -> Iterator[Board]:
        """Begin a table."""
        with (
            self._shown.board(title, header) if self._shown is not None else contextlib.nullcontext(_Hidden()) as board
        ):
            yield board


class Call(Struct, frozen=True):
    """State of a call, for the flow that does its work.

    Attributes:
        display: Records messages.
        collector: Receives each result.
    """

    display: RecordingDisplay
    collector: CollectingReporter


def call(work: Callable[[Call], ExitCode], *, progress: bool) -> Results:
    """Do the work of a call, and return its results with its exit code and messages.

    An error that ends it after the first result is part of what is returned: results that were measured are not lost.

    Raises:
        HarnessError: Nothing was measured; or the process is being stopped.
    """
    with display.open_display() if progress else contextlib.nullcontext() as shown:
        state = Call(RecordingDisplay(shown), CollectingReporter())
        error: HarnessError | None = None
        try:
            code = call_interruptibly(lambda: work(state))
        except (Interrupted, UsageError):
            raise
        except HarnessError as problem:
            if not state.collector.results:
                raise
            error, code = problem, problem.exit_code
            state.display.warn(str(problem))
    return Results(tuple(state.collector.results), code, tuple(state.display.messages), error)
