"""Comparison of operators: each is decided by the medians of its launches, as a benchmark is, and all together.

The coin that orders a pair is the coin of each of its operators, so the evidence is as exact. Among seventy operators
some look changed by chance: of those that are reported as slower, and of those reported as faster, e-BH keeps the
expected share of false ones below `fdr` (see `harness.analysis.compare.discovery`). The verdict of the benchmark does
not depend on them, and no pair is measured for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Final

import numpy as np

from harness.analysis.compare.discovery import select_discoveries
from harness.analysis.compare.evidence import EProcesses, Refutes, fewest_pairs
from harness.analysis.compare.inversion import Inversion
from harness.analysis.compare.resolution import Resolution
from harness.analysis.compare.statistics import PredictableScale
from harness.core.comparison import Evidence, OperatorComparison, OperatorMedians, Parameters
from harness.core.effect import relative_change
from harness.core.levels import Levels, levels_of
from harness.core.note import NO_OPERATORS, Note
from harness.core.verdict import Verdict

_UNPROVEN: Final = "operators_unproven"


def compare_operators(pairs: Sequence[OperatorMedians], parameters: Parameters) -> tuple[OperatorComparison, ...]:
    """Compare every operator of either side; none where a side reported no operator at all.

    Args:
        pairs: The medians of each pair, in measured order.
        parameters: How to decide; those of the benchmark.
    """
    if not (any(pair.control for pair in pairs) and any(pair.treatment for pair in pairs)):
        return ()
    names = dict.fromkeys(name for pair in pairs for side in (pair.treatment, pair.control) for name in side)
    return decide_operators([_gather(name, pairs) for name in names], parameters)


def decide_operators(operators: Sequence[OperatorComparison], parameters: Parameters) -> tuple[OperatorComparison, ...]:
    """Decide each operator by its medians, and which changes survive among all of them."""
    decided = [_decide(operator, parameters) for operator in operators]
    shared = sum(operator.is_shared for operator in decided)
    slower = _select_discovered(
        decided, Verdict.REGRESSION, lambda evidence: evidence.regression, shared, parameters.fdr
    )
    faster = _select_discovered(
        decided, Verdict.IMPROVEMENT, lambda evidence: evidence.improvement, shared, parameters.fdr
    )
    return tuple(
        operator.model_copy(update={"discovered": number in slower or number in faster})
        for number, operator in enumerate(decided)
    )


def restrict_to_pairs(operators: Iterable[OperatorComparison], pairs: Set[int]) -> list[OperatorComparison]:
    """Return the operators without the medians of other pairs."""
    return [
        _cut(operator, [place for place, pair in enumerate(operator.pairs) if pair in pairs]) for operator in operators
    ]


def operator_notes(
    pairs: Sequence[OperatorMedians],
    operators: Sequence[OperatorComparison],
    verdict: Verdict,
    parameters: Parameters,
    reasons: Mapping[str, str] | None = None,
) -> tuple[Note, ...]:
    """Return the notes for a reader who asked for operators: a side reported none, or no change of one is proven.

    Args:
        pairs: The medians of each pair.
        operators: What was made of them.
        verdict: The verdict of the benchmark.
        parameters: How they were decided.
        reasons: Why a side reported none, by `control` and `treatment`, as far as its launches said.
    """
    sides = {"control": [pair.control for pair in pairs], "treatment": [pair.treatment for pair in pairs]}
    for side, medians in sides.items():
        if pairs and not any(medians):
            reason = (reasons or {}).get(side)
            because = f" ({reason})" if reason else ""
            message = f"the {side} reported no operators{because}: there is nothing to compare"
            hint = "compare builds that both time them; `harness profile` shows those of a single build"
            return (Note(code=NO_OPERATORS, message=message, hint=hint),)
    return _unproven_note(operators, verdict, parameters)


def _unproven_note(
    operators: Sequence[OperatorComparison], verdict: Verdict, parameters: Parameters
) -> tuple[Note, ...]:
    """Note that a benchmark changed and no operator is proven to be the cause."""
    shared = [operator for operator in operators if operator.is_shared]
    if not verdict.is_change or not shared or any(operator.discovered for operator in shared):
        return ()
    pairs = max(len(operator.pairs) for operator in shared)
    fewest = fewest_pairs(parameters.fdr / len(shared))
    few = f" (showing one among {len(shared)} takes at least {fewest})" if pairs < fewest else ""
    return (
        Note(
            code=_UNPROVEN,
            message=f"the operator that made the difference is not proven by {pairs} pairs{few}",
            hint="keep measuring after the verdict with --precision 0.003, or smaller",
        ),
    )


def update_operator_notes(
    notes: Iterable[Note], operators: Sequence[OperatorComparison], verdict: Verdict, parameters: Parameters
) -> tuple[Note, ...]:
    """Return the notes of a comparison whose operators were decided again."""
    kept = tuple(note for note in notes if note.code != _UNPROVEN)
    return (*kept, *_unproven_note(operators, verdict, parameters))


def _gather(name: str, pairs: Sequence[OperatorMedians]) -> OperatorComparison:
    """Gather one operator from the pairs in which both sides had it, else from all in which one had."""
    both = [pair for pair in pairs if name in pair.control and name in pair.treatment]
    if both:
        return OperatorComparison(
            name=name,
            pairs=tuple(pair.pair for pair in both),
            control=tuple(pair.control[name] for pair in both),
            treatment=tuple(pair.treatment[name] for pair in both),
        )
    control = {pair.pair: pair.control[name] for pair in pairs if name in pair.control}
    treatment = {pair.pair: pair.treatment[name] for pair in pairs if name in pair.treatment}
    if control and treatment:  # never in the same pair
        return OperatorComparison(name=name)
    return OperatorComparison(
        name=name,
        pairs=tuple(control or treatment),
        control=tuple(control.values()),
        treatment=tuple(treatment.values()),
    )


def _cut(operator: OperatorComparison, places: Sequence[int]) -> OperatorComparison:
    def select(column: Sequence[float]) -> tuple[float, ...]:
        return tuple(column[place] for place in places) if column else ()

    pairs = tuple(operator.pairs[place] for place in places)
    update = {"pairs": pairs, "control": select(operator.control), "treatment": select(operator.treatment)}
    return operator.model_copy(update=update)


def _decide(operator: OperatorComparison, parameters: Parameters) -> OperatorComparison:
    """Decide after the last pair. Medians of zero, of operators below the clock's resolution, have no ratio.

    Delegates report whole microseconds: evidence gives that much away (see `harness.analysis.compare.resolution`).
    """
    medians = list(zip(operator.control, operator.treatment, strict=False))
    ratios = [math.log(treatment) - math.log(control) for control, treatment in medians if control > 0 < treatment]
    resolution = Resolution(parts=2)
    for median in chain.from_iterable(medians):
        if median > 0:
            resolution.add(median)
    if not ratios:
        return operator.model_copy(
            update={"difference": None, "low": None, "high": None, "evidence": Evidence(), "verdict": Verdict.UNDECIDED}
        )
    levels, margin = levels_of(parameters), math.log1p(parameters.margin)
    room = margin - resolution.log_step
    processes = EProcesses(
        (Refutes.AT_MOST, Refutes.AT_LEAST, Refutes.AT_LEAST, Refutes.AT_MOST), (0.0, 0.0, room, -room), statistics=1
    )
    scale, scales, evidence = PredictableScale(), [], Evidence()
    for ratio in ratios:
        scales.append(scale.next())
        worse, better, not_worse, not_better = processes.add([ratio], scales[-1:])[:, 0].tolist()
        evidence = Evidence(
            regression=worse,
            improvement=better,
            not_worse=max(evidence.not_worse, not_worse),
            not_better=max(evidence.not_better, not_better),
        )
        scale.add(ratio)
    verdict = _verdict(evidence, levels)
    inversion = Inversion(np.array([ratios]).T, np.array([scales]).T, levels, reserve=0.0)
    statement = inversion.state(verdict, resolution.log_step, margin)
    return operator.model_copy(
        update={
            "difference": relative_change(statement.log_ratio),
            "low": None if statement.low is None else relative_change(statement.low),
            "high": None if statement.high is None else relative_change(statement.high),
            "evidence": evidence,
            "verdict": verdict,
        }
    )


def _verdict(evidence: Evidence, levels: Levels) -> Verdict:
    if evidence.regression >= 1 / levels.change:
        return Verdict.REGRESSION
    if evidence.improvement >= 1 / levels.change:
        return Verdict.IMPROVEMENT
    if min(evidence.not_worse, evidence.not_better) >= 1 / levels.equivalence:
        return Verdict.NO_CHANGE
    return Verdict.UNDECIDED


def _select_discovered(
    operators: Sequence[OperatorComparison],
    verdict: Verdict,
    evidence: Callable[[Evidence], float],
    total: int,
    q: float,
) -> frozenset[int]:
    """Return the places of operators whose change in one direction survives among all that both sides have."""
    evidence_of = {
        number: evidence(operator.evidence) for number, operator in enumerate(operators) if operator.verdict is verdict
    }
    return select_discoveries(evidence_of, total, q)
