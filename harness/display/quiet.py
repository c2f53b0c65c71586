"""Display for `--quiet`: nothing but what went wrong."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from harness.core.terminal_text import clean_for_terminal
from harness.files.streams import never_failing

if TYPE_CHECKING:
    from harness.core.protocols import BoardRow


class QuietTask:
    """Task that is not shown."""

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        """Show nothing."""


class QuietBoard:
    """Board that is not shown: its rows are in the table of results."""

    def show(self, rows: Sequence[BoardRow]) -> None:
        """Show nothing."""

    def update(self, number: int, row: Callable[[], BoardRow], *, is_decided: bool) -> None:
        """Show nothing."""


class QuietDisplay:
    """Display that prints warnings as plain lines, and nothing else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = never_failing(stream)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    @contextlib.contextmanager
    def task(self, text: str, total: float | None = None) -> Iterator[QuietTask]:
        """Begin a task that is not shown."""
        del text, total
        yield QuietTask()

    @contextlib.contextmanager
    def board(self, title: str, header: Sequence[str]) -> Iterator[QuietBoard]:
        """Begin a board that is not shown."""
        del title, header
        yield QuietBoard()

    def say(self, text: str) -> None:
        """Show nothing."""

    def warn(self, text: str) -> None:
        """Print one line about something that went wrong."""
        print(clean_for_terminal(text), file=self._stream, flush=True)
