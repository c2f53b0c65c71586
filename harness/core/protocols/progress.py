"""Progress that commands show to a person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:  # commands that measure nothing load no comparison
    from harness.core.verdict import Verdict


class Task(Protocol):
    """One line of progress."""

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        """Update its progress. May be called from any thread, often."""


class BoardRow(Struct, frozen=True):
    """Row of a board.

    Attributes:
        cells: One for each column; the first is the name of the row, the last its state in words.
        verdict: Verdict, once there is one that stays.
        failed: True when it ended without a verdict.
    """

    cells: tuple[str, ...]
    verdict: Verdict | None = None
    failed: bool = False

    @property
    def is_decided(self) -> bool:
        """True when the row will not change any more."""
        return self.failed or self.verdict is not None


class Board(Protocol):
    """A table that changes while work is in progress."""

    def show(self, rows: Sequence[BoardRow]) -> None:
        """Replace all rows."""

    def update(self, number: int, row: Callable[[], BoardRow], *, is_decided: bool) -> None:
        """Replace one row. May be called often: what it costs does not depend on the number of rows.

        Args:
            number: Index of the row.
            row: Makes the row if it is ever shown: during this call, or during a later one that has no newer row.
            is_decided: Whether that row is decided.
        """


class Progress(Protocol):
    """Messages of stages to a person. Calls are cheap and never raise; any thread may call."""

    def task(self, text: str, total: float | None = None) -> AbstractContextManager[Task]:
        """Begin a line of progress, which ends with the context."""

    def say(self, text: str) -> None:
        """Show one line that stays."""

    def warn(self, text: str) -> None:
        """Show one line about something that went wrong; it is shown in quiet displays (`--quiet`), too."""


class Display(Progress, Protocol):
    """A progress that can also show a table."""

    def board(self, title: str, header: Sequence[str]) -> AbstractContextManager[Board]:
        """Begin a table, which ends with the context."""
