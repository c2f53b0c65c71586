"""Progress that records its messages, for tests."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from harness.core.protocols import BoardRow


class RecordedTask:
    """Task that records its last figures."""

    def __init__(self, text: str, total: float | None) -> None:
        self.text = text
        self.completed: float | None = None
        self.total = total

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        """Record."""
        self.completed = completed if completed is not None else self.completed
        self.total = total if total is not None else self.total
        self.text = text if text is not None else self.text


class RecordedBoard:
    """Board that records its last rows."""

    def __init__(self, title: str, header: tuple[str, ...]) -> None:
        self.title = title
        self.header = header
        self.rows: list[BoardRow] = []

    def show(self, rows: Sequence[BoardRow]) -> None:
        """Record."""
        self.rows = list(rows)

    def update(self, number: int, row: Callable[[], BoardRow], *, is_decided: bool) -> None:
        """Record, after checking that the row is decided if that is what it is called."""
        self.rows[number] = row()
        if self.rows[number].is_decided is not is_decided:
            raise ValueError(f"{self.rows[number]} is {'' if is_decided else 'not '}called decided")


class RecordedProgress:
    """Progress that records every task, line and board."""

    def __init__(self) -> None:
        self.tasks: list[str] = []
        self.lines: list[str] = []
        self.warnings: list[str] = []
        self.boards: list[RecordedBoard] = []

    @contextlib.contextmanager
    def task(self, text: str, total: float | None = None) -> Iterator[RecordedTask]:
        """Record the task."""
        self.tasks.append(text)
        yield RecordedTask(text, total)

    @contextlib.contextmanager
    def board(self, title: str, header: Sequence[str]) -> Iterator[RecordedBoard]:
        """Record the board."""
        board = RecordedBoard(title, tuple(header))
        self.boards.append(board)
        yield board

    def say(self, text: str) -> None:
        """Record the line."""
        self.lines.append(text)

    def warn(self, text: str) -> None:
        """Record the line as one of the lines, and of the warnings."""
        self.say(text)
        self.warnings.append(text)
