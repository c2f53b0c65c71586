"""A progress that remembers what it was told, for tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from harness.core.protocols import BoardRow


class RecordedTask:
    """Keeps the last figures."""

    def __init__(self, text: str, total: float | None) -> None:
        self.text = text
        self.completed: float | None = None
        self.total = total

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        """Remember."""
        self.completed = completed if completed is not None else self.completed
        self.total = total if total is not None else self.total
        self.text = text if text is not None else self.text


class RecordedBoard:
    """Keeps the last rows."""

    def __init__(self, title: str, header: tuple[str, ...]) -> None:
        self.title = title
        self.header = header
        self.rows: list[BoardRow] = []

    def show(self, rows: Sequence[BoardRow]) -> None:
        """Remember."""
        self.rows = list(rows)


class RecordedProgress:
    """Keeps every task and every line."""

    def __init__(self) -> None:
        self.tasks: list[str] = []
        self.lines: list[str] = []
        self.boards: list[RecordedBoard] = []

    @contextlib.contextmanager
    def task(self, text: str, total: float | None = None) -> Iterator[RecordedTask]:
        """Remember the task."""
        self.tasks.append(text)
        yield RecordedTask(text, total)

    @contextlib.contextmanager
    def board(self, title: str, header: Sequence[str]) -> Iterator[RecordedBoard]:
        """Remember the board."""
        board = RecordedBoard(title, tuple(header))
        self.boards.append(board)
        yield board

    def say(self, text: str) -> None:
        """Remember the line."""
        self.lines.append(text)
