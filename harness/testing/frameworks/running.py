"""Checks of builds, of commands, and of the runners that they start."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from harness import shell
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.device import Device
from harness.core.errors import BenchmarkFailed, BuildFailed
from harness.core.protocols import DuetCapable, Framework, Interleavable
from harness.testing.contract import ContractBroken, expect, process_unchanged
from harness.testing.frameworks.case import Check, FrameworkCase
from harness.testing.frameworks.parsing import count_samples
from harness.testing.progress import RecordedProgress

_BATCHES: Final = (3, 2)
"""Iterations of each batch of an interleaved runner."""
_DUET: Final = "command of a duet"


def has_a_name(case: FrameworkCase) -> None:
    """The name is one word, because specifications use it, and the same for every object."""
    name = case.create().name
    expect(bool(name) and not any(character.isspace() for character in name), f"{name!r} cannot be a name")
    expect(case.create().name == name, "two objects have different names")


def builds_the_same_runner_twice(case: FrameworkCase) -> None:
    """Digest and commit of a runner are the same in the next run, so that its results form one series."""
    if not case.builds:
        return
    first, second = _build(case), _build(case)
    expect(bool(first.source and first.commit), f"the build has no source or commit: {first}")
    expect(first.commit == second.commit, f"commit {first.commit} became {second.commit}")
    expect(first.digest == second.digest, f"digest {first.digest} became {second.digest}")
    missing = [str(path) for path in first.programs.values() if not (path.is_absolute() and path.is_file())]
    expect(not missing, f"programs of the build that are no files with absolute paths: {', '.join(missing)}")


def builds_or_gives_a_hint(case: FrameworkCase) -> None:
    """For an unknown kind of device it raises `BuildFailed` with a hint, or has a runner."""
    unknown = Device(platform="no-such-platform", identity="contract", name="contract")
    try:
        case.create().build(unknown, RecordedProgress())
    except BuildFailed as error:
        expect(bool(error.hint), f"its error has no hint: {error}")


def composes_commands_deterministically(case: FrameworkCase) -> None:
    """Two objects compose the same command, and change nothing on the way."""
    if not case.composes:
        return
    files = _placed(case.benchmark, "/d")
    files_before = dict(files)
    with process_unchanged():
        first, second = _command(case, case.benchmark, files), _command(case, case.benchmark, files)
    expect(first == second, f"{first} became {second}")
    expect(bool(first.argv), "the command is empty")
    expect(all(isinstance(word, str) for word in first.argv), f"arguments are not strings: {first.argv}")
    expect(files == files_before, "it changed the paths that it was given")


def commands_use_the_given_paths(case: FrameworkCase) -> None:
    """Each path stays within one argument, whatever characters the folder on the device has in its name."""
    if not case.composes:
        return
    for folder in ("/one", "/a folder; with $letters"):
        argv = _command(case, case.benchmark, _placed(case.benchmark, folder)).argv
        expect(any(folder in word for word in argv), f"no argument of {argv} has the folder {folder!r}")


def refuses_unsupported_benchmarks(case: FrameworkCase) -> None:
    """It raises `BenchmarkFailed` with a hint, or `BenchmarkUnsupported`, for benchmarks that it cannot run."""
    refused = [*case.refused, *(() if case.composes else (case.benchmark,))]
    for benchmark in refused:
        try:
            command = _command(case, benchmark, _placed(benchmark, "/d"))
        except BenchmarkFailed as error:
            expect(bool(error.hint), f"its error has no hint: {error}")
        else:
            raise ContractBroken(f"it composed {command.argv} for an unsupported benchmark")


def runner_can_be_started(case: FrameworkCase) -> None:
    """The composed command runs here, and its output gives the expected observations."""
    if not (case.runs and case.composes):
        return
    completed = shell.run(_start(case))
    expect(completed.ok, f"{completed.command.argv} {completed.describe()}")
    observations, _ = case.create().parse((completed,), case.benchmark)
    names = {observation.name for observation in observations}
    expect(set(case.observed) <= names, f"a launch gave {sorted(names)} instead of {sorted(case.observed)}")


def interleaved_command_starts_the_same_runner(case: FrameworkCase) -> None:
    """Interleaved, and in a duet, the same program starts with the same files and limits; each time alike."""
    if not case.composes:
        return
    for (way, compose), (_, compose_too) in zip(_ways(case.create()), _ways(case.create()), strict=True):
        for folder in ("/one", "/a folder; with $letters"):
            command = _command(case, case.benchmark, _placed(case.benchmark, folder))
            changed = compose(command)
            is_same = changed == compose(command) == compose_too(command)
            expect(is_same, f"the same {way} is composed differently")
            expect(changed.argv[0] == command.argv[0], f"the {way} starts {changed.argv[0]}, not {command.argv[0]}")
            before, after = _limits(command), _limits(changed)
            expect(after == before, f"threads, CPUs, time limit and folder {before} became {after} in the {way}")
            lost = dict(command.env.items() - changed.env.items())
            expect(not lost, f"variables of the command are lost in the {way}: {sorted(lost)}")
            paths = {word for word in command.argv if folder in word} - set(changed.argv)
            expect(not paths, f"the {way} lacks {sorted(paths)}")


def runner_can_be_interleaved(case: FrameworkCase) -> None:
    """The runner iterates on request, idles in between, and reports everything at the end; in a duet, too.

    A duet it may refuse, because it computes with further threads for example: then it fails before it says `ready`.
    """
    if not (case.runs and case.composes and case.interleavable):
        return
    for (way, compose), send_end in itertools.product(_ways(case.create()), (True, False)):
        completed = _run_in_batches(compose(_start(case)), send_end=send_end, may_refuse=way is _DUET)
        if completed is None:
            continue
        counts = count_samples(case.create().parse((completed,), case.benchmark)[0])
        for name, wanted in case.observed.items():
            expect(name in counts, f"after its batches it reported {sorted(counts)}, and not {name}")
            if wanted == case.benchmark.iterations:
                made = sum(_BATCHES)
                expect(counts[name] == made, f"it made {made} iterations, and reported {counts[name]} of {name}")


CHECKS: Final[tuple[Check, ...]] = (
    has_a_name,
    builds_the_same_runner_twice,
    builds_or_gives_a_hint,
    composes_commands_deterministically,
    commands_use_the_given_paths,
    refuses_unsupported_benchmarks,
    runner_can_be_started,
    interleaved_command_starts_the_same_runner,
    runner_can_be_interleaved,
)


def _ways(framework: Framework) -> Iterator[tuple[str, Callable[[Command], Command]]]:
    """Yield the commands of a framework by which two runners can be alive at once."""
    if isinstance(framework, Interleavable):
        yield "interleaved command", framework.interleaved_command
    if isinstance(framework, DuetCapable):
        yield _DUET, framework.duet_command


def _build(case: FrameworkCase) -> Build:
    return case.create().build(case.device, RecordedProgress())


def _placed(benchmark: Benchmark, folder: str) -> dict[str, str]:
    """Return the paths that `Framework.command` receives when all files lie in one folder of a device."""
    files = (*benchmark.files, *benchmark.input_files)
    paths = {file.key: f"{folder}/{file.filename}" for file in files}
    outputs = {file.key: file.location for file in benchmark.output_files}
    return {"program": f"{folder}/runner", **paths, **outputs}


def _command(case: FrameworkCase, benchmark: Benchmark, files: Mapping[str, str]) -> Command:
    build = Build(source="contract", commit="1", digest="0" * 64, programs={"program": Path(files["program"])})
    return case.create().command(benchmark, build, files)


def _start(case: FrameworkCase) -> Command:
    """Return the command that starts its runner on this machine."""
    build = _build(case)
    local = {file.key: file.location or "" for file in (*case.benchmark.files, *case.benchmark.input_files)}
    files = {**local, **{key: str(path) for key, path in build.programs.items()}}
    return case.create().command(case.benchmark, build, files)


def _limits(command: Command) -> tuple[object, ...]:
    return command.threads, command.cpus, command.timeout_s, command.cwd


def _run_in_batches(command: Command, *, send_end: bool, may_refuse: bool) -> Completed | None:
    """Run batches of iterations as a comparison does; then send `end`, or merely close standard input.

    Returns:
        What it printed; None where it refused, and may.
    """
    with shell.start(command) as running:
        is_ready = running.wait_for_line("ready")
        if not is_ready and may_refuse:
            expect(not running.finish().ok, f"it refused, and ended as if nothing had failed: {command.argv}")
            return None
        expect(is_ready, f"it did not print `ready`: {command.argv}")
        for iterations in _BATCHES:
            running.write_line(f"run {iterations}")
            expect(
                running.wait_for_line(f"done {iterations}"),
                f"it did not print `done {iterations}` after `run {iterations}`",
            )
        if send_end:
            running.write_line("end")
        completed = running.finish()
    expect(completed.ok, f"after its batches it {completed.describe()}")
    wanted = ["ready", *(f"done {iterations}" for iterations in _BATCHES)]
    lines = completed.stdout.splitlines()[: len(wanted)]
    expect(lines == wanted, f"before its end it printed {lines} instead of {wanted} and nothing else")
    return completed
