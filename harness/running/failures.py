"""Failures that end a benchmark whose launches are repeated, in pairs or in rounds."""

from __future__ import annotations

from harness.core.errors import BenchmarkFailed
from harness.core.result import Launch, Outcome


class TooManyFailures(BenchmarkFailed):
    """Launches of one side fail too often: there is nothing to compare."""

    def __init__(self, side: str, launch: Launch, unusable: str, *, failed: int, launches: int) -> None:
        reason = launch.reason or unusable
        super().__init__(f"the {side} failed in {failed} of {launches} launches: {reason}")
        self.outcome = Outcome.FAILED if launch.outcome is Outcome.OK else launch.outcome
