"""Which operators changed: each decided as a benchmark is, by the medians of its launches, and all of them together.

The coin that orders a pair is the coin of each of its operators, so the evidence is as exact. Among seventy operators
some look changed by chance: of those that are told as slower, and of those told as faster, e-BH keeps the expected
share of false ones below `fdr` (see `harness.analysis.compare.discovery`). The verdict of the benchmark asks nothing of
them, and nobody waits for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Final, NamedTuple

from harness.analysis.compare.discovery import discoveries
from harness.analysis.compare.estimate import interval, relative
from harness.analysis.compare.evidence import EProcess, Refutes, fewest_pairs
from harness.analysis.compare.resolution import Resolution
from harness.analysis.compare.scale import PredictableScale
from harness.core.comparison import Evidence, OperatorComparison, OperatorMedians, Parameters, Verdict
from harness.core.note import Note

_CHANGED: Final = frozenset({Verdict.REGRESSION, Verdict.IMPROVEMENT})
_UNTOLD: Final = "operators_unavailable"
_UNPROVEN: Final = "operators_unproven"

_LARGEST_LOG: Final = 700.0
"""Evidence beyond exp of this is told as exp of this: it has to be a finite number."""


def compare_operators(told: Sequence[OperatorMedians], parameters: Parameters) -> tuple[OperatorComparison, ...]:
    """Every operator of either side; none where a side told of no operator at all.

    Args:
        told: What the pairs said, in measured order.
        parameters: How to decide; those of the benchmark.
    """
    if not (any(one.control for one in told) and any(one.treatment for one in told)):
        return ()
    names = dict.fromkeys(name for one in told for side in (one.treatment, one.control) for name in side)
    return judged([_columns(name, told) for name in names], parameters)


def judged(operators: Sequence[OperatorComparison], parameters: Parameters) -> tuple[OperatorComparison, ...]:
    """The operators with what their medians say, whatever was said of them before."""
    decided = [_judged(one, parameters) for one in operators]
    shared = sum(one.is_shared for one in decided)
    slower = _discovered(decided, Verdict.REGRESSION, lambda found: found.regression, shared, parameters.fdr)
    faster = _discovered(decided, Verdict.IMPROVEMENT, lambda found: found.improvement, shared, parameters.fdr)
    return tuple(
        one.model_copy(update={"discovered": number in slower or number in faster})
        for number, one in enumerate(decided)
    )


def heard(operators: Iterable[OperatorComparison], pairs: Set[int]) -> list[OperatorComparison]:
    """The operators without what other pairs said."""
    return [_cut(one, [place for place, pair in enumerate(one.pairs) if pair in pairs]) for one in operators]


def remark(
    told: Sequence[OperatorMedians],
    operators: Sequence[OperatorComparison],
    verdict: Verdict,
    parameters: Parameters,
) -> tuple[Note, ...]:
    """What a reader must know who asked for operators: that a side has none, or that no change of one is proven."""
    for side, medians in (("control", [one.control for one in told]), ("treatment", [one.treatment for one in told])):
        if told and not any(medians):
            return (Note(code=_UNTOLD, message=f"the {side} told of no operators: there is nothing to compare"),)
    return unproven(operators, verdict, parameters)


def unproven(operators: Sequence[OperatorComparison], verdict: Verdict, parameters: Parameters) -> tuple[Note, ...]:
    """That a benchmark changed and no operator is proven to have made it."""
    shared = [one for one in operators if one.is_shared]
    if verdict not in _CHANGED or not shared or any(one.discovered for one in shared):
        return ()
    pairs = max(len(one.pairs) for one in shared)
    fewest = fewest_pairs(parameters.fdr / len(shared))
    few = f" (to show one among {len(shared)} takes {fewest} at least)" if pairs < fewest else ""
    return (
        Note(
            code=_UNPROVEN,
            message=f"which operator made the difference is not proven by {pairs} pairs{few}",
            hint="go on after the verdict with --precision 0.003, or smaller",
        ),
    )


def restated(
    notes: Iterable[Note], operators: Sequence[OperatorComparison], verdict: Verdict, parameters: Parameters
) -> tuple[Note, ...]:
    """Notes of a comparison that was decided again."""
    others = tuple(note for note in notes if note.code != _UNPROVEN)
    return (*others, *unproven(operators, verdict, parameters))


class _Gathered(NamedTuple):
    """The evidence of one operator."""

    regression: EProcess
    improvement: EProcess
    not_worse: EProcess
    not_better: EProcess


def _columns(name: str, told: Sequence[OperatorMedians]) -> OperatorComparison:
    """One operator over the pairs: those in which both sides had it, else all in which one had."""
    both = [one for one in told if name in one.control and name in one.treatment]
    if both:
        return OperatorComparison(
            name=name,
            pairs=tuple(one.pair for one in both),
            control=tuple(one.control[name] for one in both),
            treatment=tuple(one.treatment[name] for one in both),
        )
    ours, theirs = _of(name, told, lambda one: one.control), _of(name, told, lambda one: one.treatment)
    if ours and theirs:  # never in the same pair
        return OperatorComparison(name=name)
    return OperatorComparison(
        name=name,
        pairs=tuple(ours or theirs),
        control=tuple(ours.values()),
        treatment=tuple(theirs.values()),
    )


def _of(
    name: str, told: Sequence[OperatorMedians], side: Callable[[OperatorMedians], Mapping[str, float]]
) -> dict[int, float]:
    return {one.pair: side(one)[name] for one in told if name in side(one)}


def _cut(one: OperatorComparison, places: Sequence[int]) -> OperatorComparison:
    def kept(column: Sequence[float]) -> tuple[float, ...]:
        return tuple(column[place] for place in places) if column else ()

    pairs = tuple(one.pairs[place] for place in places)
    return one.model_copy(update={"pairs": pairs, "control": kept(one.control), "treatment": kept(one.treatment)})


def _judged(one: OperatorComparison, parameters: Parameters) -> OperatorComparison:
    """Decided after its last pair. Medians of zero, of operators below the clock's resolution, have no ratio.

    Delegates tell whole microseconds: what that rounds away is given away (see `harness.analysis.compare.resolution`).
    """
    medians = list(zip(one.control, one.treatment, strict=False))
    ratios = [math.log(treatment) - math.log(control) for control, treatment in medians if control > 0 < treatment]
    resolution = Resolution(parts=2)
    for median in chain.from_iterable(medians):
        if median > 0:
            resolution.add(median)
    room = math.log1p(parameters.margin) - resolution.log_step
    found = _Gathered(
        EProcess(Refutes.AT_MOST, 0.0, [0]),
        EProcess(Refutes.AT_LEAST, 0.0, [0]),
        EProcess(Refutes.AT_LEAST, room, [0]),
        EProcess(Refutes.AT_MOST, -room, [0]),
    )
    scale, scales = PredictableScale(), []
    for ratio in ratios:
        scales.append(scale.next())
        for process in found:
            process.add([ratio], scales[-1:])
        scale.add(ratio)
    middle, (low, high) = scale.median(), interval(ratios, scales, log_step=resolution.log_step)
    return one.model_copy(
        update={
            "difference": None if middle is None else relative(middle),
            "low": low,
            "high": high,
            "evidence": Evidence(
                regression=_bounded(found.regression.log_value),
                improvement=_bounded(found.improvement.log_value),
                not_worse=_bounded(found.not_worse.log_largest),
                not_better=_bounded(found.not_better.log_largest),
            ),
            "verdict": _verdict(found, parameters),
        }
    )


def _verdict(found: _Gathered, parameters: Parameters) -> Verdict:
    proof, rule_out = -math.log(parameters.alpha), -math.log(parameters.beta)
    if found.regression.log_value >= proof:
        return Verdict.REGRESSION
    if found.improvement.log_value >= proof:
        return Verdict.IMPROVEMENT
    if min(found.not_worse.log_largest, found.not_better.log_largest) >= rule_out:
        return Verdict.NO_CHANGE
    return Verdict.UNDECIDED


def _discovered(
    operators: Sequence[OperatorComparison],
    verdict: Verdict,
    evidence: Callable[[Evidence], float],
    total: int,
    q: float,
) -> frozenset[int]:
    """Places of the operators whose change in one direction survives among all that both sides have."""
    found = {number: evidence(one.evidence) for number, one in enumerate(operators) if one.verdict is verdict}
    return discoveries(found, total, q)


def _bounded(log_evidence: float) -> float:
    return math.exp(min(log_evidence, _LARGEST_LOG))
