"""What is expected of builds, of commands, and of runners that are started by them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness import shell
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command
from harness.core.device import Device
from harness.core.errors import BenchmarkFailed, BuildFailed
from harness.core.protocols import Interleavable
from harness.testing.contract import ContractBroken, expect, process_unchanged
from harness.testing.frameworks.case import Check, FrameworkCase
from harness.testing.frameworks.parsing import counts
from harness.testing.progress import RecordedProgress
from harness.testing.turns import ITERATIONS, expect_same_start, run_in_batches


def it_has_a_name(case: FrameworkCase) -> None:
    """Specifications name it: one word, the same for every object."""
    name = case.create().name
    expect(bool(name) and not any(letter.isspace() for letter in name), f"{name!r} cannot be a name")
    expect(case.create().name == name, "two objects have different names")


def it_builds_the_same_runner_twice(case: FrameworkCase) -> None:
    """Results of one runner form one series: its digest and commit are the same in the next run."""
    if not case.builds:
        return
    first, second = _build(case), _build(case)
    expect(bool(first.source and first.commit), f"the build has no source or commit: {first}")
    expect(first.commit == second.commit, f"commit {first.commit} became {second.commit}")
    expect(first.digest == second.digest, f"digest {first.digest} became {second.digest}")
    missing = [str(path) for path in first.programs.values() if not (path.is_absolute() and path.is_file())]
    expect(not missing, f"programs of the build that are no files with absolute paths: {', '.join(missing)}")


def it_builds_or_says_what_to_do(case: FrameworkCase) -> None:
    """A kind of device that it does not know is no accident: `BuildFailed`, with a hint."""
    strange = Device(platform="no-such-platform", identity="contract", name="contract")
    try:
        case.create().build(strange, RecordedProgress())
    except BuildFailed as error:
        expect(bool(error.hint), f"its error has no hint: {error}")


def its_command_depends_on_nothing_else(case: FrameworkCase) -> None:
    """Asked twice, by two objects, it composes the same command, and changes nothing on the way."""
    if not case.composes:
        return
    files = _placed(case.benchmark, "/d")
    given = dict(files)
    with process_unchanged():
        first, second = _command(case, case.benchmark, files), _command(case, case.benchmark, files)
    expect(first == second, f"{first} became {second}")
    expect(bool(first.argv), "the command is empty")
    expect(all(isinstance(word, str) for word in first.argv), f"words of the command are no texts: {first.argv}")
    expect(files == given, "it changed the paths that it was given")


def its_command_uses_the_paths_it_is_given(case: FrameworkCase) -> None:
    """Each device has its own folder, which may have odd letters in its name; a path stays within one word."""
    if not case.composes:
        return
    for folder in ("/one", "/a folder; with $letters"):
        argv = _command(case, case.benchmark, _placed(case.benchmark, folder)).argv
        named = [word for word in argv if folder in word]
        expect(bool(named), f"no word of {argv} has the folder {folder!r}")


def it_refuses_what_it_cannot_run(case: FrameworkCase) -> None:
    """`BenchmarkFailed` with a hint, or `BenchmarkUnsupported`: the reader learns what to write instead."""
    refused = [*case.refused, *(() if case.composes else (case.benchmark,))]
    for benchmark in refused:
        try:
            command = _command(case, benchmark, _placed(benchmark, "/d"))
        except BenchmarkFailed as error:
            expect(bool(error.hint), f"its error has no hint: {error}")
        else:
            raise ContractBroken(f"it composed {command.argv} for a benchmark that it cannot run")


def its_runner_can_be_started(case: FrameworkCase) -> None:
    """The command that it composes runs, and says what it reads."""
    if not (case.runs and case.composes):
        return
    completed = shell.run(_start(case))
    expect(completed.ok, f"{completed.command.argv} {completed.describe()}")
    observations, _ = case.create().parse((completed,), case.benchmark)
    seen = {observation.name for observation in observations}
    expect(set(case.observed) <= seen, f"a launch was to tell {sorted(case.observed)}, and told {sorted(seen)}")


def the_interleaved_command_starts_the_same_runner(case: FrameworkCase) -> None:
    """The same runner with the same files: only that it waits to be told when to iterate."""
    framework, other = case.create(), case.create()
    if not isinstance(framework, Interleavable) or not isinstance(other, Interleavable) or not case.composes:
        return
    for folder in ("/one", "/a folder; with $letters"):
        command = _command(case, case.benchmark, _placed(case.benchmark, folder))
        start = expect_same_start(framework, other, command)
        lost = {word for word in command.argv if folder in word} - set(start.argv)
        expect(not lost, f"its interleaved command lacks {sorted(lost)}")


def its_runner_can_be_interleaved(case: FrameworkCase) -> None:
    """It iterates on request, idles in between, and reports everything at the end."""
    framework = case.create()
    if not isinstance(framework, Interleavable) or not (case.runs and case.composes and case.interleavable):
        return
    for send_end in (True, False):
        completed = run_in_batches(framework.interleaved_command(_start(case)), send_end=send_end)
        told = counts(case.create().parse((completed,), case.benchmark)[0])
        for name, wanted in case.observed.items():
            expect(name in told, f"after its batches it reported {sorted(told)}, and not {name}")
            if wanted == case.benchmark.iterations:
                made = sum(ITERATIONS)
                expect(told[name] == made, f"it made {made} iterations, and told {told[name]} of {name}")


CHECKS: Final[tuple[Check, ...]] = (
    it_has_a_name,
    it_builds_the_same_runner_twice,
    it_builds_or_says_what_to_do,
    its_command_depends_on_nothing_else,
    its_command_uses_the_paths_it_is_given,
    it_refuses_what_it_cannot_run,
    its_runner_can_be_started,
    the_interleaved_command_starts_the_same_runner,
    its_runner_can_be_interleaved,
)


def _build(case: FrameworkCase) -> Build:
    return case.create().build(case.device, RecordedProgress())


def _placed(benchmark: Benchmark, folder: str) -> dict[str, str]:
    """What `Framework.command` is given when everything lies in one folder of a device."""
    files = (*benchmark.files, *benchmark.input_files)
    paths = {file.key: f"{folder}/{file.filename}" for file in files}
    outputs = {file.key: file.location for file in benchmark.output_files}
    return {"program": f"{folder}/runner", **paths, **outputs}


def _command(case: FrameworkCase, benchmark: Benchmark, files: Mapping[str, str]) -> Command:
    build = Build(source="contract", commit="1", digest="0" * 64, programs={"program": Path(files["program"])})
    return case.create().command(benchmark, build, files)


def _start(case: FrameworkCase) -> Command:
    """The start of its runner here."""
    build = _build(case)
    there = {file.key: file.location or "" for file in (*case.benchmark.files, *case.benchmark.input_files)}
    files = {**there, **{key: str(path) for key, path in build.programs.items()}}
    return case.create().command(case.benchmark, build, files)
