"""Failures that end a benchmark whose launches are repeated, in pairs or in rounds."""

from __future__ import annotations

from typing import Final

from harness.core.errors import BenchmarkFailed
from harness.core.result import Launch, Outcome

TIMEOUT_HINT: Final = (
    "`--timeout SECONDS`, or the key `timeout` of a test, limits each launch: raise it for a program that is slow, and "
    "lower it to hear sooner of one that hangs; `time_limit_s` is a budget that ends no program"
)


class TooManyFailures(BenchmarkFailed):
    """Launches of one side fail too often: there is nothing to compare."""

    def __init__(self, side: str, launch: Launch, unusable: str, *, failed: int, launches: int) -> None:
        reason = launch.reason or unusable
        super().__init__(
            f"the {side} failed in {failed} of {launches} launches: {reason}",
            hint=TIMEOUT_HINT if launch.outcome is Outcome.TIMEOUT else None,
        )
        self.outcome = Outcome.FAILED if launch.outcome is Outcome.OK else launch.outcome
