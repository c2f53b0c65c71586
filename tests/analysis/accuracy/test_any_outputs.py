"""Outputs of any type, shape and content get an evaluation and a comparison that can be stored: never an exception."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from harness.analysis.accuracy.arrays import OutputStream
from harness.analysis.accuracy.comparison import compare_outputs
from harness.analysis.accuracy.stages import Labels, evaluate_reference, evaluate_stage
from harness.core.evaluation import OutputComparison, StageEvaluation
from harness.core.examples import ITEM_BYTES, Scores, Stage
from harness.core.verdict import OutputVerdict
from tests.analysis.accuracy.streams import stream

Array = NDArray[Any]
_UNSIGNED = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, Array, Array]:
    """Draw an element type and two outputs of it from any bits, the second often like the first."""
    dtype = draw(st.sampled_from(sorted(ITEM_BYTES)))
    shape = (draw(st.integers(0, 4)), *draw(arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
    bits = st.integers(0, 1) if dtype == "bool" else st.integers(0, 2 ** (8 * ITEM_BYTES[dtype]) - 1)
    drawn = arrays.arrays(_UNSIGNED[ITEM_BYTES[dtype]], shape, elements=bits)
    first = draw(drawn)
    second = first.copy() if draw(st.booleans()) else draw(drawn)
    stored = "uint16" if dtype == "bfloat16" else dtype
    return dtype, first.view(stored), second.view(stored)


@settings(deadline=None, max_examples=150)
@given(pairs(), st.sampled_from(list(Scores)), st.booleans())
def test_any_outputs_have_a_storable_evaluation(pair: tuple[str, Array, Array], scores: Scores, labelled: bool) -> None:
    dtype, first, second = pair
    labels = Labels([0] * len(first)) if labelled else None

    def outputs(values: Array) -> OutputStream:
        return stream(values, dtypes=[dtype])

    evaluations = evaluate_stage(
        Stage.HOST, outputs(second), Stage.EAGER, outputs(first), scores=[scores], labels=labels
    )
    alone = evaluate_reference(Stage.EAGER, outputs(first), scores=[scores], labels=labels)
    for evaluation in (*evaluations, alone):
        assert StageEvaluation.model_validate_json(evaluation.model_dump_json()) == evaluation
        assert evaluation.failure is None
        for statistic in evaluation.statistics:
            assert (statistic.value is None) == (statistic.reason is not None)
            if statistic.value is not None and statistic.low is not None and statistic.high is not None:
                slack = 1e-9 * abs(statistic.value)
                assert statistic.low - slack <= statistic.value <= statistic.high + slack, statistic
    comparison = compare_outputs(outputs(first), outputs(second))
    assert OutputComparison.model_validate_json(comparison.model_dump_json()) == comparison
    identical = len(first) > 0 and evaluations[0].identical_examples == len(first)
    assert (comparison.verdict is OutputVerdict.IDENTICAL) == identical
