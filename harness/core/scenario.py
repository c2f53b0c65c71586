"""Scenarios: when executions are asked for, and for how long."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, PositiveFloat

from harness.core.values import Value

LEAST_SUSTAINED_S: Final = 10.0
"""Shortest long run: its first figure is that after ten seconds."""

SUSTAINED: Final = "SUSTAINED"
"""Type of the observations of a long run, so that they do not mix with those of a warm device."""

MOST_SAMPLES: Final = 100_000
"""Samples of each metric that a long run keeps, evenly."""

SCENARIO: Final = ("arrival", "sustained_s")
"""Placeholders by which commands know when their executions are asked for, and for how long."""


class Pattern(StrEnum):
    """Pattern in which executions are asked for: at fixed intervals, or at random with a mean interval."""

    PERIODIC = "periodic"
    POISSON = "poisson"


class Arrival(Value):
    """Arrival of executions; without one they follow each other back to back.

    An execution that is due while another one runs begins after it: its response takes longer than its latency.

    Attributes:
        pattern: Their pattern.
        interval_s: The interval, or the mean of random ones.
        deadline_s: Time from when an execution was due until it should have ended; None for no deadline.
        seed: Seed of random intervals, so that both sides of a comparison have the same.
    """

    pattern: Pattern
    interval_s: PositiveFloat
    deadline_s: PositiveFloat | None = None
    seed: int = 0

    @property
    def text(self) -> str:
        """The arrival as programs take it: `periodic:0.033300000`, `poisson:0.050000000:7` with the seed."""
        seed = f":{self.seed}" if self.pattern is Pattern.POISSON else ""
        return f"{self.pattern}:{self.interval_s:.9f}{seed}"


class SustainedRequest(Value):
    """Request to execute for a long time, so that the device becomes as warm as it gets.

    Attributes:
        seconds: How long.
    """

    seconds: Annotated[float, Field(ge=LEAST_SUSTAINED_S, allow_inf_nan=False)]
