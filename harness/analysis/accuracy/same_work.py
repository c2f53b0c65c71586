"""Judgement on the same work: outputs of a program against those of its reference, within a stated tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.analysis.accuracy.arrays import OutputStream
from harness.analysis.accuracy.stages import evaluate_stage
from harness.core.evaluation import StageEvaluation
from harness.core.examples import Scores, Stage
from harness.core.same_work import SameWork, SameWorkRequest, WorkVerdict
from harness.files.examples import read_outputs


def compare_work(
    outputs: Path, reference: Path, request: SameWorkRequest, *, stage: Stage, weights_md5: str | None
) -> SameWork:
    """Compare the outputs of a program with those of its reference, for the same examples.

    Args:
        outputs: Output folder of the program.
        reference: Output folder of the eager model.
        request: The tolerance.
        stage: Where the program was executed.
        weights_md5: MD5 of the weights that the program was exported with; None where it is not known.

    Raises:
        DataUnavailable: A folder cannot be read.
    """
    expected, actual = read_outputs(reference), read_outputs(outputs)
    known = {"weights_md5": weights_md5, "examples_digest": actual.manifest.examples}
    streams = [OutputStream(folder.manifest.outputs, len(folder), folder) for folder in (actual, expected)]
    scores = (Scores.NONE,) * len(expected.manifest.outputs)
    evaluations = evaluate_stage(stage, streams[0], Stage.EAGER, streams[1], scores=scores)
    judged = judge_work(evaluations, request)
    if judged.is_same and (reason := _compare_weights(weights_md5, expected.manifest.weights_md5)) is not None:
        verdict = WorkVerdict.DIFFERENT if weights_md5 is not None else WorkVerdict.NOT_COMPARED
        judged = judged.model_copy(update={"verdict": verdict, "reason": reason})
    return judged.model_copy(update=known)


def judge_work(evaluations: Sequence[StageEvaluation], request: SameWorkRequest) -> SameWork:
    """Judge the evaluations of all outputs, together and each by itself: the worst counts."""
    total = evaluations[0]
    if total.faulty_reference_examples:
        reason = f"the reference itself is not finite in {total.faulty_reference_examples} of {total.examples} examples"
        return _conclude(request, WorkVerdict.NOT_COMPARED, reason, examples=total.examples)
    fault = next((evaluation.fault for evaluation in evaluations if evaluation.is_faulty), None)
    if fault is not None:
        return _conclude(request, WorkVerdict.DIFFERENT, fault, examples=total.examples)
    figures = [_read_errors(evaluation) for evaluation in evaluations]
    largest, relative_l2 = (_worst(column) for column in zip(*figures, strict=True))
    judged = SameWork(
        verdict=WorkVerdict.SAME,
        tolerance=request.tolerance,
        largest_difference=largest,
        relative_l2_error=relative_l2,
        examples=total.examples,
    )
    if largest is None or relative_l2 is None:
        reason = "the reference is zero everywhere, and the outputs are not"
        return judged.model_copy(update={"verdict": WorkVerdict.DIFFERENT, "reason": reason})
    if largest <= request.tolerance and relative_l2 <= request.tolerance:
        return judged
    reason = (
        f"its outputs differ from those of the eager model by up to {largest:.2g} of the largest magnitude, "
        f"relative L2 error {relative_l2:.2g}: more than {request.tolerance:g}"
    )
    return judged.model_copy(update={"verdict": WorkVerdict.DIFFERENT, "reason": reason})


def _conclude(request: SameWorkRequest, verdict: WorkVerdict, reason: str, examples: int = 0) -> SameWork:
    return SameWork(verdict=verdict, reason=reason, tolerance=request.tolerance, examples=examples)


def _compare_weights(exported: str | None, reference: str | None) -> str | None:
    """Return why equal weights are not proven; None where they are."""
    if exported is None or reference is None:
        return "its export does not tell the MD5 of its weights, so that equal weights are not proven"
    if exported != reference:
        return f"it was exported with other weights (MD5 {exported[:8]}) than those of the reference ({reference[:8]})"
    return None


def _read_errors(evaluation: StageEvaluation) -> tuple[float | None, float | None]:
    """Return the largest relative difference and the relative L2 error; 0 where all bits are equal."""
    if evaluation.identical_examples == evaluation.examples:
        return 0.0, 0.0
    largest, relative_l2 = (evaluation.statistic(name) for name in ("max_relative_error", "relative_l2_error"))
    return (largest.value if largest else None), (relative_l2.value if relative_l2 else None)


def _worst(figures: Sequence[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return max(known) if len(known) == len(figures) else None
