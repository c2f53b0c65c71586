"""One job on a held device, from staging its files to its last launch."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from harness.core.benchmark import HostStep
from harness.core.command import Completed
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, DeviceLost, EnvironmentProblem
from harness.core.files import CachedFile
from harness.core.measurement import Job, Measurement
from harness.core.metric import Observation
from harness.core.protocols import Clock, Framework, Progress, Session, Staged, Task
from harness.core.result import Launch, Note, Outcome, RawLog
from harness.run.host_steps import run_step
from harness.run.launch import Launched, commands_of, fetch_outputs, launch, left_for
from harness.run.names import on_device, on_host
from harness.run.staging import made_files, stage


def measure(
    job: Job, session: Session, framework: Framework, *, scratch: Path, clock: Clock, progress: Progress
) -> Measurement:
    """Run every launch of a job. A failure of any kind becomes the measurement's outcome, with what was seen before it.

    A failing program is never started again: what fails now and then is a finding, not an inconvenience.

    Args:
        job: What to measure.
        session: The held device.
        framework: Starts and reads the runner.
        scratch: An empty folder on the host (`{HOSTDIR}`).
        clock: Unix seconds.
        progress: Told about launches.
    """
    measuring = _Measuring(job, session, framework, scratch, clock)
    outcome, reason, hint = Outcome.OK, None, None
    try:
        with progress.task(f"measuring {job.benchmark.title}", job.benchmark.launches) as task:
            outcome, reason = measuring.run(task)
    except BenchmarkUnsupported as error:
        outcome, reason, hint = Outcome.UNSUPPORTED, error.message, error.hint
    except BenchmarkFailed as error:
        outcome, reason, hint = Outcome.FAILED, error.message, error.hint
    except DeviceLost as error:
        outcome, reason, hint = Outcome.DEVICE_LOST, error.message, error.hint
    except EnvironmentProblem as error:
        outcome, reason, hint = Outcome.FAILED, error.message, error.hint
    return measuring.measurement(outcome, reason, hint)


class _Measuring:
    """What has been seen so far of one job."""

    def __init__(self, job: Job, session: Session, framework: Framework, scratch: Path, clock: Clock) -> None:
        self._job = job
        self._benchmark = job.benchmark
        self._session = session
        self._framework = framework
        self._scratch = scratch
        self._clock = clock
        self._started = clock()
        self._launches: list[Launch] = []
        self._observations: list[tuple[Observation, ...]] = []
        self._notes: list[Note] = []
        self._logs: list[RawLog] = []
        self._staged: Staged | None = None
        self._made: Mapping[str, CachedFile] = {}

    def run(self, task: Task) -> tuple[Outcome, str | None]:
        self._step("preprocess-model", self._benchmark.model_before, 0)
        began = time.monotonic()
        for index in range(self._benchmark.launches):
            spent = time.monotonic() - began
            if index and self._benchmark.time_limit_s is not None and spent >= self._benchmark.time_limit_s:
                self._notes.append(_out_of_time(index, self._benchmark.launches, self._benchmark.time_limit_s))
                break
            launched = self._launch(index, spent)
            if launched.launch.outcome is not Outcome.OK:
                return launched.launch.outcome, launched.launch.reason
            task.update(completed=index + 1)
        self._step("postprocess-model", self._benchmark.model_after, 0)
        return Outcome.OK, None

    def measurement(self, outcome: Outcome, reason: str | None, hint: str | None) -> Measurement:
        return Measurement(
            started=self._started,
            finished=self._clock(),
            outcome=outcome,
            reason=reason,
            hint=hint,
            launches=tuple(self._launches),
            observations=tuple(self._observations),
            notes=tuple(self._notes),
            logs=tuple(self._logs),
            made=self._made,
        )

    def _launch(self, index: int, spent_s: float) -> Launched:
        benchmark = left_for(self._benchmark, spent_s, index)
        self._step("preprocess", benchmark.before, index)
        staged = self._stage(index)
        names = on_device(self._job, self._session.device, staged, self._scratch, index)
        commands = commands_of(benchmark, self._job.build, self._framework, staged, names)
        time.sleep(benchmark.sleep_before_run_s)
        launched = launch(index, commands, self._session, self._clock)
        launched = fetch_outputs(launched, benchmark, self._session, names, self._scratch)
        self._launches.append(launched.launch)
        self._logs.extend(launched.logs)
        self._observe(launched.completed)
        if launched.launch.outcome is Outcome.OK:
            self._observe(self._step("postprocess", benchmark.after, index), into_last=True)
        return launched

    def _stage(self, index: int) -> Staged:
        """Once for all launches, unless a step makes new files for each of them."""
        made = made_files(self._benchmark, on_host(self._job, self._session.device, self._scratch, index))
        if self._staged is None or made:
            self._made = made
            self._staged = stage(self._job, made, self._session)
        return self._staged

    def _observe(self, completed: tuple[Completed, ...], *, into_last: bool = False) -> None:
        if into_last and not completed:
            return
        observations, notes = self._framework.parse(completed, self._benchmark)
        if into_last:
            observations = (*self._observations.pop(), *observations)
        self._observations.append(tuple(observations))
        self._notes.extend(notes)

    def _step(self, name: str, step: HostStep, index: int) -> tuple[Completed, ...]:
        return run_step(
            name,
            step,
            on_host(self._job, self._session.device, self._scratch, index),
            self._job.files,
            scratch=self._scratch,
            env=self._benchmark.env,
            timeout_s=self._benchmark.timeout_s,
        )


def _out_of_time(done: int, wanted: int, limit_s: float) -> Note:
    return Note(
        code="stopped_early",
        message=f"{done} of {wanted} launches: the time limit of {limit_s:g} s was over",
        hint="raise time_limit_s for more launches",
    )
