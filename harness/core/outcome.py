"""Outcome of a benchmark, or of one launch of it."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """Outcome of a benchmark, or of one launch of it."""

    OK = "ok"
    SKIPPED = "skipped"
    UNSUPPORTED = "unsupported"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    FAILED = "failed"
    DEVICE_LOST = "device_lost"
    INTERRUPTED = "interrupted"

    @property
    def is_skipped(self) -> bool:
        """True if nothing was started, and nothing failed."""
        return self in {Outcome.SKIPPED, Outcome.UNSUPPORTED}

    @property
    def words(self) -> str:
        """Name for people, for example `device lost`."""
        return self.value.replace("_", " ")
