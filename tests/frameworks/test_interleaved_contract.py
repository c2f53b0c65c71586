"""Contract of interleavable frameworks: kept by one, and broken in every way that matters."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest
from msgspec.structs import replace

from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.device import Device
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.protocols import Progress
from harness.testing import frameworks as contract
from harness.testing.contract import ContractBroken
from harness.testing.frameworks import CHECKS, Check, FrameworkCase, benchmark_of

RUNNER = """
count=2; {before}
if [ "$1" = --interleaved ]; then
    count=0; {ready}
    while read word n; do
        [ "$word" = end ] && break
        count={counted}
        {done}
    done
fi
i=0; while [ $i -lt $count ]; do echo took 5 ms; i=$((i+1)); done
{after}
"""
GOOD = {
    "before": ":",
    "ready": "echo ready",
    "counted": "$((count+n))",
    "done": 'echo "done $n"',
    "after": "exit 0",
}


class Interleaving:
    """A framework that keeps the contract: the runner is a shell script that prints `took N ms` for each iteration."""

    name = "interleaving"

    def build(self, device: Device, progress: Progress) -> Build:
        return Build(source="installed", commit="1", digest="d", programs={"program": Path("/bin/sh").resolve()})

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        return Command((files["program"], files["files.text"]), env={"A": "1"}, threads=1)

    def interleaved_command(self, command: Command) -> Command:
        return command.replace_argv((*command.argv, "--interleaved"))

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        words = [line.split(" ") for launch in completed for line in (launch.stdout + "\n" + launch.stderr).split("\n")]
        samples = [
            float(line[1])
            for line in words
            if len(line) == 3 and line[0] == "took" and line[1].isdecimal() and len(line[1]) < 9
        ]
        if not samples:
            return (), ()
        return (Observation(type="NET", metric="latency", unit="ms", samples=tuple(samples)),), ()


def case_of(
    folder: Path, runner: Mapping[str, str] = MappingProxyType({}), create: type[Interleaving] = Interleaving
) -> FrameworkCase:
    script = folder / "text"
    script.write_text(RUNNER.format(**{**GOOD, **runner}))
    return FrameworkCase(
        create=create,
        benchmark=benchmark_of("interleaving", {"files.text": str(script)}, iterations=2),
        output="took 5 ms\ntook 6 ms\n",
        observed={"NET latency": 2},
        runs=True,
    )


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_framework_that_keeps_the_contract_passes(check: Check, tmp_path: Path) -> None:
    check(case_of(tmp_path))


@pytest.mark.parametrize(
    ("runner", "message"),
    [
        ({"ready": "exit 0"}, "did not print `ready`"),
        ({"done": ":; exit 0"}, "did not print `done 3`"),
        ({"done": "exit 1"}, "did not print `done 3`"),
        ({"done": 'echo took 5 ms; echo "done $n"'}, "and nothing else"),
        ({"before": "echo hello"}, "and nothing else"),
        ({"counted": "$n"}, "made 5 iterations, and reported 2"),
        ({"after": "exit 3"}, "exit status 3"),
        ({"counted": "0"}, "and not NET latency"),
    ],
    ids=lambda given: "" if isinstance(given, str) else next(iter(given.values())),
)
def test_a_runner_that_breaks_the_contract_is_detected(runner: Mapping[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(ContractBroken, match=message):
        contract.running.runner_can_be_interleaved(case_of(tmp_path, runner))


def test_a_runner_that_cannot_be_interleaved_here_is_not_checked(tmp_path: Path) -> None:
    contract.running.runner_can_be_interleaved(
        dataclasses.replace(case_of(tmp_path, {"ready": "exit 0"}), interleavable=False)
    )


class Elsewhere(Interleaving):
    def interleaved_command(self, command: Command) -> Command:
        return command.replace_argv(("/bin/false", *command.argv[1:]))


class Careless(Interleaving):
    def interleaved_command(self, command: Command) -> Command:
        return replace(super().interleaved_command(command), env={})


class Unpinned(Interleaving):
    def interleaved_command(self, command: Command) -> Command:
        return replace(super().interleaved_command(command), threads=None)


class Modelless(Interleaving):
    def interleaved_command(self, command: Command) -> Command:
        return command.replace_argv((command.argv[0], "--interleaved"))


class Counting(Interleaving):
    count = 0

    def interleaved_command(self, command: Command) -> Command:
        Counting.count += 1
        return command.replace_argv((*command.argv, str(Counting.count)))


class Soloist(Interleaving):
    def duet_command(self, command: Command) -> Command:
        return command.replace_argv(("/bin/false", *command.argv[1:]))


@pytest.mark.parametrize("broken", [Elsewhere, Careless, Unpinned, Modelless, Counting, Soloist])
def test_a_different_interleaved_command_is_detected(broken: type[Interleaving], tmp_path: Path) -> None:
    with pytest.raises(ContractBroken):
        contract.running.interleaved_command_starts_the_same_runner(case_of(tmp_path, create=broken))


def test_a_runner_may_refuse_a_duet_but_must_fail_then(tmp_path: Path) -> None:
    contract.running.runner_can_be_interleaved(case_of(tmp_path, create=Soloist))

    class Silent(Interleaving):
        def duet_command(self, command: Command) -> Command:
            return command.replace_argv(("/bin/true", *command.argv[1:]))

    with pytest.raises(ContractBroken, match="as if nothing had failed"):
        contract.running.runner_can_be_interleaved(case_of(tmp_path, create=Silent))
