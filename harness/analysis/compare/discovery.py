"""Many benchmarks at once: which regressions to believe, and which benchmarks still want pairs.

Of a hundred benchmarks that did not change, one is wrongly called slower at 1 % each. Adaptive e-BH (Wang and Ramdas,
"False discovery rate control with e-values", JRSS B 84, 2022) keeps the expected share of false ones among the reported
regressions below q, whatever the benchmarks have to do with each other and whenever each was stopped.

Only benchmarks whose own pairs say regression bring evidence; that of all others counts as none, which leaves every
e-value an e-value. So every discovery is reported, and the promised share is that of the reported ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from typing import TypeVar

from harness.analysis.compare.decision import SequentialTest
from harness.core.comparison import Verdict

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


def _is_unfinished(test: SequentialTest, discovered: bool) -> bool:
    match test.verdict():
        case None:
            return True
        case Verdict.REGRESSION:
            return not discovered and not test.is_budget_spent
        case _:
            return False
