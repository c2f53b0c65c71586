"""Measurement of one job on a held device, from its first launch to its last."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from harness.core.benchmark import Benchmark
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, DeviceLost, EnvironmentProblem
from harness.core.measurement import Job, Measurement
from harness.core.note import Note
from harness.core.protocols import Clock, Framework, Progress, Session, Task
from harness.core.result import Outcome
from harness.running.failures import TooManyFailures, hint_for
from harness.running.launch import with_remaining_time
from harness.running.launcher import Launcher
from harness.running.metered import TOO_SHORT, lengthen
from harness.running.passes import PassFailed, run_passes, timed_benchmark
from harness.running.precision import find_sampled_metric, is_precise
from harness.running.probing import run_probes
from harness.running.retry import RetryPolicy, launch_with_retry
from harness.shell import Interrupted

STOPPED_HINT: Final = "measure it again: what is kept of it shows where it was, and is not its figure"


class MeasuringStopped(Interrupted):
    """The harness is being stopped while a job is measured.

    Args:
        measurement: What there is of it.
    """

    def __init__(self, measurement: Measurement) -> None:
        super().__init__(measurement.reason or "stopped while it was measuring")
        self.measurement = measurement


def measure(
    job: Job, session: Session, framework: Framework, *, scratch: Path, clock: Clock, progress: Progress
) -> Measurement:
    """Run every launch of a job. A failure of any kind becomes the measurement's outcome, beside what preceded it.

    A failing program is never started again: what fails now and then is a finding, not an inconvenience. A launch that
    heat or a lost device disturbed is (`harness.running.retry`).

    Launches are added to those that the benchmark asks for until its median is precise, while there is time for them.

    Args:
        job: What to measure.
        session: The held device.
        framework: Starts and reads the runner.
        scratch: An empty folder on the host (`{HOSTDIR}`).
        clock: Unix seconds.
        progress: Shows the launches.

    Raises:
        MeasuringStopped: The harness is being stopped.
    """
    launcher = Launcher(job, session, framework, scratch, clock)
    outcome, reason, hint = Outcome.OK, None, None
    try:
        with progress.task(f"measuring {job.benchmark.title} on {session.device.name}", job.benchmark.launches) as task:
            outcome, reason = _launch_all(launcher, task)
        hint = hint_for(outcome)
    except (BenchmarkFailed, EnvironmentProblem) as error:
        outcome, reason, hint = outcome_of(error), error.message, error.hint
    except Interrupted as interruption:
        reason = f"stopped after {launcher.launches} launch{'' if launcher.launches == 1 else 'es'}"
        raise MeasuringStopped(launcher.measurement(Outcome.INTERRUPTED, reason, STOPPED_HINT)) from interruption
    return launcher.measurement(outcome, reason, hint)


def outcome_of(error: BenchmarkFailed | EnvironmentProblem) -> Outcome:
    """Return the outcome of a benchmark that an error ended."""
    match error:
        case TooManyFailures() | PassFailed():
            return error.outcome
        case BenchmarkUnsupported():
            return Outcome.UNSUPPORTED
        case DeviceLost():
            return Outcome.DEVICE_LOST
        case _:
            return Outcome.FAILED


def _launch_all(launcher: Launcher, task: Task) -> tuple[Outcome, str | None]:
    """Launch until all launches are done and the median is precise, one fails, or the time is over."""
    benchmark = launcher.job.benchmark
    timed = timed_benchmark(benchmark)
    policy = RetryPolicy([launcher])
    launcher.begin()
    began = time.monotonic()
    longest_s = spent_s = 0.0
    for index in range(benchmark.looks[-1]):
        if not _has_time(benchmark, index, spent_s, longest_s):
            if index < benchmark.launches and benchmark.time_limit_s is not None:
                launcher.note(_out_of_time(index, benchmark.launches, benchmark.time_limit_s))
            break
        if index >= benchmark.launches and _is_finished(launcher, index):
            break
        launch, observations = launch_with_retry(launcher, with_remaining_time(timed, spent_s, index), policy)
        if index == 0 and timed.is_about_energy and launch.outcome is Outcome.OK:
            longer = lengthen(timed, launch, observations)
            if longer is not None:
                launcher.discard(TOO_SHORT)
                timed = longer
                launch, _ = launch_with_retry(launcher, with_remaining_time(timed, 0.0, index), policy)
        if launch.outcome is not Outcome.OK:
            return launch.outcome, launch.reason
        before_s, spent_s = spent_s, time.monotonic() - began
        longest_s = max(longest_s, spent_s - before_s)
        following = next((look for look in benchmark.looks if look > index), index + 1)
        task.update(completed=index + 1, total=max(following, benchmark.launches))
    run_passes(launcher, policy)
    run_probes(launcher, policy, timed_benchmark(benchmark))
    launcher.end()
    return Outcome.OK, None


def _has_time(benchmark: Benchmark, index: int, spent_s: float, longest_s: float) -> bool:
    """Return whether another launch may begin; an added one only if the longest so far would still end in time."""
    if benchmark.time_limit_s is None or index == 0:
        return True
    return spent_s + (longest_s if index >= benchmark.launches else 0.0) < benchmark.time_limit_s


def _is_finished(launcher: Launcher, index: int) -> bool:
    """Return whether no launch needs to be added: the median is precise, or is not that of a time or rate."""
    benchmark, observations = launcher.job.benchmark, launcher.counted_observations
    if benchmark.precision is None or find_sampled_metric(observations) is None:
        return True
    return index in benchmark.looks and is_precise(observations, benchmark.precision, len(benchmark.looks))


def _out_of_time(done: int, wanted: int, limit_s: float) -> Note:
    return Note(
        code="fewer_launches",
        message=f"{done} of {wanted} launches: the time limit of {limit_s:g} s was over",
        hint="raise time_limit_s for more launches",
    )
