"""Evaluated results for tests of tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core.evaluation import DataInfo, Evaluation, LayerGap, StageEvaluation, Statistic
from harness.core.examples import DataRequest, Stage
from harness.core.metric import Direction
from harness.core.result import FileInfo, Result
from harness.testing.results import ok_result

DATA = DataInfo(
    request=DataRequest(provider="digits"),
    description="scikit-learn's digits, held-out part",
    examples=360,
    is_labelled=True,
    digest="d" * 64,
)


def statistic(name: str, value: float | None, low: float | None = None, high: float | None = None) -> Statistic:
    """Return an estimate of 360 examples."""
    unit = "dB" if name == "sqnr" else ""
    return Statistic(
        name=name,
        unit=unit,
        direction=Direction.HIGHER,
        value=value,
        low=low,
        high=high,
        examples=360,
        examples_for_a_point=2000 if name == "top1_agreement" else None,
        reason="there is no difference" if value is None else None,
    )


def evaluated_result(
    identifier: str,
    *,
    latency_ms: float = 1.0,
    size_bytes: int = 1 << 20,
    sqnr: float | None = 30.0,
    margin: float = 0.5,
    nan_examples: int = 0,
    largest_error: float | None = None,
    accuracy: float | None = None,
    layers: Sequence[LayerGap] = (),
) -> Result:
    """Return a result with a latency of two equal launches, a size, and a fidelity with a margin on both sides."""
    ends = (None, None) if sqnr is None else (sqnr - margin, sqnr + margin)
    largest = largest_error if largest_error is not None else 0.0 if sqnr is None else 0.5
    measured = StageEvaluation(
        stage=Stage.HOST,
        examples=360,
        nan_examples=nan_examples,
        statistics=(
            statistic("sqnr", sqnr, *ends),
            statistic("cosine_similarity", 0.9997, 0.9996, 0.9998),
            statistic("top1_agreement", 0.89, 0.78, 0.96),
            statistic("max_absolute_error", largest),
            *(() if accuracy is None else (statistic("top1_accuracy", accuracy, accuracy - 0.02, accuracy + 0.02),)),
        ),
    )
    result = ok_result(identifier=identifier, samples=[latency_ms] * 10)
    file = FileInfo(filename="model.pte", md5="0" * 32, size_bytes=size_bytes, source="export")
    evaluation = Evaluation(data=DATA, stages=(measured,), layers=tuple(layers))
    return result.model_copy(update={"evaluation": evaluation, "files": {"files.model": file}})


def layer(name: str, sqnr_db: float | None, **fields: str) -> LayerGap:
    """Return the gap of a layer of the quantised stage."""
    return LayerGap(
        name=name,
        operator="convolution",
        stage=Stage.QUANTISED,
        sqnr_db=sqnr_db,
        max_absolute_error=0.5,
        examples=8,
        **fields,
    )
