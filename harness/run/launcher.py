"""One job on a held device: begun once, launched as often as somebody asks, ended once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from harness.core.benchmark import Benchmark, HostStep
from harness.core.command import Command, Completed
from harness.core.files import CachedFile
from harness.core.measurement import Job, Measurement
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.protocols import Clock, Framework, Session, Staged
from harness.core.result import Launch, Outcome, RawLog
from harness.run.energy import energy_told
from harness.run.host_steps import run_step
from harness.run.launch import LaunchRecord, commands_of, fetch_outputs, launch
from harness.run.operators import per_iteration
from harness.run.placeholder_values import Names, on_device, on_host
from harness.run.staging import made_files, stage
from harness.shell import pause


class ObservedLaunch(NamedTuple):
    """What became of a launch, and what it said, also when it failed."""

    launch: Launch
    observations: tuple[Observation, ...]

    @property
    def counts(self) -> bool:
        """Whether it can be compared: it went well, and heat did not disturb it."""
        return self.launch.outcome is Outcome.OK and not self.launch.throttled


@dataclass(frozen=True, slots=True)
class PreparedLaunch:
    """A launch before its start.

    Attributes:
        index: Its number among the launches of its launcher.
        benchmark: What it measures.
        commands: What to start, in order.
        names: Values of the placeholders on the device.
    """

    index: int
    benchmark: Benchmark
    commands: tuple[Command, ...]
    names: Names


class Launcher:
    """What runs, and what has been seen of it so far.

    Args:
        job: What to measure.
        session: The held device.
        framework: Starts and reads the runner.
        scratch: An empty folder on the host (`{HOSTDIR}`).
        clock: Unix seconds.
    """

    def __init__(self, job: Job, session: Session, framework: Framework, scratch: Path, clock: Clock) -> None:
        self.job = job
        self.session = session
        self.framework = framework
        self.clock = clock
        self._scratch = scratch
        self._started = clock()
        self._launches: list[Launch] = []
        self._observations: list[tuple[Observation, ...]] = []
        self._notes: list[Note] = []
        self._logs: list[RawLog] = []
        self._staged: Staged | None = None
        self._made: Mapping[str, CachedFile] = {}

    def begin(self) -> None:
        """Run the model's own steps before the first launch.

        Raises:
            BenchmarkFailed: One of them failed.
        """
        self._step("preprocess-model", self.job.benchmark.model_before, 0)

    def end(self) -> None:
        """Run the model's own steps after the last launch.

        Raises:
            BenchmarkFailed: One of them failed.
        """
        self._step("postprocess-model", self.job.benchmark.model_after, 0)

    def launch(self, benchmark: Benchmark) -> ObservedLaunch:
        """Start the runner once, with the steps around it.

        Args:
            benchmark: The job's benchmark, perhaps with other iterations or a shorter time limit.

        Returns:
            What became of it, and what it said, also when it failed.

        Raises:
            BenchmarkFailed: It could not be started, or a step around it failed.
            DeviceLost: The device went away.
        """
        prepared = self.prepare(benchmark)
        return self.keep(prepared, launch(prepared.index, prepared.commands, self.session, self.clock))

    def prepare(self, benchmark: Benchmark) -> PreparedLaunch:
        """Everything of a launch that comes before its start. It is started, and kept, before another is prepared.

        Arguments and errors as for `launch`.
        """
        index = len(self._launches)
        self._step("preprocess", benchmark.before, index)
        staged = self._stage(index)
        names = on_device(self.job, self.session.device, staged, self._scratch, index)
        commands = commands_of(benchmark, self.job.build, self.framework, staged, names)
        pause(benchmark.sleep_before_run_s)
        return PreparedLaunch(index, benchmark, commands, names)

    def keep(self, prepared: PreparedLaunch, launched: LaunchRecord) -> ObservedLaunch:
        """Everything of a launch that comes after its end. Returns and errors as for `launch`."""
        benchmark = prepared.benchmark
        fetched = fetch_outputs(launched, benchmark, self.session, prepared.names, self._scratch)
        self._launches.append(fetched.launch)
        self._logs.extend(fetched.logs)
        self._observations.append(self._parsed(fetched.completed))
        if fetched.launch.outcome is Outcome.OK:
            after = self._step("postprocess", benchmark.after, prepared.index)
            self._observations[-1] += self._parsed(after) if after else ()
            self._sum_operators(benchmark)
            self._tell_energy(benchmark, fetched.completed)
        return ObservedLaunch(fetched.launch, self._observations[-1])

    @property
    def launches(self) -> int:
        """How many were kept so far."""
        return len(self._launches)

    def discard(self, why: str) -> None:
        """Let the last launch stand in the record, but not what it said."""
        self._observations[-1] = ()
        self._launches[-1] = self._launches[-1].model_copy(update={"discarded": why})

    def stage_again(self) -> None:
        """Trust nothing that was staged: the device was away."""
        self._staged = None

    def note(self, note: Note) -> None:
        """Keep something that a reader of the numbers must know."""
        self._notes.append(note)

    def measurement(self, outcome: Outcome, reason: str | None, hint: str | None) -> Measurement:
        """Everything that was seen."""
        return Measurement(
            started=self._started,
            finished=self.clock(),
            outcome=outcome,
            reason=reason,
            hint=hint,
            launches=tuple(self._launches),
            observations=tuple(self._observations),
            notes=tuple(self._notes),
            logs=tuple(self._logs),
            made=self._made,
        )

    def _stage(self, index: int) -> Staged:
        """Once for all launches, unless a step makes new files for each of them."""
        made = made_files(self.job.benchmark, on_host(self.job, self.session.device, self._scratch, index))
        if self._staged is None or made:
            self._made = made
            self._staged = stage(self.job, made, self.session)
        return self._staged

    def _sum_operators(self, benchmark: Benchmark) -> None:
        if benchmark.operators:
            self._observations[-1], notes = per_iteration(self._observations[-1])
            self._notes.extend(notes)

    def _tell_energy(self, benchmark: Benchmark, completed: tuple[Completed, ...]) -> None:
        if benchmark.energy:
            warmup = 0 if benchmark.commands else max(0, benchmark.warmup)  # who knows what a program of theirs does
            observations, notes = energy_told(completed, self._observations[-1], warmup)
            self._observations[-1] += observations
            self._notes.extend(notes)

    def _parsed(self, completed: tuple[Completed, ...]) -> tuple[Observation, ...]:
        observations, notes = self.framework.parse(completed, self.job.benchmark)
        self._notes.extend(notes)
        return tuple(observations)

    def _step(self, name: str, step: HostStep, index: int) -> tuple[Completed, ...]:
        return run_step(
            name,
            step,
            on_host(self.job, self.session.device, self._scratch, index),
            self.job.files,
            scratch=self._scratch,
            env=self.job.benchmark.env,
            timeout_s=self.job.benchmark.timeout_s,
        )
