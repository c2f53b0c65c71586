"""What a reader of a series knows after its newest point: bounded in size, and stored as JSON between two points."""

from __future__ import annotations

from typing import Final

from harness.analysis.trend.samples import Sample
from harness.core.comparison import STATISTICS
from harness.core.metric import MetricInfo
from harness.core.values import Value

VERSION: Final = 1
"""Version of the rules. What other rules left is not continued: the series is read again from its beginning."""

FigureLevels = tuple[float | None, ...]


class CommitPlace(Value):
    """A commit and its place in the history."""

    commit: str
    order: int


class ChangeShape(Value):
    """Place and size of a change, linear in the order of commits between its ends.

    Attributes:
        first: Number of the first sample that it is taken from.
        start: Number of the last sample at the old level.
        end: Number of the first sample at the new level.
        before: Last commit at the old level.
        after: First commit at the new level.
        last_without: Id of the last commit that surely is at the old level.
        first_with: Id of the first commit that surely is at the new level.
        is_drift: Whether it reaches over more than one commit.
        old: The old level in each figure.
        log_ratios: New level minus the old one in each figure.
        error: Standard error of that in the figure that shows the change.
    """

    first: int
    start: int
    end: int
    before: CommitPlace
    after: CommitPlace
    last_without: str
    first_with: str
    is_drift: bool
    old: FigureLevels
    log_ratios: FigureLevels
    error: float

    def passed_at(self, order: int, figure: int) -> float:
        """Return how much of it had happened at a place in the history: 0 before it, its whole log ratio behind it."""
        share = (order - self.before.order) / (self.after.order - self.before.order)
        return (self.log_ratios[figure] or 0.0) * min(1.0, max(0.0, share))


class DetectedChange(Value):
    """A change with the shape that the points so far give it.

    Attributes:
        identity: Never changes.
        detected_with: The commit with which it was detected.
        score: Its distance in standard errors then.
        figure: Place of the figure that shows it, in `harness.core.comparison.STATISTICS`.
        shape: Its place and size.
        covers: Identities of suspicions that it explains.
    """

    identity: str
    detected_with: str
    score: float
    figure: int
    shape: ChangeShape
    covers: tuple[str, ...] = ()

    @property
    def log_ratio(self) -> float:
        """Return its size in the figure that shows it."""
        return self.shape.log_ratios[self.figure] or 0.0


class Suspicion(Value):
    """A regression that a single comparison proved, and that the series does not show (yet).

    Attributes:
        identity: Never changes.
        place: The commit.
        figure: Place of the figure that shows it best.
        before: Last commit before it.
        last_without: Id of the last commit that surely is at the old level.
        log_ratio: Its level minus that of the series before it.
        error: Standard error of that.
        covers: Identities of earlier suspicions of the same range.
        lasts: Whether every comparison since then was a regression too.
    """

    identity: str
    place: CommitPlace
    figure: int
    before: CommitPlace
    last_without: str
    log_ratio: float
    error: float
    covers: tuple[str, ...] = ()
    lasts: bool = True


class ReaderProgress(Value):
    """Everything that a reader needs to go on with the next point.

    Attributes:
        version: Version of the rules.
        first: Number of the first of the samples that are kept.
        samples: The newest samples.
        begin: Number of the first sample behind the newest change.
        control: The control of the newest point.
        offsets: Level of that control in each figure.
        changes: The newest changes, oldest first.
        suspicions: Those since the newest change.
        metric: The metric, as the newest point that was measured has it.
        title: Name of the benchmark, as the newest point has it.
    """

    version: int = VERSION
    first: int = 0
    samples: tuple[Sample, ...] = ()
    begin: int = 0
    control: str | None = None
    offsets: tuple[float, ...] = (0.0,) * len(STATISTICS)
    changes: tuple[DetectedChange, ...] = ()
    suspicions: tuple[Suspicion, ...] = ()
    metric: MetricInfo | None = None
    title: str = ""
