"""Evaluation pass: the outputs of a job on its device, taken after its latency, against those of its origin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.core.errors import BenchmarkFailed
from harness.core.evaluation import DataInfo, Evaluation, LayerGaps, StageEvaluation
from harness.core.examples import ExampleManifest, Scores, Stage
from harness.core.measurement import Job, Measurement, References
from harness.core.protocols import Framework, Progress, Session
from harness.core.result import Outcome
from harness.flows.measure.example_types import fit_examples
from harness.running.outputs import take_outputs

if TYPE_CHECKING:
    from harness.analysis.accuracy.arrays import OutputStream
    from harness.analysis.accuracy.stages import Labels


def add_evaluation(
    measurement: Measurement,
    job: Job,
    session: Session,
    framework: Framework,
    *,
    stage: Stage,
    scratch: Path,
    progress: Progress,
) -> Measurement:
    """Take the outputs of a job, and return its measurement with their evaluation.

    A measurement that failed stays as it is. One whose outputs cannot be taken, or are faulty, has failed: its latency
    remains.

    Args:
        measurement: Record of the launches for latency, which are over.
        job: The job, with what its outputs are compared with.
        session: The locked device.
        framework: Starts and reads the runner.
        stage: The stage that the device stands for.
        scratch: Folder of this machine for outputs on their way.
        progress: Told what happens.
    """
    references = job.references
    if references is None or measurement.outcome is not Outcome.OK:
        return measurement
    outputs = references.kept_outputs or scratch / "outputs"
    outputs.mkdir(parents=True, exist_ok=True)
    try:
        examples = fit_examples(job, references.examples, scratch / "fitted")
    except BenchmarkFailed as error:
        return replace(measurement, outcome=Outcome.FAILED, reason=error.message, hint=error.hint)
    with progress.task(f"taking outputs of {job.benchmark.title} on {session.device.name}") as task:
        taken = take_outputs(job, session, framework, examples, outputs, stage=stage, scratch=scratch, progress=task)
    measurement = replace(measurement, notes=(*measurement.notes, *taken.notes), logs=(*measurement.logs, *taken.logs))
    if taken.outcome is not Outcome.OK:
        return replace(measurement, outcome=taken.outcome, reason=f"outputs: {taken.reason}", hint=taken.hint)
    evaluation = evaluate(references, {stage: outputs}, job.benchmark.scores)
    measurement = replace(measurement, evaluation=evaluation)
    if evaluation.measured is None or not evaluation.measured.is_faulty:
        return measurement
    hint = "its latency stays in the result; try another recipe or backend"
    return replace(measurement, outcome=Outcome.FAILED, reason=f"outputs: {evaluation.measured.fault}", hint=hint)


def evaluate(references: References, taken: dict[Stage, Path], scores: tuple[Scores, ...] = ()) -> Evaluation:
    """Compare every stage with the eager model, and a lowered program with what it was lowered from, too.

    Args:
        references: The examples, and the output folders of the stages before the device.
        taken: Output folders of stages that were taken from a runtime.
        scores: Meaning of each output, as the specification states it.
    """
    from harness.files.examples import read_examples  # noqa: PLC0415 - NumPy, which only evaluations need

    manifest = read_examples(references.examples).manifest
    folders = {**references.stages, **taken}
    evaluations = [
        evaluation
        for stage, reference in plan_comparisons(tuple(folders))
        for evaluation in _compare((stage, reference), folders, manifest, scores)
    ]
    data = DataInfo(
        request=manifest.request,
        description=manifest.description,
        examples=manifest.count,
        is_labelled=manifest.labels is not None,
        digest=manifest.digest,
    )
    layers = references.layers or LayerGaps()
    return Evaluation(
        data=data,
        stages=tuple(evaluations),
        layers=layers.gaps,
        layers_unavailable=layers.unavailable,
        layers_notes=layers.notes,
    )


def plan_comparisons(stages: tuple[Stage, ...]) -> Iterator[tuple[Stage, Stage]]:
    """Yield each stage with each of its references: the eager model, what it was lowered from, the host."""
    present = [stage for stage in Stage if stage in stages]
    for stage in present:
        if Stage.EAGER in present:
            yield stage, Stage.EAGER
    for stage in present:
        if stage in {Stage.HOST, Stage.DEVICE} and Stage.QUANTISED in present:
            yield stage, Stage.QUANTISED
    if Stage.DEVICE in present and Stage.HOST in present:
        yield Stage.DEVICE, Stage.HOST


def _compare(
    stages: tuple[Stage, Stage], folders: dict[Stage, Path], manifest: ExampleManifest, scores: tuple[Scores, ...]
) -> tuple[StageEvaluation, ...]:
    from harness.analysis.accuracy.stages import Labels, evaluate_reference, evaluate_stage  # noqa: PLC0415 - as above

    labels: Labels | None = Labels(manifest.labels) if manifest.labels is not None else None
    stage, reference = stages
    outputs, batch = _open(folders[stage]), _count_batch(manifest)
    if stage is reference:
        return (evaluate_reference(stage, outputs, scores=scores, labels=labels, batch=batch),)
    return evaluate_stage(
        stage, outputs, reference, _open(folders[reference]), scores=scores, labels=labels, batch=batch
    )


def _count_batch(manifest: ExampleManifest) -> int:
    """Return the number of inputs in one example: the first dimension, as nearly all models have it."""
    return next((tensor.shape[0] for tensor in manifest.inputs if tensor.shape), 1)


def _open(folder: Path) -> OutputStream:
    """Open an output folder."""
    from harness.analysis.accuracy.arrays import OutputStream  # noqa: PLC0415 - as above
    from harness.files.examples import read_outputs  # noqa: PLC0415 - as above

    outputs = read_outputs(folder)
    return OutputStream(outputs.tensors, len(outputs), outputs)
