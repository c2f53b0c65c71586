"""Outputs of examples: launches that execute each example once, on any device, and measure nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, DeviceLost, EnvironmentProblem, OutOfSpace
from harness.core.examples import MANIFEST, OutputManifest, Stage, TensorInfo
from harness.core.measurement import Job
from harness.core.note import Note
from harness.core.protocols import ExampleRunning, Framework, Releasing, Session, Staged, StagedExamples, Task
from harness.core.result import Outcome, RawLog
from harness.files.examples import complete_outputs, output_file
from harness.running.example_folder import ExampleFolder, copy_bytes
from harness.running.launch import command_logs, outcome_of_program
from harness.running.measure import outcome_of
from harness.running.placeholder_values import on_device
from harness.running.retry import RetryPolicy
from harness.running.staging import stage

_EXECUTIONS: Final = 60
"""Executions that a launch of the default length makes, for which a benchmark's `timeout_s` is meant."""


class TakenOutputs(Struct, frozen=True):
    """Record of the launches that executed the examples of one job.

    Attributes:
        outcome: How it ended; only `ok` leaves a complete output folder.
        reason: Why, when not ok.
        hint: What to do about it.
        launches: Number of launches that succeeded.
        examples: Number of examples whose outputs were taken.
        notes: Remarks for a reader of the outputs.
        logs: Output of the programs.
    """

    outcome: Outcome
    reason: str | None = None
    hint: str | None = None
    launches: int = 0
    examples: int = 0
    notes: tuple[Note, ...] = ()
    logs: tuple[RawLog, ...] = ()


def take_outputs(
    job: Job,
    session: Session,
    framework: Framework,
    examples: Path,
    destination: Path,
    *,
    stage: Stage,
    scratch: Path,
    progress: Task,
) -> TakenOutputs:
    """Execute every example once on a device, and write the outputs as an output folder of this machine.

    All examples take part in one launch, unless the runner takes fewer, or the device has no room for all: then in as
    many as are needed, and a note tells how many. A failure of any kind becomes the outcome.

    Args:
        job: The model and its runner.
        session: The locked device.
        framework: Starts and reads the runner.
        examples: The example folder (`harness.core.examples`).
        destination: Folder that becomes the output folder; created when needed.
        stage: The stage that the outputs are of.
        scratch: Folder on this machine for files on their way.
        progress: Told how many examples are done.
    """
    launches = None
    try:
        (destination / MANIFEST).unlink(missing_ok=True)
        folder = ExampleFolder.open(examples)
        if not isinstance(framework, ExampleRunning):
            raise BenchmarkUnsupported(f"the framework {framework.name} cannot execute examples")
        _check_supported(job)
        launches = _ExampleLaunches(job, session, framework, folder, scratch)
        infos = _take_all(launches, destination, progress)
        versions = {framework.name: job.build.commit, "runner": job.build.recipe or job.build.source}
        described = OutputManifest(
            stage=stage,
            outputs=tuple(infos),
            count=folder.manifest.count,
            examples=folder.manifest.digest,
            versions=versions,
        )
        complete_outputs(destination, described)
        taken = TakenOutputs(Outcome.OK)
    except _LaunchFailed as error:
        taken = TakenOutputs(error.outcome, error.message, error.hint)
    except OSError as error:  # of this machine: those of the device are mapped by its session
        message = f"cannot use {error.filename or destination}: {error.strerror}"
        taken = TakenOutputs(Outcome.FAILED, message, "check space and permissions there")
    except (BenchmarkFailed, EnvironmentProblem) as error:
        taken = TakenOutputs(outcome_of(error), error.message, error.hint)
    if launches is None:
        return taken
    return replace(
        taken,
        launches=launches.succeeded,
        examples=launches.examples_done,
        notes=tuple(launches.notes),
        logs=tuple(launches.logs),
    )


class _LaunchFailed(BenchmarkFailed):
    """A launch that failed, with its outcome."""

    def __init__(self, outcome: Outcome, reason: str, *, hint: str | None = None) -> None:
        super().__init__(reason, hint=hint)
        self.outcome = outcome


class _ExampleLaunches:
    """Launches over the examples of one job (`harness.running.retry.Restageable`)."""

    def __init__(
        self, job: Job, session: Session, framework: ExampleRunning, examples: ExampleFolder, scratch: Path
    ) -> None:
        self.session = session
        self.examples = examples
        self.succeeded = 0
        self.examples_done = 0
        self.notes: list[Note] = []
        self.logs: list[RawLog] = []
        self.most = framework.examples_per_launch(job.build)
        self._job = job
        self._framework = framework
        self._scratch = scratch

    def stage_again(self) -> None:
        """Every launch stages its files by itself."""

    def note(self, note: Note) -> None:
        """Keep a remark."""
        self.notes.append(note)

    def launch(self, first: int, count: int, destination: Path) -> Sequence[TensorInfo]:
        """Execute some examples, and append their outputs to the files of the output folder.

        Raises:
            BenchmarkFailed: They cannot be executed.
            DeviceLost: The device went away.
            EnvironmentProblem: The device cannot be used.
            OutOfSpace: The device has no room for so many.
        """
        files = self.examples.stage_files(first, count, self._scratch)
        try:
            staged = stage(self._job, {}, self.session, files)
        except OutOfSpace:
            self._remove_copies(files)
            raise
        keep = self.examples.has(files)
        try:
            infos = self._execute(staged, tuple(files), first, count, destination)
        except OutOfSpace:
            keep = False  # what is too large is not kept for later
            raise
        finally:
            self._discard(files, staged, keep=keep)
        self.succeeded += 1
        self.examples_done += count
        return infos

    def _execute(
        self, staged: Staged, names: Sequence[str], first: int, count: int, destination: Path
    ) -> Sequence[TensorInfo]:
        outputs = f"{staged.folder}/outputs"
        completed = self._run(staged, StagedExamples(tuple(staged.files[name] for name in names), outputs, count))
        infos = self._framework.parse_outputs(completed, self._job)
        for index, info in enumerate(infos):
            self._append(f"{outputs}-{index}.bin", output_file(destination, index), info, first, count)
        return infos

    def _run(self, staged: Staged, examples: StagedExamples) -> Completed:
        benchmark = self._job.benchmark
        names = on_device(self._job, self.session.device, staged, self._scratch, self.succeeded)
        paths = {**staged.files, **staged.programs}
        command = self._framework.examples_command(benchmark, self._job.build, paths, examples)
        env = {**command.env, **{name: names.text(value) for name, value in benchmark.env.items()}}
        timeout_s = benchmark.timeout_s * max(1.0, examples.count / _EXECUTIONS)
        completed = self.session.run(
            replace(command, env=env, timeout_s=timeout_s, cpus=_cpus(command, benchmark.cpus))
        )
        self.logs.extend(command_logs(f"examples-{self.succeeded}", (completed,)))
        outcome, reason = outcome_of_program(completed)
        if outcome is Outcome.OK:
            return completed
        if "No space left" in completed.stderr:
            raise OutOfSpace(f"no space left on {self.session.device.name} for outputs: {reason}")
        hint = "take fewer examples, or raise timeout_s" if outcome is Outcome.TIMEOUT else None
        raise _LaunchFailed(outcome, reason or outcome.words, hint=hint)

    def _append(self, remote: str, local: Path, info: TensorInfo, first: int, count: int) -> None:
        part = local.with_name(f"part-{local.name}")
        try:
            self.session.pull(remote, part)
        except FileNotFoundError as error:
            raise BenchmarkFailed(f"the runner ended well but did not write {remote}") from error
        size_bytes, expected = part.stat().st_size, count * info.size_bytes
        if size_bytes != expected:
            part.unlink()
            raise BenchmarkFailed(
                f"the runner wrote {size_bytes} bytes of {info.name} instead of {expected}: {count} examples of "
                f"{info.dtype} {list(info.shape)}"
            )
        if first == 0:
            part.replace(local)
            return
        with part.open("rb") as source, local.open("r+b") as target:
            target.truncate(first * info.size_bytes)  # what a launch left that was repeated
            target.seek(first * info.size_bytes)
            copy_bytes(source, target, size_bytes)
        part.unlink()

    def _discard(self, files: Mapping[str, Path], staged: Staged, *, keep: bool) -> None:
        """Remove what the launch leaves here and on the device, except for files that later launches find there."""
        if isinstance(self.session, Releasing):
            self.session.release(staged, () if keep else files.keys())
        self._remove_copies(files)

    def _remove_copies(self, files: Mapping[str, Path]) -> None:
        if not self.examples.has(files):
            for path in files.values():
                path.unlink()


def _take_all(launches: _ExampleLaunches, destination: Path, progress: Task) -> Sequence[TensorInfo]:
    """Launch until all examples are done; with half as many each time that the device has no room."""
    count = launches.examples.manifest.count
    policy = RetryPolicy([launches])
    chunk = min(count, launches.most or count)
    first, described = 0, None
    progress.update(completed=0, total=count)
    while described is None or first < count:
        try:
            infos = launches.launch(first, min(chunk, count - first), destination)
        except OutOfSpace:
            if chunk == 1 or not isinstance(launches.session, Releasing):
                raise
            chunk = (chunk + 1) // 2
            continue
        except DeviceLost as loss:
            policy.reconnect_after(loss)
            continue
        if described is not None and tuple(infos) != tuple(described):
            raise BenchmarkFailed(f"outputs changed their shape: {_shapes(described)}, later {_shapes(infos)}")
        described = infos
        first += min(chunk, count - first)
        progress.update(completed=first)
    if launches.succeeded > 1:
        reason = "its runner takes one example at a time" if launches.most == 1 else "the device has no room for all"
        message = f"{count} examples were executed in {launches.succeeded} launches: {reason}"
        launches.note(Note(code="examples_in_launches", message=message))
    return described


def _check_supported(job: Job) -> None:
    benchmark = job.benchmark
    if benchmark.commands or benchmark.app is not None:
        raise BenchmarkUnsupported(
            f"{benchmark.title} has commands of its own, which say nothing of examples", hint="leave out `commands`"
        )
    if made := [file.key for file in (*benchmark.files, *benchmark.input_files) if file.is_generated]:
        raise BenchmarkUnsupported(f"{', '.join(made)} of {benchmark.title} is made by a step for each launch")


def _cpus(command: Command, wanted: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return wanted if wanted is not None else command.cpus


def _shapes(infos: Sequence[TensorInfo]) -> str:
    return ", ".join(f"{info.name} {info.dtype} {list(info.shape)}" for info in infos)
