"""How each benchmark of a comparison came out, and what a reader wants to see first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import Enum
from typing import Final

from harness.core.comparison import Comparison, Verdict
from harness.core.result import Outcome, Result


class Standing(Enum):
    """How it came out, in the order in which a reader is told: a mark, and one of it and several of it in words."""

    REGRESSION = ("▼", "regression", "regressions")
    IMPROVEMENT = ("▲", "improvement", "improvements")
    UNDECIDED = ("?", "undecided", "undecided")
    NO_CHANGE = ("=", "no change", "no change")
    FAILED = ("✗", "failed", "failed")
    SKIPPED = ("-", "skipped", "skipped")

    @property
    def mark(self) -> str:
        """One character."""
        return self.value[0]

    @property
    def word(self) -> str:
        """What one benchmark of it is called."""
        return self.value[1]

    @property
    def slug(self) -> str:
        """Its name as an identifier, for example `no-change`."""
        return self.name.lower().replace("_", "-")

    def counted(self, count: int) -> str:
        """So many of it."""
        return f"{count} {self.value[1] if count == 1 else self.value[2]}"


_ORDER: Final = {standing: place for place, standing in enumerate(Standing)}
_OF_VERDICT: Final = {
    Verdict.REGRESSION: Standing.REGRESSION,
    Verdict.IMPROVEMENT: Standing.IMPROVEMENT,
    Verdict.UNDECIDED: Standing.UNDECIDED,
    Verdict.NO_CHANGE: Standing.NO_CHANGE,
}
_NOT_RUN: Final = frozenset({Outcome.SKIPPED, Outcome.UNSUPPORTED})


def standing(result: Result) -> Standing:
    """How a result of a comparison came out. Runners of equal bytes were not measured, and are known all the same."""
    comparison = result.comparison
    if comparison is not None and comparison.identical:
        return Standing.NO_CHANGE
    if not result.ok or comparison is None:
        return Standing.SKIPPED if result.outcome in _NOT_RUN else Standing.FAILED
    return _OF_VERDICT[comparison.effective_verdict]


def undiscovered(comparison: Comparison) -> bool:
    """Whether its own pairs speak for a regression that does not survive among all benchmarks."""
    return comparison.effective_verdict is not comparison.verdict


def separate(results: Sequence[Result]) -> tuple[list[Result], list[Result]]:
    """Those of a comparison, ordered for a reader, and the others as they came.

    Where something was compared, what failed before its first pair belongs to the comparison too.
    """
    comparing = any(result.comparison is not None for result in results)
    compared = [one for one in results if one.comparison is not None or (comparing and not one.ok)]
    kept = {id(one) for one in compared}
    return ordered(compared), [one for one in results if id(one) not in kept]


def ordered(results: Sequence[Result]) -> list[Result]:
    """Regressions first and the largest of them first; what is equally grave and large stays in its order."""
    return sorted(results, key=lambda one: (_ORDER[standing(one)], -_size(one)))


def tally(results: Sequence[Result]) -> str:
    """How many came out how, gravest first."""
    counts = Counter(standing(result) for result in results)
    return ", ".join(one.counted(counts[one]) for one in Standing if counts[one])


def headline(compared: Sequence[Result], others: Sequence[Result]) -> str:
    """What a run amounts to: how its comparisons came out, and how many results there are beside them."""
    parts = [tally(compared)] if compared else []
    parts += [f"{len(others)} measured"] if others else []
    return ", ".join(parts) or "nothing was measured"


def _size(result: Result) -> float:
    """How large a change is; only that of regressions and improvements orders them."""
    if result.comparison is None or standing(result) not in {Standing.REGRESSION, Standing.IMPROVEMENT}:
        return 0.0
    return abs(result.comparison.difference or 0.0)
