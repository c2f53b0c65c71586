"""The changes that a series shows, in the words in which they are told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.analysis.trend.reader import Reader, Seen
from harness.analysis.trend.steps import Sensitivity
from harness.core.effect import relative_change
from harness.core.trend import Change, ChangeKind, Series, Trend

_SURE = 1.96
"""Standard errors of a 95 % interval."""

_LEFT = 0.25
"""Part of a change that may be left when it counts as made good."""


def read(series: Series, sensitivity: Sensitivity | None = None) -> Trend:
    """What a series shows.

    A series that grew shows the same changes as before, with the same identities, and perhaps new ones.

    Args:
        series: Points in the order of the history.
        sensitivity: When a change is one.

    Raises:
        ValueError: A point is older in the history than the one before it.
    """
    reader = Reader(series.key, sensitivity or Sensitivity())
    for point in series.points:
        reader.add(point)
    return Trend(
        level=reader.level(),
        changes=tuple(_told(reader.changes, series.higher_is_better)),
        suspicion=reader.suspicion(),
    )


def _told(changes: Sequence[Seen], higher_is_better: bool) -> Iterator[Change]:
    worse = -1 if higher_is_better else 1
    standing: list[Seen] = []
    for seen in changes:
        recovered: list[Seen] = []
        if worse * seen.shape.size > 0:
            kind = ChangeKind.DRIFT if seen.shape.drifts else ChangeKind.STEP
            standing.append(seen)
        else:
            recovered = [earlier for earlier in standing if _is_made_good(earlier, seen, worse)]
            standing = [earlier for earlier in standing if earlier not in recovered]
            kind = ChangeKind.RECOVERY if recovered else ChangeKind.IMPROVEMENT
        yield _change(seen, kind, tuple(earlier.identity for earlier in recovered))


def _is_made_good(earlier: Seen, seen: Seen, worse: int) -> bool:
    """Whether the level is again what it was before an earlier change for the worse, or better."""
    left = worse * (seen.shape.old + seen.shape.size - earlier.shape.old)
    return left <= _LEFT * abs(earlier.shape.size)


def _change(seen: Seen, kind: ChangeKind, recovers: tuple[str, ...]) -> Change:
    size, reach = seen.shape.size, _SURE * seen.shape.error
    return Change(
        identity=seen.identity,
        kind=kind,
        before=seen.before.commit,
        before_order=seen.before.order,
        after=seen.after.commit,
        after_order=seen.after.order,
        size=relative_change(size),
        low=relative_change(size - reach),
        high=relative_change(size + reach),
        score=seen.score,
        seen=seen.seen,
        recovers=recovers,
    )
