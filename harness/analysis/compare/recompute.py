"""A comparison's verdict again, from its stored pairs: to check it, or to ask what other parameters would have said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.analysis.compare.decision import Judge
from harness.analysis.compare.operators import heard, judged, restated
from harness.core.comparison import Comparison, Evidence, Pair, Parameters, Verdict


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a judge has to say, as the fields of a `Comparison` with the same names."""

    verdict: Verdict
    reason: str
    difference: float | None
    low: float | None
    high: float | None
    evidence: Evidence


def conclude(judge: Judge) -> Conclusion:
    """What the pairs said, also when they ended early: without a verdict it is undecided."""
    low, high = judge.interval()
    return Conclusion(
        verdict=judge.decided or Verdict.UNDECIDED,
        reason=judge.reason(),
        difference=judge.difference(),
        low=low,
        high=high,
        evidence=judge.evidence(),
    )


def replay(pairs: Iterable[Pair], parameters: Parameters, higher_is_better: bool) -> Judge:
    """A judge that has heard the pairs, in order, as far as the budget goes.

    Pairs after a verdict count too: they were measured for precision, or because other benchmarks were still open, and
    they do not change the verdict.

    Raises:
        UsageError: A parameter means nothing.
        ValueError: A pair does not have five finite statistics above zero on each side.
    """
    judge = Judge(parameters, higher_is_better)
    for pair in pairs:
        if judge.spent:
            break
        judge.add(pair)
    return judge


def recompute(comparison: Comparison, parameters: Parameters | None = None) -> Comparison:
    """The comparison with its verdict, difference, interval and evidence computed again.

    The verdict under other parameters is as good as the first one as long as they were not chosen to change it. With a
    stricter `alpha` the stored pairs may end before a verdict: then it is undecided, and the reason says so.
    `discovered` depends on other benchmarks too and stays (see `harness.analysis.compare.discovery`).

    Args:
        comparison: As it was stored.
        parameters: To decide by instead of its own.

    Raises:
        UsageError: A parameter means nothing.
        ValueError: A stored pair does not have five finite statistics above zero on each side.
    """
    if comparison.identical:
        return comparison
    chosen = parameters or comparison.parameters
    judge = replay(comparison.pairs, chosen, comparison.higher_is_better)
    found, pairs = conclude(judge), {pair.index for pair in comparison.pairs[: judge.pairs]}
    operators = judged(heard(comparison.operators, pairs), chosen)
    return comparison.model_copy(
        update={
            "parameters": chosen,
            "verdict": found.verdict,
            "reason": found.reason,
            "difference": found.difference,
            "low": found.low,
            "high": found.high,
            "evidence": found.evidence,
            "operators": operators,
            "notes": restated(comparison.notes, operators, found.verdict, chosen),
        }
    )
