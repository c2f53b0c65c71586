"""Series of commits: one point for each commit that was compared, and the changes that they show.

Sizes inside a series are log ratios, which add up over commits; what is told to people is relative.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from harness.core.comparison import Verdict
from harness.core.values import Value


class SeriesKey(Value):
    """What a series is of.

    Attributes:
        benchmark: Digest of the benchmark's definition, or another name that is the same for the same benchmark.
        device: Identity of the device.
        metric: Name of the metric, for example `NET latency`.
    """

    benchmark: str
    device: str
    metric: str


class Point(Value):
    """What one comparison of a commit with the control says. A commit that was measured again has another point.

    Attributes:
        commit: The commit.
        order: Its place in the history; commits that were left out or did not build leave gaps.
        control: The commit that it was held against.
        control_order: Its place in the history.
        difference: ln(commit / control).
        error: Standard error of `difference`; None where nothing was measured, because the programs are the same bytes.
        pairs: How many pairs it comes from.
        verdict: What the comparison said.
    """

    commit: str
    order: int
    control: str
    control_order: int
    difference: float
    error: Annotated[float, Field(gt=0)] | None = None
    pairs: Annotated[int, Field(ge=0)] = 0
    verdict: Verdict = Verdict.UNDECIDED


class Series(Value):
    """The points of one benchmark on one device, in the order of measurement.

    Attributes:
        key: What it is of.
        higher_is_better: Whether larger values of the metric are better.
        points: In the order of measurement, which is that of the history but for commits measured again.
    """

    key: SeriesKey
    higher_is_better: bool = False
    points: tuple[Point, ...] = ()


class ChangeKind(StrEnum):
    """What happened to a series."""

    STEP = "step"
    DRIFT = "drift"
    IMPROVEMENT = "improvement"
    RECOVERY = "recovery"


class Change(Value):
    """A change of level.

    Attributes:
        identity: Stays the same while the series grows.
        kind: A step or a drift for the worse, an improvement, or the recovery from an earlier step or drift.
        before: Last commit at the old level.
        before_order: Its place in the history.
        after: First commit at the new level; of a drift that goes on, the newest.
        after_order: Its place in the history.
        size: Relative: 0.02 is 2 % more.
        low: Lower end of the 95 % interval of `size` if it is a change at all and here.
        high: Upper end.
        score: Distance of the two levels in standard errors, when it was first seen.
        seen: Commit with which it was first seen.
        recovers: Identities of the changes for the worse that it makes good.
    """

    identity: str
    kind: ChangeKind
    before: str
    before_order: int
    after: str
    after_order: int
    size: float
    low: float
    high: float
    score: float
    seen: str
    recovers: tuple[str, ...] = ()


class Suspicion(Value):
    """A point that stands out, but alone: measured again, it makes a change or none.

    Attributes:
        commit: The commit to measure again.
        difference: ln(commit / level so far).
        score: The same in standard errors.
    """

    commit: str
    difference: float
    score: float


class Trend(Value):
    """What a series shows.

    Attributes:
        level: ln(now / control): the level of the newest points; None without points.
        changes: Oldest first.
        suspicion: The newest point, when it should be measured again.
    """

    level: float | None = None
    changes: tuple[Change, ...] = ()
    suspicion: Suspicion | None = None
