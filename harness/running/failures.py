"""Failures that end a benchmark whose launches are repeated, in pairs or in rounds."""

from __future__ import annotations

from typing import Final

from harness.core.errors import BenchmarkFailed
from harness.core.result import Launch, Outcome

_TIMEOUT_HINT: Final = (
    "`--timeout SECONDS`, or the key `timeout` of a test, limits each launch: raise it for a program that is slow, and "
    "lower it to hear sooner of one that hangs; `time_limit_s` is a budget that ends no program"
)
_ENDED_HINT: Final = "the folder of the result has its command line (`result.json`), and all that it wrote (`logs`)"


def hint_for(outcome: Outcome) -> str | None:
    """Return what to do about a launch that ended so; None where its reason says it."""
    if outcome is Outcome.TIMEOUT:
        return _TIMEOUT_HINT
    return _ENDED_HINT if outcome in {Outcome.CRASHED, Outcome.FAILED} else None


class TooManyFailures(BenchmarkFailed):
    """Launches of one side fail too often: there is nothing to compare."""

    def __init__(self, side: str, launch: Launch, unusable: str, *, failed: int, launches: int) -> None:
        reason = launch.reason or unusable
        super().__init__(
            f"the {side} failed in {failed} of {launches} launches: {reason}",
            hint=hint_for(launch.outcome),
        )
        self.outcome = Outcome.FAILED if launch.outcome is Outcome.OK else launch.outcome
