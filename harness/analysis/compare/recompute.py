"""A comparison's verdict again, from its stored pairs: to check it, or to ask what other parameters would have said."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from harness.analysis.compare.decision import SequentialTest
from harness.analysis.compare.operators import heard, judged, restated
from harness.analysis.compare.reasons import UNSHOWN, UNSTEADY, unshown_note, unsteady_note
from harness.analysis.compare.resolution import COARSE, coarse, exact
from harness.core.comparison import Comparison, Evidence, Pair, Parameters, Verdict
from harness.core.note import Note

_CONCLUDED: Final = frozenset({COARSE, UNSHOWN, UNSTEADY})
"""Codes of the notes that a conclusion brings."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a test has to say, as the fields of a `Comparison` with the same names; `notes` are some of its notes."""

    verdict: Verdict
    reason: str
    difference: float | None
    low: float | None
    high: float | None
    evidence: Evidence
    notes: tuple[Note, ...] = ()


def conclude(test: SequentialTest) -> Conclusion:
    """What the pairs said, also when they ended early: without a verdict it is undecided."""
    low, high = test.interval()
    verdict = test.decided or Verdict.UNDECIDED
    return Conclusion(
        verdict=verdict,
        reason=test.reason(),
        difference=test.difference(),
        low=low,
        high=high,
        evidence=test.evidence(),
        notes=(
            *(coarse(test.log_step, verdict, test.parameters) if test.pairs else ()),
            *unshown_note(test.unshown()),
            *unsteady_note(test.unsteady),
        ),
    )


def doubted(found: Conclusion, doubt: str | None) -> Conclusion:
    """The same without `no change`, where something speaks against that which the pairs cannot know.

    Args:
        found: What the pairs say.
        doubt: What speaks against it, in words; None where nothing does.
    """
    if doubt is None or found.verdict is not Verdict.NO_CHANGE:
        return found
    return replace(found, verdict=Verdict.UNDECIDED, reason=f"{doubt}; without that: {found.reason}")


def replay(
    pairs: Iterable[Pair], parameters: Parameters, higher_is_better: bool, *, exact: bool = False
) -> SequentialTest:
    """A test that has heard the pairs, in order, as far as the budget goes.

    Pairs after a verdict count too: they were measured for precision, or because other benchmarks were still open, and
    they do not change the verdict.

    Raises:
        UsageError: A parameter means nothing.
        ValueError: A pair does not have five finite statistics above zero on each side.
    """
    test = SequentialTest(parameters, higher_is_better, exact=exact)
    for pair in pairs:
        if test.spent:
            break
        test.add(pair)
    return test


def recompute(comparison: Comparison, parameters: Parameters | None = None, *, doubt: str | None = None) -> Comparison:
    """The comparison with its verdict, difference, interval and evidence computed again, and the pairs they are of.

    The verdict under other parameters is as good as the first one as long as they were not chosen to change it. With a
    stricter `alpha` the stored pairs may end before a verdict: then it is undecided, and the reason says so.
    `discovered` depends on other benchmarks too and stays (see `harness.analysis.compare.discovery`).

    Args:
        comparison: As it was stored.
        parameters: To decide by instead of its own.
        doubt: What speaks against `no change`, other than its pairs.

    Raises:
        UsageError: A parameter means nothing.
        ValueError: A stored pair does not have five finite statistics above zero on each side.
    """
    if comparison.identical:
        return comparison
    chosen = parameters or comparison.parameters
    test = replay(comparison.pairs, chosen, comparison.higher_is_better, exact=exact(comparison.unit))
    test.update_overhead(max(0.0, comparison.seconds - math.fsum(pair.seconds for pair in comparison.pairs)))
    found, pairs = doubted(conclude(test), doubt), comparison.pairs[: test.pairs]
    operators = judged(heard(comparison.operators, {pair.index for pair in pairs}), chosen)
    others = [note for note in comparison.notes if note.code not in _CONCLUDED]
    return comparison.model_copy(
        update={
            "parameters": chosen,
            "pairs": pairs,
            "verdict": found.verdict,
            "reason": found.reason,
            "difference": found.difference,
            "low": found.low,
            "high": found.high,
            "evidence": found.evidence,
            "operators": operators,
            "notes": (*restated(others, operators, found.verdict, chosen), *found.notes),
        }
    )
