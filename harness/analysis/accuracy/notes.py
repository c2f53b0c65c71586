"""What a reader of an evaluation must know: faults, types that differ, agreement without meaning."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from harness.analysis.accuracy.scores import ScoreCounts
from harness.core.examples import Scores, Stage, TensorInfo
from harness.core.note import Note

_UNDECIDED: Final = 0.9
"""Entropy of the reference, relative to that of equal probabilities, above which its choice is arbitrary. Networks
with random weights have 0.998 (MobileNetV2, 1,000 classes); the trained EfficientNet-Lite0 has 0.47 on photographs."""

_DOMINANT: Final = 0.9
"""Share of the examples for which the reference chooses one class, from which on agreement is that class's share."""

_FEW_CLASSES: Final = 3
"""Distinct choices that are few, of 30 classes and more; of fewer classes a tenth of them, at least one."""

_FEWEST_ROWS: Final = 10
"""Rows below which few classes are no finding."""


def meaning_notes(counts: ScoreCounts, scores: Scores, reference: Stage) -> Iterator[Note]:
    """Yield a note where agreement says nothing, because the reference does not decide between classes."""
    rows, distinct = len(counts.choices), len(set(counts.choices))
    entropies = [entropy for _, entropy in counts.divergences(scores)]
    entropy = float(np.mean(entropies)) / math.log(counts.classes) if entropies else 0.0
    if entropy > _UNDECIDED:
        reason = (
            f"{reference} gives nearly the same probability to all {counts.classes:,} classes "
            f"({100 * entropy:.1f} % of the largest entropy), as a model with random weights does"
        )
    elif rows >= _FEWEST_ROWS and (share := _largest_share(counts.choices)) >= _DOMINANT:
        reason = (
            f"{reference} chooses one class for {100 * share:.0f} % of {rows:,} examples, "
            "and a stage that gave nothing else would agree as often"
        )
    elif rows >= _FEWEST_ROWS and distinct <= max(1, min(_FEW_CLASSES, counts.classes // 10)):
        reason = f"{reference} chooses only {distinct} of {counts.classes:,} classes over {rows:,} examples"
    else:
        return
    yield Note(
        code="agreement_meaningless",
        message=f"agreement says little here: {reason} ({distinct:,} distinct first choices); read SQNR instead",
        hint="use a trained model, and examples of many of its classes",
        trust=False,
    )


def _largest_share(choices: Sequence[int]) -> float:
    return max(Counter(choices).values()) / len(choices)


def fault_notes(
    stage: Stage, reference: Stage | None, *, examples: int, nan: int, infinite: int, faulty_reference: int
) -> Iterator[Note]:
    """Yield notes on outputs that are not finite.

    Args:
        stage: The stage.
        reference: Its reference; None where it is evaluated by itself.
        examples: Number of all examples.
        nan: Number of examples with an output that is not a number.
        infinite: Number of further examples with an infinite one.
        faulty_reference: Number of examples for which the reference is not finite.
    """
    if nan or infinite:
        faults = [f"not a number in {nan:,}"] * bool(nan) + [f"infinite in {infinite:,}"] * bool(infinite)
        where = "" if reference is None else f", where those of {reference} are finite"
        rest = examples - nan - infinite - faulty_reference
        errors = "" if reference is None else f"errors are over the other {rest:,}, and "
        counted = "accuracy counts" if reference is None else "agreement and accuracy count"
        yield Note(
            code="not_finite",
            message=(
                f"outputs of {stage} are {' and '.join(faults)} of {examples:,} examples{where}; "
                f"{errors}{counted} these as wrong"
            ),
            hint="look where the gap opens, layer by layer; half precision overflows beyond 65,504",
            trust=False,
        )
    if faulty_reference:
        yield Note(
            code="reference_not_finite",
            message=(
                f"outputs of {reference} are not finite in {faulty_reference:,} of {examples:,} examples: "
                "the reference itself is faulty there, and these examples count in no statistic"
            ),
            hint="check the model and the preprocessing of its inputs",
            trust=False,
        )


def type_notes(
    stage: Stage, reference: Stage, tensors: Sequence[TensorInfo], expected: Sequence[TensorInfo]
) -> Iterator[Note]:
    """Yield a note where outputs are of another precision than those of the reference."""
    pairs = sorted({(a.dtype, b.dtype) for a, b in zip(tensors, expected, strict=True) if a.dtype != b.dtype})
    if pairs:
        types = ", ".join(f"{actual} with {wanted}" for actual, wanted in pairs)
        message = f"outputs of {stage} are compared with those of {reference} in another precision: {types}"
        yield Note(code="element_types", message=message)
