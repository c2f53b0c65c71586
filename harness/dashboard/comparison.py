"""Two commits side by side: verdicts where they were compared pair by pair, and medians in grey elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from harness.core.effect import Effect
from harness.core.metric import Direction
from harness.core.verdict import Verdict
from harness.dashboard.links import Site
from harness.dashboard.rendering import render_view
from harness.presentation.differences import WHAT_IS_UNKNOWN
from harness.store.history import CommitDifference, CommitInfo, CommitRow

SUGGESTED_THRESHOLD: Final = 0.05
"""Threshold that a person may switch on; PyTorch's dashboard colours from there."""


class _ShownDifference(Struct, frozen=True):
    """Row of the table.

    Attributes:
        difference: What the store has.
        effect: Treatment against control: of a comparison, else of the medians.
        kind: Class of the style sheet.
        word: Verdict in a word; empty where nothing was decided.
        mark: Mark of the verdict.
    """

    difference: CommitDifference
    effect: Effect | None
    kind: str
    word: str = ""
    mark: str = ""

    @property
    def state(self) -> str:
        """What it is counted as: its class, `medians`, or `alone` where a side has no figure."""
        return self.kind or ("medians" if self.effect is not None else "alone")


def render_comparison(
    control: CommitInfo | None,
    treatment: CommitInfo | None,
    differences: Sequence[CommitDifference],
    threshold: float | None,
    site: Site,
    *,
    commits: Sequence[CommitRow] = (),
    pairs: Sequence[tuple[CommitInfo, CommitInfo]] = (),
) -> str:
    """Render every cell that was measured at one of two commits.

    Args:
        control: The earlier commit; None while none is chosen.
        treatment: The later one; likewise.
        differences: One for each cell.
        threshold: Relative change from which rows are coloured whatever the verdict; None colours by verdicts alone.
        site: What all pages have in common.
        commits: Commits to choose from, where a server answers.
        pairs: Control and treatment of the pages that there are, where none does.
    """
    rows = [_describe(difference, threshold) for difference in differences]
    rows.sort(key=lambda row: (_RANK.get(row.kind, len(_RANK)), row.difference.cell.title))
    return render_view(
        "comparison.html",
        site,
        title="Two commits side by side",
        view="Compare",
        control=control,
        treatment=treatment,
        rows=rows,
        counts=_count(rows),
        threshold=threshold,
        suggested=SUGGESTED_THRESHOLD,
        commits=commits,
        pairs=pairs,
        caution=WHAT_IS_UNKNOWN,
        has_medians=any(row.difference.contrast is None and row.effect is not None for row in rows),
    )


_RANK: Final = {"regression": 0, "worse": 0, "improvement": 1, "better": 1, "undecided": 2, "no-change": 3, "": 4}


def _count(rows: Sequence[_ShownDifference]) -> list[tuple[str, str, str]]:
    """Return state, class of the style sheet and words of each state that rows are in; every row is in one of them."""
    counts = Counter((row.state, row.kind, row.mark, row.word or _OTHERS[row.state]) for row in rows)
    order = sorted(counts.items(), key=lambda each: (_RANK.get(each[0][1], len(_RANK)), each[0][0] == "alone"))
    return [
        (state, kind or "skipped", f"{mark} {count} {_plural(word, count)}".strip())
        for (state, kind, mark, word), count in order
    ]


def _plural(word: str, count: int) -> str:
    return f"{word}s" if count > 1 and word in {"regression", "improvement"} else word


_OTHERS: Final = {"medians": "by medians alone", "alone": "without a figure on both sides"}


def _describe(difference: CommitDifference, threshold: float | None) -> _ShownDifference:
    contrast = difference.contrast
    effect = contrast.effect if contrast is not None else difference.ratio
    if threshold is not None and effect is not None and difference.metric is not None:
        return _ShownDifference(difference, effect, *_colour(effect, difference.metric.direction, threshold))
    if contrast is None:
        return _ShownDifference(difference, effect, "")
    kind, word, mark = _OF_VERDICT[contrast.verdict]
    return _ShownDifference(difference, effect, kind, word, mark)


def _colour(effect: Effect, direction: Direction, threshold: float) -> tuple[str, str, str]:
    """Return class, word and mark of a change by its size alone."""
    change = effect.relative_change
    if abs(change) < threshold:
        return "no-change", "within the threshold", "="
    is_worse = (change > 0) == (direction is Direction.LOWER)
    return ("worse", "worse than the threshold", "▼") if is_worse else ("better", "better than the threshold", "▲")


_OF_VERDICT: Final = {
    Verdict.REGRESSION: ("regression", "regression", "▼"),
    Verdict.IMPROVEMENT: ("improvement", "improvement", "▲"),
    Verdict.UNDECIDED: ("undecided", "undecided", "?"),
    Verdict.NO_CHANGE: ("no-change", "no change", "="),
}
