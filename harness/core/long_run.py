"""Long runs: what became of a figure while a device executed for minutes."""

from typing import Annotated, Final

from pydantic import Field

from harness.core.metric import Direction
from harness.core.values import Value

MOST_WINDOWS: Final = 300
"""Windows of a curve: more cannot be told apart in a picture."""

EARLY_S: Final = 10.0
"""When the first figure of a long run is taken: before a device is hot, and after what happens once."""


class Window(Value):
    """Short part of a long run.

    Attributes:
        start_s: Its beginning, in seconds since that of the run.
        end_s: Its end.
        count: Number of its samples.
        p10: Their tenth percentile, in the unit of the metric.
        median: Their median.
        p90: Their ninetieth percentile.
    """

    start_s: float
    end_s: float
    count: int
    p10: float
    median: float
    p90: float


class StableLevel(Value):
    """Part of a long run in which the figure did not change.

    Attributes:
        start_s: Its beginning, in seconds since that of the run.
        end_s: Its end.
        value: Its median, in the unit of the metric.
    """

    start_s: float
    end_s: float
    value: float


class LongRun(Value):
    """A figure over a long run (`harness.analysis.long_run` computes it).

    Attributes:
        metric: Name of the metric, for example `SUSTAINED latency`.
        unit: Its unit.
        direction: Which way is better.
        count: Number of samples.
        end_s: Seconds from the beginning of the run to that of its last execution.
        early: Figure at ten seconds; None for a shorter run.
        steady: Figure of the steady state: after the last change of the level, else of the last fifth.
        steady_since_s: When that part began.
        throttled_after_s: When the figure became worse for good; None where it did not.
        change: Relative change of the figure then: -0.5 is half of it; None where it did not throttle.
        recovered: Whether it became as good as it had been again.
        contention: What other programs took then, where that and not heat explains the change; else empty.
        levels: Its levels, in order; a single one where nothing changed.
        windows: The whole run, in at most 300 windows.
    """

    metric: str
    unit: str
    direction: Direction = Direction.LOWER
    count: int
    end_s: float
    early: float | None = None
    steady: float
    steady_since_s: float
    throttled_after_s: float | None = None
    change: float | None = None
    recovered: bool = False
    contention: str = ""
    levels: tuple[StableLevel, ...] = ()
    windows: Annotated[tuple[Window, ...], Field(max_length=MOST_WINDOWS)] = ()
