"""Categories that benchmarks of a comparison fall into, and the order in which a reader wants to see them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import Enum
from typing import Final

from harness.core.comparison import Comparison
from harness.core.result import Outcome, Result
from harness.core.verdict import Verdict
from harness.presentation.text import Span, Tone, make_printable


class VerdictCategory(Enum):
    """Verdict of a comparison or the absence of one, most severe first: mark, singular, plural and tone."""

    REGRESSION = ("▼", "regression", "regressions", Tone.BAD)
    IMPROVEMENT = ("▲", "improvement", "improvements", Tone.GOOD)
    UNDECIDED = ("?", "undecided", "undecided", Tone.WARNING)
    NO_CHANGE = ("=", "no change", "no change", Tone.MUTED)
    FAILED = ("✗", "failed", "failed", Tone.BAD)
    SKIPPED = ("-", "skipped", "skipped", Tone.MUTED)

    @property
    def mark(self) -> str:
        """Character that stands for it."""
        return self.value[0]

    @property
    def word(self) -> str:
        """Name of one benchmark in it."""
        return self.value[1]

    @property
    def tone(self) -> Tone:
        """Tone in which it is shown."""
        return self.value[3]

    @property
    def slug(self) -> str:
        """Name as an identifier, for example `no-change`."""
        return self.name.lower().replace("_", "-")

    def format_count(self, count: int) -> str:
        """Format a number of benchmarks in it, for example `2 regressions`."""
        return f"{count} {self.value[1] if count == 1 else self.value[2]}"


CATEGORY_OF_VERDICT: Final = {
    Verdict.REGRESSION: VerdictCategory.REGRESSION,
    Verdict.IMPROVEMENT: VerdictCategory.IMPROVEMENT,
    Verdict.UNDECIDED: VerdictCategory.UNDECIDED,
    Verdict.NO_CHANGE: VerdictCategory.NO_CHANGE,
}
_SEVERITY: Final = {category: rank for rank, category in enumerate(VerdictCategory)}
_LONGEST_NAMES: Final = 60
"""Characters of the names of models, up to which a headline has them."""


def categorise(result: Result) -> VerdictCategory:
    """Return the category of a comparison's result. Runners of equal bytes are `NO_CHANGE` without measuring."""
    comparison = result.comparison
    if comparison is not None and comparison.identical:
        return VerdictCategory.NO_CHANGE
    if not result.ok or comparison is None:
        return VerdictCategory.SKIPPED if result.outcome.is_skipped else VerdictCategory.FAILED
    return CATEGORY_OF_VERDICT[comparison.effective_verdict]


def name_verdict(result: Result) -> str:
    """Name what became of a comparison: its category, and `not worse` where a gate asked for no more."""
    category, comparison = categorise(result), result.comparison
    return comparison.verdict_words if category is VerdictCategory.NO_CHANGE and comparison else category.word


def mark_stored(outcome: Outcome, verdict: Verdict | None, *, trusted: bool) -> Span:
    """Return the mark of a result in a list: how it failed, else its verdict, and `!` where it is not to be trusted."""
    doubt = "!" if outcome is Outcome.OK and not trusted else ""
    if outcome is not Outcome.OK and not outcome.is_skipped:  # a failed comparison has a verdict, too: undecided
        return Span(VerdictCategory.FAILED.mark, VerdictCategory.FAILED.tone)
    if verdict is not None:
        category = CATEGORY_OF_VERDICT[verdict]
        return Span(category.mark + doubt, category.tone)
    if outcome is Outcome.OK:
        return Span(doubt, Tone.WARNING)
    return Span(VerdictCategory.SKIPPED.mark, VerdictCategory.SKIPPED.tone)


def stated_interval(comparison: Comparison) -> tuple[float | None, float | None] | None:
    """Return the ends of the interval that belongs to a verdict; None where verdict and interval contradict each other.

    A change excludes zero, and whatever is no change contains it (docs/decisions/0020). A harness from before that
    stored both as separate statements: then the verdict stands alone until it is computed anew.
    """
    low, high = comparison.low, comparison.high
    is_above, is_below = low is not None and low > 0, high is not None and high < 0
    is_worse, is_better = (is_below, is_above) if comparison.higher_is_better else (is_above, is_below)
    if comparison.parameters.gate:  # improvements are not tested
        is_better = comparison.verdict is Verdict.IMPROVEMENT
    fits = {Verdict.REGRESSION: is_worse, Verdict.IMPROVEMENT: is_better}.get(
        comparison.verdict, not is_worse and not is_better
    )
    return (low, high) if fits else None


def separate_comparisons(results: Sequence[Result]) -> tuple[list[Result], list[Result]]:
    """Return the results of comparisons, most severe first, and all other results in their order.

    What failed before its first pair belongs to the comparison too, where its run compared something.
    """
    comparing = {result.run for result in results if result.comparison is not None}
    compared: list[Result] = []
    measured: list[Result] = []
    for result in results:
        belongs = result.comparison is not None or (result.run in comparing and not result.ok)
        (compared if belongs else measured).append(result)
    return sort_by_severity(compared), measured


def sort_by_severity(results: Sequence[Result]) -> list[Result]:
    """Sort regressions first and the largest of them first; equally grave and large results keep their order."""
    return sorted(results, key=lambda result: (_SEVERITY[categorise(result)], -_change_size(result)))


def count_verdicts(results: Sequence[Result]) -> str:
    """Return how many results fall into each category, most severe first: `1 regression, 3 no change`.

    No change is `not worse` where a gate looked for nothing else.
    """
    counts = Counter(categorise(result) for result in results)
    unchanged = Counter(name_verdict(result) for result in results if categorise(result) is VerdictCategory.NO_CHANGE)
    parts: list[str] = []
    for category in VerdictCategory:
        if category is VerdictCategory.NO_CHANGE:
            parts += [f"{count} {words}" for words, count in unchanged.items()]
        elif counts[category]:
            parts.append(category.format_count(counts[category]))
    return ", ".join(parts)


def format_headline(compared: Sequence[Result], others: Sequence[Result]) -> str:
    """Summarise a run: verdicts of its comparisons, benchmarks that were measured without a control, and of what."""
    parts = [count_verdicts(compared)] if compared else []
    parts += [f"{len(others)} measured"] if others else []
    models = ", ".join(dict.fromkeys(make_printable(result.benchmark.model) for result in (*compared, *others)))
    names = [models] if 0 < len(models) <= _LONGEST_NAMES else []
    return " · ".join((", ".join(parts) or "nothing was measured", *names))


def _change_size(result: Result) -> float:
    """Return the size of a regression or improvement; only these are ordered by size."""
    if result.comparison is None or categorise(result) not in {VerdictCategory.REGRESSION, VerdictCategory.IMPROVEMENT}:
        return 0.0
    return abs(result.comparison.difference or 0.0)
