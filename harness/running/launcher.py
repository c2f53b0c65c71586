"""One job on a held device: begun once, launched any number of times, ended once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from harness.core.benchmark import Benchmark, HostStep
from harness.core.cached_files import CachedFile
from harness.core.command import Command, Completed
from harness.core.measurement import Job, Measurement
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.probe import Artifact, ProbePass
from harness.core.protocols import Clock, Framework, Session, Staged, StepParser
from harness.core.result import Launch, Outcome, RawLog
from harness.core.shell_words import note_shell_words
from harness.running.derived_metrics import derive_energy, sum_operators
from harness.running.dynamic_energy import derive_dynamic_energy
from harness.running.huge_pages import request_huge_pages
from harness.running.launch import LaunchRecord, command_logs, compose_commands, fetch_outputs, launch
from harness.running.metered import launch_metered
from harness.running.padding import pad_environment
from harness.running.placeholder_values import PlaceholderValues, on_device, on_host
from harness.running.staging import find_made_files, run_step, stage
from harness.shell import pause

Wrap = Callable[[Command, Session], Command]
"""Returns a command with a probe around it."""


class ObservedLaunch(NamedTuple):
    """A launch with its observations, also when it failed."""

    launch: Launch
    observations: tuple[Observation, ...]

    @property
    def counts(self) -> bool:
        """True if it can be compared: it succeeded, and heat did not disturb it."""
        return self.launch.outcome is Outcome.OK and not self.launch.throttled


class PreparedLaunch(Struct, frozen=True):
    """Launch before its start.

    Attributes:
        index: Its number among the launches of its launcher.
        benchmark: The benchmark to measure.
        commands: The commands to start, in order.
        names: Values of the placeholders on the device.
        preprocessed: Observations of the step before it.
    """

    index: int
    benchmark: Benchmark
    commands: tuple[Command, ...]
    names: PlaceholderValues
    preprocessed: tuple[Observation, ...] = ()


class Launcher:
    """Launcher of one job, with the record of its launches so far.

    Args:
        job: The job to measure.
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
        self._preprocessed: list[tuple[Observation, ...]] = []
        self._model_preprocessed: tuple[Observation, ...] = ()
        self._model_postprocessed: tuple[Observation, ...] = ()
        self._notes: list[Note] = []
        self._logs: list[RawLog] = []
        self._staged: Staged | None = None
        self._made: Mapping[str, CachedFile] = {}
        self._padding: int | None = None
        self._in_huge_pages = False
        self._probe_passes: list[ProbePass] = []
        self._artifacts: list[Artifact] = []

    def begin(self) -> None:
        """Run the model's own steps before the first launch.

        Raises:
            BenchmarkFailed: One of them failed.
        """
        self._notes.extend(note_shell_words(self.job.benchmark))
        self._model_preprocessed = self._run_step("preprocess-model", self.job.benchmark.model_before, 0)

    def end(self) -> None:
        """Run the model's own steps after the last launch.

        Raises:
            BenchmarkFailed: One of them failed.
        """
        self._model_postprocessed = self._run_step("postprocess-model", self.job.benchmark.model_after, 0)

    def launch(self, benchmark: Benchmark) -> ObservedLaunch:
        """Start the runner once, with the steps around it.

        Args:
            benchmark: The job's benchmark, perhaps with other iterations or a shorter time limit.

        Returns:
            The launch with its observations, also when it failed.

        Raises:
            BenchmarkFailed: It could not be started, or a step around it failed.
            DeviceLost: The device went away.
        """
        prepared = self.prepare(benchmark)
        return self.keep(prepared, self._start(prepared))

    def launch_wrapped(self, benchmark: Benchmark, wrap: Wrap) -> ObservedLaunch:
        """Start the runner once with something around the last of its commands, such as a probe.

        What is to be noted of such a launch says nothing of others, and is not kept. Result and errors as for `launch`.
        """
        noted = len(self._notes)
        prepared = self.prepare(benchmark)
        *before, last = prepared.commands
        commands = (*before, wrap(last, self.session))
        observed = self.keep(prepared, launch(prepared.index, commands, self.session, self.clock))
        del self._notes[noted:]
        return observed

    def _start(self, prepared: PreparedLaunch) -> LaunchRecord:
        benchmark = prepared.benchmark
        if not benchmark.energy or benchmark.power is None:
            return launch(prepared.index, prepared.commands, self.session, self.clock)
        return launch_metered(
            prepared.index,
            prepared.commands,
            self.session,
            self.clock,
            request=benchmark.power,
            meter=self.job.meter,
        )

    def prepare(self, benchmark: Benchmark) -> PreparedLaunch:
        """Do everything of a launch that comes before its start. It is started, and kept, before another is prepared.

        Arguments and errors as for `launch`.
        """
        index = len(self._launches)
        preprocessed = self._run_step("preprocess", benchmark.before, index)
        staged = self._stage(index)
        names = on_device(self.job, self.session.device, staged, self._scratch, index, long_run_s=benchmark.long_run_s)
        commands = compose_commands(benchmark, self.job.build, self.framework, staged, names)
        if self._padding is not None:
            commands = pad_environment(commands, self._padding)
        if self._in_huge_pages:
            commands = request_huge_pages(commands)
        pause(benchmark.sleep_before_run_s)
        return PreparedLaunch(index, benchmark, commands, names, preprocessed)

    def keep(self, prepared: PreparedLaunch, record: LaunchRecord) -> ObservedLaunch:
        """Do everything of a launch that comes after its end. Result and errors as for `launch`."""
        benchmark = prepared.benchmark
        record = fetch_outputs(record, benchmark, self.session, prepared.names, self._scratch)
        self._launches.append(record.launch)
        self._logs.extend(record.logs)
        self._preprocessed.append(prepared.preprocessed)
        self._observations.append(self._parse(record.completed))
        device_notes = [note for completed in record.completed for note in completed.notes]
        self._notes.extend(dict.fromkeys(note for note in device_notes if note not in self._notes))
        if record.launch.outcome is Outcome.OK:
            self._observations[-1] += self._run_step("postprocess", benchmark.after, prepared.index)
            self._sum_operators(benchmark)
            self._derive_energy(benchmark, record)
        return ObservedLaunch(record.launch, self._observations[-1])

    @property
    def launches(self) -> int:
        """Number of launches that were kept so far."""
        return len(self._launches)

    @property
    def scratch(self) -> Path:
        """Folder on the host of its own."""
        return self._scratch

    @property
    def counted_observations(self) -> tuple[tuple[Observation, ...], ...]:
        """Observations of each launch that counts."""
        return tuple(
            observations
            for launched, observations in zip(self._launches, self._observations, strict=True)
            if launched.discarded is None
        )

    @property
    def last_counted(self) -> ObservedLaunch | None:
        """The last launch that counts; None where none does."""
        for launched, observations in zip(reversed(self._launches), reversed(self._observations), strict=True):
            if launched.discarded is None:
                return ObservedLaunch(launched, observations)
        return None

    def discard(self, reason: str) -> None:
        """Discard the observations of the last launch; the launch itself stays in the record."""
        self._observations[-1] = self._preprocessed[-1] = ()
        self._launches[-1] = self._launches[-1].model_copy(update={"discarded": reason})

    def restrict(self, covers: Callable[[Observation], bool], reason: str) -> None:
        """Keep of the last launch only some observations; for everything else it does not count."""
        self._observations[-1] = tuple(filter(covers, self._observations[-1]))
        self._preprocessed[-1] = ()
        self._launches[-1] = self._launches[-1].model_copy(update={"discarded": reason})

    def omit(self, covers: Callable[[Observation], bool]) -> None:
        """Discard some observations of all launches so far."""
        self._observations = [
            tuple(observation for observation in observations if not covers(observation))
            for observations in self._observations
        ]

    def replace_observations(self, index: int, observations: tuple[Observation, ...]) -> None:
        """Give a launch other observations than it reported: those of a probe, or the same under other names."""
        self._observations[index] = observations

    def add_probe_pass(self, probe_pass: ProbePass) -> None:
        """Keep the pass of a probe; why it found nothing is a note, too."""
        self._probe_passes.append(probe_pass)
        if probe_pass.outcome is not Outcome.OK:
            message = f"{probe_pass.probe} {probe_pass.outcome.words}: {probe_pass.reason}"
            self._notes.append(Note(code=f"probe_{probe_pass.probe}", message=message, hint=probe_pass.hint))

    def add_artifacts(self, artifacts: Sequence[Artifact]) -> None:
        """Keep files of a probe."""
        self._artifacts.extend(artifacts)

    def set_padding(self, length: int | None) -> None:
        """Pad the environment of the launches that follow (see `harness.running.padding`), or no longer."""
        self._padding = length

    def use_huge_pages(self) -> None:
        """Ask for huge pages for the memory of all launches that follow (see `harness.running.huge_pages`)."""
        self._in_huge_pages = True

    def stage_again(self) -> None:
        """Stage everything again before the next launch: the device was away."""
        self._staged = None

    def note(self, note: Note) -> None:
        """Keep something that a reader of the numbers must know."""
        self._notes.append(note)

    def measurement(self, outcome: Outcome, reason: str | None, hint: str | None) -> Measurement:
        """Return the record of all launches."""
        return Measurement(
            started=self._started,
            finished=self.clock(),
            outcome=outcome,
            reason=reason,
            hint=hint,
            launches=tuple(self._launches),
            observations=tuple(self._observations),
            preprocessed=tuple(self._preprocessed),
            model_preprocessed=self._model_preprocessed,
            model_postprocessed=self._model_postprocessed,
            notes=tuple(self._notes),
            logs=tuple(self._logs),
            made=self._made,
            probes=tuple(self._probe_passes),
            artifacts=tuple(self._artifacts),
        )

    def _stage(self, index: int) -> Staged:
        """Stage once for all launches, unless a step makes new files for each of them."""
        made = find_made_files(self.job.benchmark, on_host(self.job, self.session.device, self._scratch, index))
        if self._staged is None or made:
            self._made = made
            self._staged = stage(self.job, made, self.session)
        return self._staged

    def _sum_operators(self, benchmark: Benchmark) -> None:
        if benchmark.operators:
            self._observations[-1], notes = sum_operators(self._observations[-1])
            self._notes.extend(notes)

    def _derive_energy(self, benchmark: Benchmark, record: LaunchRecord) -> None:
        if not benchmark.energy:
            return
        # a program of theirs may warm up as it likes
        warmup = 0 if benchmark.commands else max(0, benchmark.warmup)
        observations, notes = derive_energy(record.completed, self._observations[-1], warmup)
        self._observations[-1] += observations
        self._notes.extend(notes)
        if benchmark.power is not None:
            observations, notes = derive_dynamic_energy(record.completed, record.idle, self._observations[-1])
            self._observations[-1] += observations
            self._notes.extend(notes)

    def _parse(self, completed: tuple[Completed, ...]) -> tuple[Observation, ...]:
        observations, notes = self.framework.parse(completed, self.job.benchmark)
        self._notes.extend(notes)
        return tuple(observations)

    def _run_step(self, name: str, step: HostStep, index: int) -> tuple[Observation, ...]:
        """Run a step on the host, keep what it printed, and return what it observed."""
        completed = run_step(
            name,
            step,
            on_host(self.job, self.session.device, self._scratch, index),
            self.job.files,
            scratch=self._scratch,
            env=self.job.benchmark.env,
            timeout_s=self.job.benchmark.timeout_s,
        )
        if not completed:
            return ()
        title = name if name.endswith("-model") else f"launch-{index}-{name}"
        self._logs.extend(command_logs(title, completed))
        parse = self.framework.parse_step if isinstance(self.framework, StepParser) else self.framework.parse
        observations, notes = parse(completed, self.job.benchmark)
        self._notes.extend(note.model_copy(update={"message": f"{name}: {note.message}"}) for note in notes)
        return tuple(observations)
