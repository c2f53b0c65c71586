"""The contract of frameworks, as checks that any framework's tests can run.

    CASE = FrameworkCase(
        create=lambda: MyFramework(...),
        benchmark=benchmark_of("my_framework", files={"files.model": "/d/net.bin"}),
        said=Path("recorded.txt").read_text(),
        observed={"NET latency": 5},
    )

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_framework_keeps_the_contract(check: Check) -> None:
        check(CASE)

A check passes silently or raises `ContractBroken`. The output of a real launch is all that is needed: no device, and
no runner unless the case has `runs`. What is right for one framework only (its arguments, its notes) is that
framework's own to test.
"""

from __future__ import annotations

import math
import os
import random
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Final

from harness import shell
from harness.core.benchmark import Benchmark, Export, Model, ModelFile, Origin
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.device import Device
from harness.core.errors import BenchmarkFailed, BuildFailed, ExportFailed
from harness.core.metric import Observation, convert
from harness.core.note import Note
from harness.core.protocols import Exporter, Framework, TurnTaking
from harness.testing.contract import ContractBroken, expect
from harness.testing.noise import NOISE, damaged, distorted
from harness.testing.progress import RecordedProgress
from harness.testing.results import DEVICE
from harness.testing.turns import ITERATIONS, expect_same_start, take_turns

HERE: Final = Origin(file=Path("contract.json"), pointer="/tests/0", line=1)


@dataclass(frozen=True, slots=True)
class FrameworkCase:
    """A framework under test.

    Attributes:
        create: Makes the plug-in; called often.
        benchmark: A benchmark that it can start, see `benchmark_of`. Its files need not exist unless `runs`.
        said: What its runner writes when it is started for that benchmark and all goes well.
        observed: How many samples that has, by metric: `{"NET latency": 5}`.
        refused: Benchmarks that it cannot start.
        composes: Whether it composes commands at all; if not, it must refuse `benchmark` too.
        builds: Whether a runner can be had here.
        runs: Whether that runner can be started here, with the files of `benchmark` at their locations.
        takes_turns: Whether that runner can take turns; asked only of a framework that is `TurnTaking`.
        device: What runners are built for.
        export: Something that it can export; needed of a framework that is an `Exporter`. It is not exported.
    """

    create: Callable[[], Framework]
    benchmark: Benchmark
    said: str
    observed: Mapping[str, int]
    refused: Sequence[Benchmark] = ()
    composes: bool = True
    builds: bool = True
    runs: bool = False
    takes_turns: bool = True
    device: Device = field(default=DEVICE)
    export: Export | None = None


Check = Callable[[FrameworkCase], None]

Parsed = tuple[tuple[Observation, ...], tuple[Note, ...]]


def benchmark_of(framework: str, files: Mapping[str, str] | None = None, **changes: object) -> Benchmark:
    """A plain benchmark.

    Args:
        framework: Name of the framework.
        files: Location of each file by key, for example `{"files.model": "/d/net.pte"}`.
        changes: Other fields of `Benchmark`.
    """
    entries = tuple(
        ModelFile(key=key, filename=Path(location).name, location=location, origin=HERE)
        for key, location in (files or {}).items()
    )
    plain = Benchmark(
        id=0,
        model=Model(name="contract", format="any"),
        identifier="contract",
        metric="delay",
        framework=framework,
        files=entries,
        origin=HERE,
        digest="0" * 64,
    )
    return plain.model_copy(update=changes)


_ENDINGS: Final = (
    Completed(Command(("runner",)), 0),
    Completed(Command(("runner",)), 1),
    Completed(Command(("runner",)), None, signal=11),
    Completed(Command(("runner",)), None, signal=9, timed_out=True),
)
_MUTATIONS: Final = 1000
_HEAVY: Final = frozenset(("torch", "tensorflow", "onnxruntime", "jax"))


def check_framework(case: FrameworkCase) -> None:
    """Run every check.

    Raises:
        ContractBroken: With the first that fails.
    """
    for check in CHECKS:
        check(case)


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
    files, before = _placed(case.benchmark, "/d"), _process()
    given = dict(files)
    first, second = _command(case, case.benchmark, files), _command(case, case.benchmark, files)
    expect(first == second, f"{first} became {second}")
    expect(bool(first.argv), "the command is empty")
    expect(all(isinstance(word, str) for word in first.argv), f"words of the command are no texts: {first.argv}")
    expect(files == given, "it changed the paths that it was given")
    _expect_unchanged(before)


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


def its_runner_is_understood(case: FrameworkCase) -> None:
    """What a launch that went well said becomes observations."""
    _expect_observed(case, _parse(case, case.said)[0], "a good launch")


def what_was_said_before_a_failure_counts(case: FrameworkCase) -> None:
    """A launch that fails at its end has said something until then: it is kept as evidence."""
    for ending in _ENDINGS:
        _expect_observed(case, _parse(case, case.said, ending=ending)[0], f"a launch that {ending.describe()}")


def nothing_said_is_nothing_observed(case: FrameworkCase) -> None:
    """No number comes from nowhere."""
    for completed in ((), _ENDINGS[:1], _ENDINGS[1:2], _ENDINGS):
        observations, _ = case.create().parse(completed, case.benchmark)
        expect(not observations, f"it observed {list(observations)} in a launch that said nothing")


def noise_is_no_observation(case: FrameworkCase) -> None:
    """What programs print beside their numbers is not taken for numbers, and costs none of them."""
    for line in NOISE:
        seen = _parse(case, line)[0]
        expect(not any(one.samples for one in seen), f"it observed {seen} in {line[:80]!r}")
        text = f"{line}\n{case.said}\n{line}\n"
        _expect_observed(case, _parse(case, text)[0], f"a launch that also said {line[:80]!r}")
    noise = "\n".join(NOISE)
    _expect_observed(case, _parse(case, f"{noise}\n{case.said}\n{noise}", noise)[0], "a noisy launch")


def damaged_output_never_raises(case: FrameworkCase) -> None:
    """Output is cut where a program is killed, and mixed where threads write at once: what can be read is read."""
    chance = random.Random(case.said)  # noqa: S311 - the same damage in every run, not a secret
    texts = (*distorted(case.said), *(damaged(case.said, chance) for _ in range(_MUTATIONS)))
    for number, text in enumerate(texts):
        ending = _ENDINGS[number % len(_ENDINGS)]
        for observation in _parse(case, text, text[::-1], ending)[0]:
            _expect_sound(observation, text)


def it_reads_the_same_twice(case: FrameworkCase) -> None:
    """Results that are computed again are the same: no clock, no chance, nothing kept from the launch before."""
    before = _process()
    framework = case.create()
    completed = (replace(_ENDINGS[0], stdout=case.said),)
    first = framework.parse(completed, case.benchmark)
    framework.parse((replace(_ENDINGS[0], stdout="\n".join(NOISE)),), case.benchmark)
    again, other = framework.parse(completed, case.benchmark), case.create().parse(completed, case.benchmark)
    expect(_frozen(first) == _frozen(again) == _frozen(other), "the same output was read in different ways")
    _expect_unchanged(before)


def its_observations_are_sound(case: FrameworkCase) -> None:
    """Finite numbers; times with a unit of time; names for everything."""
    observations, notes = _parse(case, case.said)
    for observation in observations:
        _expect_sound(observation, case.said)
        if observation.samples and (observation.metric == "latency" or observation.metric.endswith("_time")):
            known = convert(1.0, observation.unit, "s") is not None
            expect(known, f"{observation.name} is a time, and its unit is {observation.unit!r}")
    expect(all(note.code and note.message for note in notes), f"a note says nothing: {notes}")


def its_runner_can_be_started(case: FrameworkCase) -> None:
    """The command that it composes runs, and says what it reads."""
    if not (case.runs and case.composes):
        return
    completed = shell.run(_start(case))
    expect(completed.ok, f"{completed.command.argv} {completed.describe()}")
    observations, _ = case.create().parse((completed,), case.benchmark)
    seen = {observation.name for observation in observations}
    expect(set(case.observed) <= seen, f"a launch was to tell {sorted(case.observed)}, and told {sorted(seen)}")


def its_start_for_turns_is_the_same_start(case: FrameworkCase) -> None:
    """The same runner with the same files: only that it waits to be told when to iterate."""
    framework, other = case.create(), case.create()
    if not isinstance(framework, TurnTaking) or not isinstance(other, TurnTaking) or not case.composes:
        return
    for folder in ("/one", "/a folder; with $letters"):
        command = _command(case, case.benchmark, _placed(case.benchmark, folder))
        start = expect_same_start(framework, other, command)
        lost = {word for word in command.argv if folder in word} - set(start.argv)
        expect(not lost, f"its start for turns lacks {sorted(lost)}")


def its_runner_takes_turns(case: FrameworkCase) -> None:
    """It iterates as often as it is told, idles between, and tells everything at the end."""
    framework = case.create()
    if not isinstance(framework, TurnTaking) or not (case.runs and case.composes and case.takes_turns):
        return
    for told_to_end in (True, False):
        completed = take_turns(framework.turns(_start(case)), told_to_end=told_to_end)
        counts = _counts(case.create().parse((completed,), case.benchmark)[0])
        for name, wanted in case.observed.items():
            expect(name in counts, f"after its turns it told {sorted(counts)}, and not {name}")
            if wanted == case.benchmark.iterations:
                made = sum(ITERATIONS)
                expect(counts[name] == made, f"it made {made} iterations, and told {counts[name]} of {name}")


def fingerprints_of_exports_are_stable(case: FrameworkCase) -> None:
    """What determines a program is told the same way twice, without importing what would make it."""
    framework = case.create()
    if not isinstance(framework, Exporter):
        return
    export = _export(case)
    light = _HEAVY - sys.modules.keys()
    first, second = framework.fingerprint(export), _exporter(case).fingerprint(export)
    expect(bool(first), "the fingerprint is empty")
    expect(dict(first) == dict(second), f"{dict(first)} became {dict(second)}")
    texts = all(isinstance(text, str) for pair in first.items() for text in pair)
    expect(texts, "the fingerprint holds something else than texts")
    heavy = sorted(light & sys.modules.keys())
    expect(not heavy, f"a fingerprint imports {', '.join(heavy)}: `validate` asks for one for every file")


def unknown_exports_fail_with_a_remedy(case: FrameworkCase) -> None:
    """A definition or a recipe that does not exist is `ExportFailed`, and the hint tells which there are."""
    if not isinstance(case.create(), Exporter):
        return
    for name in ("definition", "recipe"):
        for wrong in ("no_such_name", "", "../x", "a b"):
            try:
                _exporter(case).fingerprint(_export(case).model_copy(update={name: wrong}))
            except ExportFailed as error:
                expect(bool(error.hint), f"its error has no hint: {error}")
            else:
                raise ContractBroken(f"it has a fingerprint of an export whose {name} is {wrong!r}")


CHECKS: Final[tuple[Check, ...]] = (
    it_has_a_name,
    it_builds_the_same_runner_twice,
    it_builds_or_says_what_to_do,
    its_command_depends_on_nothing_else,
    its_command_uses_the_paths_it_is_given,
    it_refuses_what_it_cannot_run,
    its_runner_is_understood,
    what_was_said_before_a_failure_counts,
    nothing_said_is_nothing_observed,
    noise_is_no_observation,
    damaged_output_never_raises,
    it_reads_the_same_twice,
    its_observations_are_sound,
    its_runner_can_be_started,
    its_start_for_turns_is_the_same_start,
    its_runner_takes_turns,
    fingerprints_of_exports_are_stable,
    unknown_exports_fail_with_a_remedy,
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


def _parse(case: FrameworkCase, stdout: str, stderr: str = "", ending: Completed = _ENDINGS[0]) -> Parsed:
    """What a new object reads in one launch."""
    with _Reading(stdout):
        completed = replace(ending, stdout=stdout, stderr=stderr)
        return _frozen(case.create().parse((completed,), case.benchmark))


def _frozen(parsed: tuple[Sequence[Observation], Sequence[Note]]) -> Parsed:
    observations, notes = parsed
    return tuple(observations), tuple(notes)


class _Reading:
    """Adds to an error what was read; the error itself shows best where the contract is broken."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(f"raised by parse(), which never raises, on {self._text[:2000]!r}")


def _expect_observed(case: FrameworkCase, observations: Sequence[Observation], where: str) -> None:
    counts = _counts(observations)
    for name, wanted in case.observed.items():
        expect(counts.get(name) == wanted, f"in {where} it observed {counts.get(name)} samples of {name}, not {wanted}")


def _counts(observations: Sequence[Observation]) -> dict[str, int]:
    """How many samples each metric has."""
    counts: dict[str, int] = {}
    for observation in observations:
        counts[observation.name] = counts.get(observation.name, 0) + len(observation.samples)
    return counts


def _expect_sound(observation: Observation, text: str) -> None:
    expect(bool(observation.type and observation.metric), f"an observation has no name: {observation}")
    numbers = (*observation.samples, *(observation.summary or {}).values())
    expect(all(map(math.isfinite, numbers)), f"{observation.name} is not finite: {observation}, read in {text[:500]!r}")


def _export(case: FrameworkCase) -> Export:
    if case.export is None:
        raise ContractBroken("the case of an Exporter needs an `export`")
    return case.export


def _exporter(case: FrameworkCase) -> Exporter:
    framework = case.create()
    if not isinstance(framework, Exporter):
        raise ContractBroken("one object of the framework is an Exporter, and another is not")
    return framework


def _process() -> dict[str, object]:
    threads = {thread.ident for thread in threading.enumerate() if not thread.daemon}
    return {"working folder": Path.cwd(), "environment": dict(os.environ), "thread": threads}


def _expect_unchanged(before: Mapping[str, object]) -> None:
    for what, was in before.items():
        expect(_process()[what] == was, f"it left another {what} behind")
