"""Measurement of one job on a held device, from its first launch to its last."""

from __future__ import annotations

import time
from pathlib import Path

from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, DeviceLost, EnvironmentProblem
from harness.core.measurement import Job, Measurement
from harness.core.note import Note
from harness.core.protocols import Clock, Framework, Progress, Session, Task
from harness.core.result import Outcome
from harness.running.launch import with_remaining_time
from harness.running.launcher import Launcher
from harness.running.pairs import TooManyFailures
from harness.running.retry import RetryPolicy, launch_with_retry


def measure(
    job: Job, session: Session, framework: Framework, *, scratch: Path, clock: Clock, progress: Progress
) -> Measurement:
    """Run every launch of a job. A failure of any kind becomes the measurement's outcome, beside what preceded it.

    A failing program is never started again: what fails now and then is a finding, not an inconvenience. A launch that
    heat or a lost device disturbed is (`harness.running.retry`).

    Args:
        job: What to measure.
        session: The held device.
        framework: Starts and reads the runner.
        scratch: An empty folder on the host (`{HOSTDIR}`).
        clock: Unix seconds.
        progress: Shows the launches.
    """
    launcher = Launcher(job, session, framework, scratch, clock)
    outcome, reason, hint = Outcome.OK, None, None
    try:
        with progress.task(f"measuring {job.benchmark.title} on {session.device.name}", job.benchmark.launches) as task:
            outcome, reason = _launch_all(launcher, task)
    except (BenchmarkFailed, EnvironmentProblem) as error:
        outcome, reason, hint = outcome_of(error), error.message, error.hint
    return launcher.measurement(outcome, reason, hint)


def outcome_of(error: BenchmarkFailed | EnvironmentProblem) -> Outcome:
    """Return the outcome of a benchmark that an error ended."""
    match error:
        case TooManyFailures():
            return error.outcome
        case BenchmarkUnsupported():
            return Outcome.UNSUPPORTED
        case DeviceLost():
            return Outcome.DEVICE_LOST
        case _:
            return Outcome.FAILED


def _launch_all(launcher: Launcher, task: Task) -> tuple[Outcome, str | None]:
    """Launch until all launches are done, one fails, or the time is over."""
    benchmark = launcher.job.benchmark
    policy = RetryPolicy([launcher])
    launcher.begin()
    began = time.monotonic()
    for index in range(benchmark.launches):
        spent = time.monotonic() - began
        if index and benchmark.time_limit_s is not None and spent >= benchmark.time_limit_s:
            launcher.note(_out_of_time(index, benchmark.launches, benchmark.time_limit_s))
            break
        launch, _ = launch_with_retry(launcher, with_remaining_time(benchmark, spent, index), policy)
        if launch.outcome is not Outcome.OK:
            return launch.outcome, launch.reason
        task.update(completed=index + 1)
    launcher.end()
    return Outcome.OK, None


def _out_of_time(done: int, wanted: int, limit_s: float) -> Note:
    return Note(
        code="stopped_early",
        message=f"{done} of {wanted} launches: the time limit of {limit_s:g} s was over",
        hint="raise time_limit_s for more launches",
    )
