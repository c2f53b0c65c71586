"""Many benchmarks at once: which regressions to believe, and which benchmarks still want pairs.

Of a hundred benchmarks that did not change, one is wrongly called slower at 1 % each. Adaptive e-BH (Wang and Ramdas,
"False discovery rate control with e-values", JRSS B 84, 2022) keeps the expected share of false ones among the reported
regressions below q, whatever the benchmarks have to do with each other and whenever each was stopped.

Only benchmarks whose own pairs say regression bring evidence; that of all others counts as none, which leaves every
e-value an e-value. So every discovery is reported, and the promised share is that of the reported ones.

A discovery is final as soon as it is one by final evidence alone. Evidence is final when no pair can follow, and what
others bring later only adds discoveries. So a regression is reported when that is known, and never taken back; until
then its report waits, and its pairs stay in their journal.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Generic, TypeVar

from harness.analysis.compare.decision import SequentialTest
from harness.core.comparison import Comparison, Verdict
from harness.core.result import Report

Key = TypeVar("Key", bound=Hashable)


def select_discoveries(evidence: Mapping[Key, float], total: int, q: float) -> frozenset[Key]:
    """Return the benchmarks whose regression survives: the K with most evidence, the least of which has total / (q K).

    Args:
        evidence: The evidence for a regression (`Evidence.regression`) of each benchmark that is one.
        total: How many benchmarks there are, also those that have no pair yet or failed.
        q: Largest expected share of false ones among them.

    Raises:
        ValueError: There is evidence on more benchmarks than there are, or `q` is not above 0 and at most 1.
    """
    if total < len(evidence):
        raise ValueError(f"evidence on {len(evidence)} benchmarks, of {total} in all")
    if not 0 < q <= 1:
        raise ValueError(f"q is a share above 0 and at most 1, not {q}")
    ranked = sorted(evidence, key=lambda key: evidence[key], reverse=True)
    enough = (rank for rank, key in enumerate(ranked, start=1) if evidence[key] * q * rank >= total)
    return frozenset(ranked[: max(enough, default=0)])


def regression_evidence(tests: Mapping[Key, SequentialTest]) -> dict[Key, float]:
    """Return the evidence of those that are regressions now: more pairs would serve only to make them discoveries."""
    return {key: test.evidence().regression for key, test in tests.items() if test.verdict() is Verdict.REGRESSION}


def select_unfinished(tests: Mapping[Key, SequentialTest], discovered: Set[Key]) -> frozenset[Key]:
    """Return the benchmarks that should get another pair.

    A regression goes on being measured until it counts among the discoveries or its budget is spent: what convinces
    for a single benchmark is less than what many ask for.

    Args:
        tests: Of benchmarks that are being measured.
        discovered: Those of them that are discoveries, if all regressions among them leave now.
    """
    return frozenset(key for key, test in tests.items() if _is_unfinished(test, key in discovered))


@dataclass(frozen=True, slots=True)
class _Earlier:
    """Regression that was reported before an interruption."""

    index: int


class DiscoveryControl(Generic[Key]):
    """Regressions that have ended, including those whose report waits. Used by all devices at once.

    Args:
        total: Comparisons in all, on all devices.
        q: Largest expected share of false ones among the reported regressions.
        report: Called once with each regression, when it is known whether it survives.
        earlier: Evidence of regressions that were reported before an interruption.
    """

    def __init__(
        self, total: int, q: float, report: Callable[[Key, Report], None], earlier: Sequence[float] = ()
    ) -> None:
        self._total = total
        self._q = q
        self._report = report
        self._lock = threading.Lock()
        self._final: dict[Key | _Earlier, float] = {_Earlier(index): value for index, value in enumerate(earlier)}
        self._waiting: dict[Key, Report] = {}

    def final(self) -> frozenset[Key]:
        """Return the discoveries by final evidence alone: whatever is still measured, they will stay."""
        return self.final_with({})

    def final_with(self, evidence: Mapping[Key, float]) -> frozenset[Key]:
        """Return the discoveries if these regressions ended now, with this evidence."""
        with self._lock:
            known: dict[Key | _Earlier, float] = dict(self._final)
            known.update(evidence.items())
            discoveries = select_discoveries(known, self._total, self._q)
        return frozenset(key for key in discoveries if not isinstance(key, _Earlier))

    def add(self, key: Key, comparison: Comparison, report: Report) -> None:
        """Add a regression whose last pair was measured. Reports it, and others, if that makes them discoveries."""
        with self._lock:
            self._final[key] = comparison.evidence.regression
            self._waiting[key] = report
        discoveries = self.final()
        with self._lock:
            ready = {waiting: self._waiting.pop(waiting) for waiting in list(self._waiting) if waiting in discoveries}
        for discovery, waited in ready.items():
            self._report(discovery, _as_discovery(waited))

    def close(self) -> None:
        """Report the rest, which does not survive: no evidence can follow."""
        with self._lock:
            rejected, self._waiting = self._waiting, {}
        for key, waited in rejected.items():
            self._report(key, waited)


def _is_unfinished(test: SequentialTest, discovered: bool) -> bool:
    match test.verdict():
        case None:
            return True
        case Verdict.REGRESSION:
            return not discovered and not test.is_budget_spent
        case _:
            return False


def _as_discovery(report: Report) -> Report:
    comparison = report.result.comparison
    if comparison is None:
        return report
    discovered = comparison.model_copy(update={"discovered": True})
    return report.model_copy(update={"result": report.result.model_copy(update={"comparison": discovered})})
