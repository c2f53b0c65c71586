"""Progress that nobody sees: a host builds for others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class SilentProgress:
    """Progress of work whose answer has all that is to be told (`Progress`)."""

    def say(self, text: str) -> None:
        """Show nothing."""

    def warn(self, text: str) -> None:
        """Show nothing."""

    @contextlib.contextmanager
    def task(self, text: str, total: float | None = None) -> Iterator[SilentProgress]:
        """Begin a task that is not shown."""
        del text, total
        yield self

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        """Show nothing."""
