"""One launch: the commands that start the runner once, and the record of how they ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.device import DeviceState
from harness.core.errors import BenchmarkFailed
from harness.core.protocols import Clock, Framework, Gated, Session, Staged
from harness.core.result import Launch, Outcome, RawLog
from harness.core.values import mask_secrets
from harness.running.pacing import longest_pauses_s
from harness.running.padding import separate_padding
from harness.running.placeholder_values import PlaceholderValues, output_path


class LaunchRecord(Struct, frozen=True):
    """One launch, with its completed commands and its logs.

    Attributes:
        launch: What results keep of it.
        completed: Its commands.
        logs: What they printed.
        idle: Stretches of idling before and after it, whose energy is the baseline.
    """

    launch: Launch
    completed: tuple[Completed, ...]
    logs: tuple[RawLog, ...]
    idle: tuple[Completed, ...] = ()


def compose_commands(
    benchmark: Benchmark, build: Build, framework: Framework, staged: Staged, names: PlaceholderValues
) -> tuple[Command, ...]:
    """Compose the command lines of the specification, or, for a typed test, the framework's.

    Raises:
        BenchmarkUnsupported: The framework cannot run it.
        BenchmarkFailed: A placeholder has no value.
    """
    if benchmark.commands:
        lines = [_with_arguments(line, benchmark.arguments) for line in benchmark.commands]
        words = [names.words(line) for line in lines]
        if benchmark.app is not None:
            words = [_app_arguments(line, split) for line, split in zip(lines, words, strict=True)]
        commands = [Command(argv, threads=benchmark.threads, app=benchmark.app) for argv in words]
    else:
        outputs = {output.key: names.text(output.location) for output in benchmark.output_files}
        commands = [framework.command(benchmark, build, {**staged.files, **staged.programs, **outputs})]
    if not any(command.argv or command.app for command in commands):
        raise BenchmarkFailed("every command of this benchmark is empty", hint="name the program in `commands`")
    return tuple(
        replace(
            command,
            env={**command.env, **{name: names.text(value) for name, value in benchmark.env.items()}},
            timeout_s=benchmark.timeout_s + longest_pauses_s(benchmark),
            cpus=benchmark.cpus if benchmark.cpus is not None else command.cpus,
            energy=benchmark.energy,
        )
        for command in commands
        if command.argv or command.app
    )


def launch(index: int, commands: Sequence[Command], session: Session, clock: Clock) -> LaunchRecord:
    """Run the commands in order until one fails, with the device's state before and after.

    Raises:
        EnvironmentProblem: The device does not become ready.
        DeviceLost: It went away.
    """
    wait_until_ready(session)
    before = session.state()
    started = clock()
    completed: list[Completed] = []
    for command in commands:
        completed.append(session.run(command))
        if not completed[-1].ok:
            break
    return record_launch(index, completed, started=started, before=before, after=session.state())


def wait_until_ready(session: Session) -> None:
    """Wait until the device is ready to be measured on, where that is not always so.

    Raises:
        EnvironmentProblem: It does not become so in time.
        DeviceLost: It went away.
    """
    if isinstance(session, Gated):
        session.wait_until_ready()


def record_launch(
    index: int, completed: Sequence[Completed], *, started: float, before: DeviceState, after: DeviceState
) -> LaunchRecord:
    """Record a launch from its completed commands.

    Args:
        index: Of the launch within its result.
        completed: The commands that were started, in order; the last one decides.
        started: Unix seconds.
        before: The device's state before the first of them.
        after: The device's state after the last.
    """
    last = completed[-1]
    outcome, reason = outcome_of_program(last)
    env, padding = separate_padding(last.command.env)
    launched = Launch(
        index=index,
        outcome=outcome,
        reason=reason,
        commands=tuple(step.command.argv for step in completed),
        env=mask_secrets(env),
        padding=padding,
        cpus=last.cpus,
        started=started,
        wall_s=sum(step.wall_s for step in completed),
        cpu_s=sum(step.cpu_s or 0.0 for step in completed) if last.cpu_s is not None else None,
        peak_memory_bytes=max((step.peak_memory_bytes or 0 for step in completed), default=0) or None,
        spin_ms=last.spin_ms,
        best_spin_ms=last.best_spin_ms,
        before=before,
        after=after,
    )
    return LaunchRecord(launched, tuple(completed), command_logs(f"launch-{index}", completed))


def fetch_outputs(
    record: LaunchRecord, benchmark: Benchmark, session: Session, names: PlaceholderValues, scratch: Path
) -> LaunchRecord:
    """Fetch the output files of a launch that succeeded to the host; one that is missing, or no file, makes it fail."""
    if record.launch.outcome is not Outcome.OK or not benchmark.output_files:
        return record
    files: dict[str, Path] = {}
    for output in benchmark.output_files:
        remote = names.text(output.location)
        files[output.key] = output_path(scratch, output.filename)
        try:
            session.pull(remote, files[output.key])
        except FileNotFoundError:
            return _fail(record, f"the program ended well but did not write {remote}")
        except BenchmarkFailed as error:
            return _fail(record, f"the program ended well but {error.message}")
    return replace(record, completed=(*record.completed[:-1], replace(record.completed[-1], files=files)))


def _fail(record: LaunchRecord, reason: str) -> LaunchRecord:
    return replace(record, launch=record.launch.model_copy(update={"outcome": Outcome.FAILED, "reason": reason}))


def command_logs(title: str, completed: Sequence[Completed]) -> tuple[RawLog, ...]:
    """Return what commands printed as logs, named after what they are commands of."""
    logs = []
    for number, command in enumerate(completed):
        name = title if len(completed) == 1 else f"{title}-command-{number}"
        for stream, text in (("stdout", command.stdout), ("stderr", command.stderr)):
            if text:
                logs.append(RawLog(name=f"{name}.{stream}", text=text))
    return tuple(logs)


def with_remaining_time(benchmark: Benchmark, spent_s: float, index: int) -> Benchmark:
    """Return the benchmark with an equal share of the time that is left for this launch and those after it.

    A launch beyond those that the benchmark asks for gets as much as one of these, so that it has as many iterations.
    """
    if benchmark.time_limit_s is None:
        return benchmark
    left_s, usual_s = benchmark.time_limit_s - spent_s, benchmark.time_limit_s / benchmark.launches
    share = max(0.001, left_s / (benchmark.launches - index) if index < benchmark.launches else min(left_s, usual_s))
    return benchmark.model_copy(update={"time_limit_s": share})


def _with_arguments(line: str, arguments: str) -> str:
    return f"{line} {arguments}" if arguments and "{program}" in line else line


def _app_arguments(line: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the arguments of an app: `--name value` pairs, as FAI-PEP writes them, without the dashes."""
    names = words[::2]
    if len(words) % 2 or not all(name.startswith("--") and len(name) > 2 for name in names):
        raise BenchmarkFailed(f"`{line}` is no list of `--name value` pairs", hint="an app accepts nothing else")
    return tuple(word.removeprefix("--") if place % 2 == 0 else word for place, word in enumerate(words))


def outcome_of_program(last: Completed) -> tuple[Outcome, str | None]:
    """Return how a program ended, and why where it is not ok."""
    if last.ok:
        return Outcome.OK, None
    reason = f"the program {last.describe()}"
    if last.timed_out:
        return Outcome.TIMEOUT, reason
    return (Outcome.CRASHED if last.signal is not None and not last.flooded else Outcome.FAILED), reason
