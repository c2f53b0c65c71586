"""Proof of the same work on a device: outputs of a program, taken there, against those of the eager model."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec.structs import replace

from harness.analysis.accuracy.same_work import compare_work
from harness.core.errors import BenchmarkFailed, DataUnavailable, EnvironmentProblem
from harness.core.examples import Stage
from harness.core.measurement import Job, Measurement, References
from harness.core.note import Note
from harness.core.protocols import Framework, Progress, Session
from harness.core.result import Outcome, RawLog
from harness.core.same_work import SameWork, SameWorkRequest, WorkVerdict
from harness.flows.measure.example_types import fit_examples
from harness.running.outputs import take_outputs

DIFFERENT_WORK: Final = "different_work"
"""Code of the note on a program whose outputs are not those of its reference."""

UNPROVEN_WORK: Final = "unproven_work"
"""Code of the note on a program whose outputs could not be compared."""


def add_same_work(
    measurement: Measurement, job: Job, session: Session, framework: Framework, *, scratch: Path, progress: Progress
) -> Measurement:
    """Return a measurement with whether its program does the same work; one that failed stays as it is.

    Outputs that differ, or that cannot be had, are no failure: the latency is what was measured, of other work.

    Args:
        measurement: Record of the launches for latency, which are over.
        job: The job, with what its outputs are compared with.
        session: The locked device.
        framework: Starts and reads the runner.
        scratch: Folder of this machine for outputs on their way.
        progress: Told what happens.
    """
    if job.benchmark.same_work is None or measurement.outcome is not Outcome.OK:
        return measurement
    same_work, logs = prove_same_work(
        job, session, framework, job.benchmark.same_work, scratch=scratch, progress=progress
    )
    notes = (*measurement.notes, *describe_same_work(same_work))
    return replace(measurement, same_work=same_work, notes=notes, logs=(*measurement.logs, *logs))


def prove_same_work(
    job: Job,
    session: Session,
    framework: Framework,
    request: SameWorkRequest,
    *,
    scratch: Path,
    progress: Progress,
    references: References | None = None,
) -> tuple[SameWork, tuple[RawLog, ...]]:
    """Execute the examples on a device, and compare the outputs.

    Args:
        job: The job.
        session: The locked device.
        framework: Starts and reads the runner.
        request: How to compare.
        scratch: Folder of this machine for outputs on their way.
        progress: Told what happens.
        references: What to compare with; None takes those of the job.

    Returns:
        Whether it does the same work, and the output of the launches.
    """
    references = references or job.references
    if references is None:
        return _not_compared(request, job.unreferenced or "there is nothing to compare its outputs with"), ()
    if Stage.EAGER not in references.stages:
        return _not_compared(request, "its framework computes no outputs of the eager model"), ()
    outputs = scratch / "same-work"
    outputs.mkdir(parents=True, exist_ok=True)
    try:
        examples = fit_examples(job, references.examples, scratch / "fitted")
        with progress.task(f"comparing outputs of {job.benchmark.title} with the eager model") as task:
            taken = take_outputs(
                job, session, framework, examples, outputs, stage=Stage.DEVICE, scratch=scratch, progress=task
            )
        if taken.outcome is not Outcome.OK:
            return _not_compared(request, f"its outputs could not be taken: {taken.reason}", taken.hint), taken.logs
        weights = next((file.report.weights_md5 for file in job.files.values() if file.report is not None), None)
        eager = references.stages[Stage.EAGER]
        return compare_work(outputs, eager, request, stage=Stage.DEVICE, weights_md5=weights), taken.logs
    except (BenchmarkFailed, DataUnavailable, EnvironmentProblem) as error:
        return _not_compared(request, error.message, error.hint), ()


def describe_same_work(same_work: SameWork) -> tuple[Note, ...]:
    """Return the note for a reader of a latency whose program is not proven to do the same work."""
    if same_work.is_same:
        return ()
    if same_work.verdict is WorkVerdict.DIFFERENT:
        message = f"it does other work, and is not ranked: {same_work.reason}"
        return (Note(code=DIFFERENT_WORK, message=message, hint=same_work.hint, trust=False),)
    message = f"whether it does the same work is not known, so it is not ranked: {same_work.reason}"
    return (Note(code=UNPROVEN_WORK, message=message, hint=same_work.hint),)


def _not_compared(request: SameWorkRequest, reason: str, hint: str | None = None) -> SameWork:
    return SameWork(verdict=WorkVerdict.NOT_COMPARED, reason=reason, hint=hint, tolerance=request.tolerance)
