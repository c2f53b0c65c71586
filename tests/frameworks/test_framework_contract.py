"""Our frameworks keep the contract, and its checks catch frameworks that do not."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from frameworks import executorch, generic
from frameworks.executorch.options import ExecuTorchOptions
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark, Export, OutputFile
from harness.core.build import Build
from harness.core.cached_files import ExportReport
from harness.core.command import Command, Completed
from harness.core.device import Device
from harness.core.errors import BenchmarkUnsupported, ExportFailed
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.protocols import Progress, Task
from harness.testing import frameworks as contract
from harness.testing.contract import ContractBroken
from harness.testing.frameworks import CHECKS, Check, FrameworkCase, benchmark_of

RECORDED = Path(__file__).parent / "executorch" / "recorded"
MODEL = {"files.model": "/d/net.pte"}
GENERIC = FrameworkCase(
    create=lambda: generic.create(Settings(program={"program": Path(sys.executable)})),
    benchmark=benchmark_of("generic", MODEL, commands=("{program}",)),
    output="\n".join(
        f'Caffe2Observer {{"type": "NET", "metric": "latency", "unit": "us", "value": {value}}}' for value in range(9)
    ),
    observed={"NET latency": 9},
    composes=False,
)
EXECUTORCH = FrameworkCase(
    create=lambda: executorch.create(
        Settings(plug_ins=(ExecuTorchOptions(runner="python"),), cache_dir=Path(os.devnull) / "cache")
    ),
    benchmark=benchmark_of("executorch", MODEL, threads=1, warmup=2, iterations=5),
    output=(RECORDED / "native.txt").read_text(),
    observed={"NET latency": 5, "NET cpu_time": 5, "RUN load_time": 1, "RUN peak_memory": 1},
    refused=(
        benchmark_of("executorch"),
        benchmark_of("executorch", {"files.a": "/d/a.pte", "files.b": "/d/b.pte"}),
        benchmark_of(
            "executorch", MODEL, output_files=(OutputFile(key="output_files.o", filename="o", location="/d/o"),)
        ),
    ),
    builds=False,
    export=Export(definition="add", recipe="portable"),
)
EXECUTOR_RUNNER = replace(
    EXECUTORCH,
    benchmark=benchmark_of("executorch", MODEL, threads=1, warmup=0, iterations=3),
    output=(RECORDED / "executor_runner.txt").read_text(),
    observed={"NET latency": 3, "RUN load_time": 1},
)
CASES = {"generic": GENERIC, "executorch": EXECUTORCH, "executor_runner": EXECUTOR_RUNNER}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_our_frameworks_keep_the_contract(check: Check, name: str) -> None:
    check(CASES[name])


@pytest.mark.slow
def test_rebuilding_the_runner_of_executorch_gives_the_same_build(tmp_path: Path) -> None:
    case = replace(
        EXECUTORCH,
        builds=True,
        create=lambda: executorch.create(Settings(plug_ins=(ExecuTorchOptions(runner="python"),), cache_dir=tmp_path)),
    )
    contract.running.builds_the_same_runner_twice(case)


class Echo:
    """A framework that keeps the contract: the runner prints `took N ms` for each iteration."""

    name = "echo"

    def build(self, device: Device, progress: Progress) -> Build:
        return Build(source="installed", commit="1", digest="d", programs={"program": Path("/bin/sh").resolve()})

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        if "files.text" not in files:
            raise BenchmarkUnsupported("no text", hint="name a file `text`")
        return Command((files["program"], files["files.text"]))

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        samples = []
        for launch in completed:
            for line in (*launch.stdout.splitlines(), *launch.stderr.splitlines()):
                words = line.split(" ")
                if len(words) == 3 and words[0] == "took" and words[1].isdecimal() and len(words[1]) < 9:
                    samples.append(float(words[1]))
        return self.observed(samples), ()

    def observed(self, samples: Sequence[float]) -> Sequence[Observation]:
        return [Observation(type="NET", metric="latency", unit="ms", samples=tuple(samples))] if samples else []


class Exporting(Echo):
    """The same with an exporter."""

    def fingerprint(self, export: Export) -> Mapping[str, str]:
        for name in (export.definition, export.recipe):
            if name != "known":
                raise ExportFailed(f"no `{name}`", hint="there is `known`")
        return {"version": "1"}

    def export(self, export: Export, destination: Path, progress: Task) -> ExportReport:
        raise ExportFailed("not here", hint="elsewhere")


def case_of(create: Callable[[], Echo], folder: Path) -> FrameworkCase:
    script = folder / "text"
    script.write_text("echo took 3 ms; echo took 4 ms\n")
    return FrameworkCase(
        create=create,
        benchmark=benchmark_of("echo", {"files.text": str(script)}),
        output="took 5 ms\ntook 6 ms\n",
        observed={"NET latency": 2},
        refused=(),
        runs=True,
        export=Export(definition="known", recipe="known"),
    )


@pytest.mark.parametrize("create", [Echo, Exporting])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_framework_that_keeps_the_contract_passes(check: Check, create: type[Echo], tmp_path: Path) -> None:
    check(case_of(create, tmp_path))


class Nameless(Echo):
    name = "two words"


class Forgetful(Echo):
    """Every build is another one."""

    def build(self, device: Device, progress: Progress) -> Build:
        return super().build(device, progress).model_copy(update={"digest": str(id(self))})


class Absent(Echo):
    """Its program is nowhere."""

    def build(self, device: Device, progress: Progress) -> Build:
        return super().build(device, progress).model_copy(update={"programs": {"program": Path("/no/runner")}})


class Counting(Echo):
    """Its second command differs from its first."""

    count = 0

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        Counting.count += 1
        command = super().command(benchmark, build, files)
        return command.replace_argv((*command.argv, str(Counting.count)))


class Splitting(Echo):
    """Takes paths apart."""

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        return Command(tuple(" ".join(files.values()).split()))


class Fixed(Echo):
    """Knows where files are on its author's device."""

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        return Command(("/data/local/tmp/runner", "/data/local/tmp/text"))


class Exploding(Echo):
    """Its parser raises on what it does not expect."""

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        lines = [line for launch in completed for line in launch.stdout.splitlines() if line.startswith("took ")]
        return self.observed([float(line.split(" ")[1]) for line in lines]), ()


class Strict(Echo):
    """Forgets everything when one line is odd."""

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        lines = [line for launch in completed for line in (launch.stdout + launch.stderr).splitlines()]
        return super().parse(completed, benchmark) if all(line.startswith("took ") for line in lines) else ((), ())


class Hopeful(Echo):
    """Reads only launches that went well."""

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        return super().parse([launch for launch in completed if launch.ok], benchmark)


class Inventive(Echo):
    """Zero where nothing was measured."""

    def observed(self, samples: Sequence[float]) -> Sequence[Observation]:
        return super().observed(samples or [0.0])


class Hoarding(Echo):
    """Keeps the samples of the launch before."""

    def __init__(self) -> None:
        self._kept: list[float] = []

    def observed(self, samples: Sequence[float]) -> Sequence[Observation]:
        self._kept.extend(samples)
        return super().observed(self._kept)


class Unitless(Echo):
    def observed(self, samples: Sequence[float]) -> Sequence[Observation]:
        return [observation.model_copy(update={"unit": "ticks"}) for observation in super().observed(samples)]


class Unrunnable(Echo):
    """What it composes does not run."""

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        return Command((*super().command(benchmark, build, files).argv[:1], "-c", f"exit 3 # {files['files.text']}"))


class Littering(Echo):
    """Leaves a variable behind."""

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        os.environ["CONTRACT_LITTER"] = os.environ.get("CONTRACT_LITTER", "") + "x"
        return super().parse(completed, benchmark)


class Permissive(Exporting):
    """Every export has a fingerprint."""

    def fingerprint(self, export: Export) -> Mapping[str, str]:
        return {"version": "1"}


class Credulous(Exporting):
    """Finds nothing wrong with any export."""

    def check_export(self, export: Export) -> None:
        """Check nothing."""


class Refusing(Exporting):
    """Refuses an export that it can make."""

    def check_export(self, export: Export) -> None:
        raise ExportFailed("no", hint="none")


class Unsteady(Exporting):
    """A fingerprint that depends on the object."""

    def fingerprint(self, export: Export) -> Mapping[str, str]:
        return {**super().fingerprint(export), "object": str(id(self))}


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (Nameless, contract.running.has_a_name),
        (Forgetful, contract.running.builds_the_same_runner_twice),
        (Absent, contract.running.builds_the_same_runner_twice),
        (Counting, contract.running.composes_commands_deterministically),
        (Splitting, contract.running.commands_use_the_given_paths),
        (Fixed, contract.running.commands_use_the_given_paths),
        (Strict, contract.parsing.noise_gives_no_observations),
        (Hopeful, contract.parsing.output_before_a_failure_is_parsed),
        (Inventive, contract.parsing.no_output_gives_no_observations),
        (Inventive, contract.parsing.noise_gives_no_observations),
        (Hoarding, contract.parsing.parsing_is_deterministic),
        (Littering, contract.parsing.parsing_is_deterministic),
        (Unitless, contract.parsing.observations_are_sound),
        (Unrunnable, contract.running.runner_can_be_started),
        (Unsteady, contract.exporting.fingerprints_of_exports_are_stable),
        (Permissive, contract.exporting.unknown_exports_fail_with_a_hint),
        (Credulous, contract.exporting.unknown_exports_fail_with_a_hint),
        (Refusing, contract.exporting.known_exports_are_accepted),
    ],
)
def test_a_framework_that_breaks_the_contract_is_detected(
    broken: type[Echo], check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTRACT_LITTER", "")
    keep: list[Echo] = []  # two objects that live at once have different identities

    def create() -> Echo:
        keep.append(broken())
        return keep[-1]

    with pytest.raises(ContractBroken):
        check(case_of(create, tmp_path))


def test_a_raising_parser_is_reported_with_its_input(tmp_path: Path) -> None:
    with pytest.raises((ValueError, IndexError)) as caught:
        contract.parsing.damaged_output_never_raises(case_of(Exploding, tmp_path))
    assert "never raises" in caught.value.__notes__[0]


def test_accepting_an_unsupported_benchmark_is_detected(tmp_path: Path) -> None:
    case = case_of(Echo, tmp_path)
    with pytest.raises(ContractBroken, match="it composed"):
        contract.running.refuses_unsupported_benchmarks(replace(case, refused=(case.benchmark,)))
    with pytest.raises(ContractBroken, match="it composed"):
        contract.running.refuses_unsupported_benchmarks(replace(case, composes=False))


def test_an_exporter_without_an_example_is_rejected_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(ContractBroken, match="needs an `export`"):
        contract.exporting.fingerprints_of_exports_are_stable(replace(case_of(Exporting, tmp_path), export=None))
