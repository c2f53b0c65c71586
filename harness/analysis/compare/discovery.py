"""Many benchmarks at once: which changes to believe, and which benchmarks still want pairs.

Of a hundred benchmarks that did not change, one is wrongly called slower at 1 % each, and one faster. Adaptive e-BH
(Wang and Ramdas, "False discovery rate control with e-values", JRSS B 84, 2022) keeps the expected share of false ones
among the reported regressions below q, whatever the benchmarks have to do with each other and whenever each was
stopped; and, by itself, that among the reported improvements (docs/decisions/0022).

Only benchmarks whose own pairs say regression bring evidence of one, and likewise of an improvement; that of all others
counts as none, which leaves every e-value an e-value. So every discovery is reported, and the promised share is that of
the reported ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from typing import NamedTuple, TypeVar

from harness.analysis.compare.decision import SequentialTest
from harness.core.comparison import Evidence
from harness.core.verdict import Verdict

Key = TypeVar("Key", bound=Hashable)


class ProvenChange(NamedTuple):
    """Change that the pairs of one benchmark prove, with the evidence that it brings among many.

    Attributes:
        verdict: Regression or improvement.
        evidence: The e-value of that direction.
    """

    verdict: Verdict
    evidence: float


def proven_change(verdict: Verdict | None, evidence: Evidence) -> ProvenChange | None:
    """Return the change of a benchmark with this verdict of its own pairs; None where it has none."""
    match verdict:
        case Verdict.REGRESSION:
            return ProvenChange(verdict, evidence.regression)
        case Verdict.IMPROVEMENT:
            return ProvenChange(verdict, evidence.improvement)
        case _:
            return None


def select_discovered_changes(changes: Mapping[Key, ProvenChange], total: int, q: float) -> frozenset[Key]:
    """Return the benchmarks whose change survives among all of its direction (see `select_discoveries`)."""
    selected: frozenset[Key] = frozenset()
    for verdict in (Verdict.REGRESSION, Verdict.IMPROVEMENT):
        evidence = {key: change.evidence for key, change in changes.items() if change.verdict is verdict}
        selected |= select_discoveries(evidence, total, q)
    return selected


def select_discoveries(evidence: Mapping[Key, float], total: int, q: float) -> frozenset[Key]:
    """Return the benchmarks whose change survives: the K with most evidence, the least of which has total / (q K).

    Args:
        evidence: The evidence for a change in one direction, of each benchmark that shows it.
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


def proven_changes(tests: Mapping[Key, SequentialTest]) -> dict[Key, ProvenChange]:
    """Return the changes that are proven now: more pairs would serve only to make them discoveries."""
    changes = ((key, proven_change(test.verdict(), test.evidence())) for key, test in tests.items())
    return {key: change for key, change in changes if change is not None}


def select_unfinished(tests: Mapping[Key, SequentialTest], discovered: Set[Key]) -> frozenset[Key]:
    """Return the benchmarks that should get another pair.

    A change goes on being measured until it counts among the discoveries or its budget is spent: what convinces for a
    single benchmark is less than what many ask for.

    Args:
        tests: Of benchmarks that are being measured.
        discovered: Those of them that are discoveries, if all changes among them leave now.
    """
    return frozenset(key for key, test in tests.items() if _is_unfinished(test, key in discovered))


def _is_unfinished(test: SequentialTest, discovered: bool) -> bool:
    match test.verdict():
        case None:
            return True
        case Verdict.REGRESSION | Verdict.IMPROVEMENT:
            return not discovered and not test.is_budget_spent
        case _:
            return False
