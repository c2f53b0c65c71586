"""Recomputation of a verdict from stored pairs, to check it or to decide by other parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from harness.analysis.compare.decision import SequentialTest
from harness.analysis.compare.operators import decide_operators, restrict_to_pairs, update_operator_notes
from harness.analysis.compare.reasons import (
    BELOW_MARGIN,
    FIGURES_DIFFER,
    HIDDEN_CHANGE,
    UNSTEADY,
    figures_note,
    margin_note,
    unsteady_note,
)
from harness.analysis.compare.resolution import COARSE, coarseness_note
from harness.core.comparison import Comparison, Evidence, Pair, Parameters
from harness.core.metric import is_counted
from harness.core.note import Note
from harness.core.verdict import Verdict

_CONCLUDED: Final = frozenset({BELOW_MARGIN, COARSE, FIGURES_DIFFER, HIDDEN_CHANGE, UNSTEADY})
"""Codes of the notes that a conclusion brings."""


class Conclusion(Struct, frozen=True):
    """Outcome of a test, as the fields of a `Comparison` with the same names; `notes` are some of its notes."""

    verdict: Verdict
    reason: str
    difference: float | None
    low: float | None
    high: float | None
    evidence: Evidence
    figure: str = ""
    notes: tuple[Note, ...] = ()


def draw_conclusion(test: SequentialTest) -> Conclusion:
    """Return what the pairs show, also when they ended early: without a verdict it is undecided."""
    low, high = test.interval()
    verdict = test.decided or Verdict.UNDECIDED
    return Conclusion(
        verdict=verdict,
        reason=test.reason(),
        difference=test.difference(),
        low=low,
        high=high,
        evidence=test.evidence(),
        figure=test.figure,
        notes=(
            *coarseness_note(test.resolution, verdict, test.parameters),
            *figures_note(test.explain_figures()),
            *unsteady_note(test.is_unsteady),
            *margin_note(verdict, test.difference(), test.parameters),
        ),
    )


def withhold_no_change(conclusion: Conclusion, doubt: str | None) -> Conclusion:
    """Return the conclusion as undecided where it is `no change` and something unknown to the pairs speaks against it.

    Args:
        conclusion: What the pairs show.
        doubt: Why they may not speak for all launches; None where they do.
    """
    if doubt is None or conclusion.verdict is not Verdict.NO_CHANGE:
        return conclusion
    return replace(conclusion, verdict=Verdict.UNDECIDED, reason=f"{doubt}; without that: {conclusion.reason}")


def replay(
    pairs: Iterable[Pair], parameters: Parameters, higher_is_better: bool, *, exact: bool = False
) -> SequentialTest:
    """Return a test of the pairs, in order, as far as the budget goes.

    Pairs after a verdict count too: they were measured for precision, or because other benchmarks were still open, and
    they do not change the verdict.

    Raises:
        ValueError: A pair does not have five finite statistics above zero on each side.
    """
    test = SequentialTest(parameters, higher_is_better, exact=exact)
    for pair in pairs:
        if test.is_budget_spent:
            break
        test.add(pair)
    return test


def recompute(comparison: Comparison, parameters: Parameters | None = None, *, doubt: str | None = None) -> Comparison:
    """Return the comparison with verdict, difference, interval and evidence computed again from its pairs.

    The verdict under other parameters is as good as the first one as long as they were not chosen to change it. With a
    stricter `alpha` the stored pairs may end before a verdict: then it is undecided, and the reason says so.
    `discovered` depends on other benchmarks too and stays (see `harness.analysis.compare.discovery`).

    Args:
        comparison: As it was stored.
        parameters: To decide by instead of its own.
        doubt: Why its pairs may not speak for all launches: then there is no `no change`.

    Raises:
        ValueError: A stored pair does not have five finite statistics above zero on each side.
    """
    if comparison.identical:
        return comparison
    chosen = parameters or comparison.parameters
    exact = is_counted(comparison.metric, comparison.unit)
    test = replay(comparison.pairs, chosen, comparison.higher_is_better, exact=exact)
    test.update_overhead(max(0.0, comparison.seconds - math.fsum(pair.seconds for pair in comparison.pairs)))
    conclusion, pairs = withhold_no_change(draw_conclusion(test), doubt), comparison.pairs[: test.pairs]
    operators = decide_operators(restrict_to_pairs(comparison.operators, {pair.index for pair in pairs}), chosen)
    kept = [note for note in comparison.notes if note.code not in _CONCLUDED]
    return comparison.model_copy(
        update={
            "parameters": chosen,
            "pairs": pairs,
            "verdict": conclusion.verdict,
            "reason": conclusion.reason,
            "difference": conclusion.difference,
            "low": conclusion.low,
            "high": conclusion.high,
            "evidence": conclusion.evidence,
            "figure": conclusion.figure,
            "operators": operators,
            "notes": (*update_operator_notes(kept, operators, conclusion.verdict, chosen), *conclusion.notes),
        }
    )
