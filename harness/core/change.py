"""Changes of the level of a series."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from harness.core.comparison import ESTIMATED_STATISTIC, STATISTICS
from harness.core.effect import Effect
from harness.core.metric import MetricInfo
from harness.core.values import Value


class ChangeKind(StrEnum):
    """Kind of a change: a step or a drift for the worse, an improvement, or the recovery from a step or drift."""

    STEP = "step"
    DRIFT = "drift"
    IMPROVEMENT = "improvement"
    RECOVERY = "recovery"


class Change(Value):
    """A change of level, in any of the five figures of a launch.

    Attributes:
        identity: The same while the series grows, however often it is read: an alarm is raised once.
        benchmark: Digest of the benchmark's definition.
        title: Name of the benchmark.
        device: Identity of the device.
        metric: The metric that changed.
        kind: A step or a drift for the worse, an improvement, or the recovery from an earlier step or drift.
        before: Id of the commit that most probably is the last at the old level.
        before_order: Its place in the history.
        after: Id of the commit that most probably is the first at the new level; of a drift that goes on, the newest.
        after_order: Its place in the history.
        last_without: Id of the last commit that surely is at the old level: `before`, or one before it.
        first_with: Id of the first commit that surely is at the new level: `after`, or one after it.
        effect: The new level against the old one, with the 95 % interval if it is a change at all and here.
        score: Distance of the two levels in standard errors, when the change was detected.
        detected_with: Id of the commit with which it was detected.
        recovers: Identities of the changes for the worse whose level it brings back; in an alarm, with those of their
            alarms that are named otherwise.
        figure: The figure of a launch that shows it, one of `harness.core.comparison.STATISTICS` (of
            `GAIN_STATISTICS` where higher is better); `effect` is in that figure.
        covers: Identities of suspicions, raised by single comparisons, that it explains.
    """

    identity: Annotated[str, Field(min_length=1)]
    benchmark: str
    title: str
    device: str
    metric: MetricInfo
    kind: ChangeKind
    before: str
    before_order: int
    after: str
    after_order: int
    last_without: str
    first_with: str
    effect: Effect
    score: float
    detected_with: str
    recovers: tuple[str, ...] = ()
    figure: str = STATISTICS[ESTIMATED_STATISTIC]
    covers: tuple[str, ...] = ()

    @property
    def is_worse(self) -> bool:
        """Return whether it is a change for the worse."""
        return self.kind in {ChangeKind.STEP, ChangeKind.DRIFT}


class Outlier(Value):
    """The newest point of a series, where it stands out alone: measured again, it makes a change or none.

    Attributes:
        commit: Id of the commit to measure again.
        log_ratio: ln(commit / level so far).
        score: The same in standard errors.
        figure: The figure of a launch in which it stands out.
    """

    commit: str
    log_ratio: float
    score: float
    figure: str = STATISTICS[ESTIMATED_STATISTIC]


class Trend(Value):
    """Changes of a series, and its present level.

    Attributes:
        level_log_ratio: ln(level of the newest points / control); None without points.
        changes: Oldest first.
        outlier: The newest point, where it should be measured again.
        suspicion: A regression that the comparison of the newest point proved, and that the series does not show.
    """

    level_log_ratio: float | None = None
    changes: tuple[Change, ...] = ()
    outlier: Outlier | None = None
    suspicion: Change | None = None
