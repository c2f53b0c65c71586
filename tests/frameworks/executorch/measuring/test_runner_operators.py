"""Operators, timed by the real runners on real programs."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from frameworks.executorch.identification import identify_operators
from frameworks.observations.observer import parse_lines
from harness import shell
from harness.core.build import Build
from harness.core.command import Command
from harness.core.metric import Metric, Observation
from tests.shared_folders import share_mobilenet_v2

pytestmark = pytest.mark.slow


def measured(runner: Path, *words: str | Path) -> Mapping[str, Observation]:
    completed = shell.run(Command((str(runner), *map(str, words), "--operators"), timeout_s=120))
    assert completed.ok, completed.describe()
    observations, notes = parse_lines(completed.stdout)
    assert notes == ()
    return {observation.name: observation for observation in observations}


def operators(observations: Mapping[str, Observation]) -> dict[str, Observation]:
    return {observation.type: observation for observation in observations.values() if observation.is_of_operator}


def as_metric(observation: Observation) -> Metric:
    return Metric(
        name=observation.name,
        type=observation.type,
        metric=observation.metric,
        unit=observation.unit,
        info=observation.info,
    )


@pytest.fixture(scope="module")
def mv2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return share_mobilenet_v2(tmp_path_factory)[0]


@pytest.fixture
def native_runner(native: Build) -> Path:
    return native.programs["program"]


def test_kernels_are_named_and_numbered_in_order_of_execution(native_runner: Path, programs: Path) -> None:
    observations = operators(
        measured(native_runner, "--model", programs / "chain.pte", "--threads", "1", "--iter", "20")
    )
    kernels = [
        name for name in observations if not name.startswith("_to_dim_order_copy")
    ]  # of the numbers in the program
    assert kernels == ["mul.out #1", "add.out #1", "mul.out #2", "sub.out #1", "sum.IntList_out #1"]
    assert {len(observation.samples) for observation in observations.values()} == {20}
    assert all(observation.unit == "us" and min(observation.samples) > 0 for observation in observations.values())


def test_operators_inside_a_delegate_and_the_rest_of_its_call_are_reported(native_runner: Path, programs: Path) -> None:
    observations = operators(measured(native_runner, "--model", programs / "linear.pte", "--iter", "3"))
    assert list(observations)[-1] == "delegate call (rest) #1"
    inside = [name for name in observations if not name.startswith("delegate")]
    assert inside
    assert all(name.count("#") == 1 for name in observations), "a name has one number"


def test_the_operators_of_a_network_add_up_to_its_latency(native_runner: Path, mv2: Path) -> None:
    observations = measured(native_runner, "--model", mv2, "--threads", "1", "--warmup", "5", "--iter", "30")
    inside = operators(observations)
    assert len(inside) > 50
    identities = identify_operators([as_metric(observation) for observation in observations.values()], mv2)
    modules = {identity.main_node.module for identity in identities if identity.main_node is not None}
    assert {"features.0.0", "features.3.conv.0.0", "features.18.0", "classifier.1"} <= modules
    unknown = [identity.name for identity in identities if not identity.nodes]
    assert unknown == ["Transpose (ND, X32) #1", "Transpose (ND, X32) #2", "delegate call (rest) #1"], "XNNPACK's own"
    sums_us = [sum(times) for times in zip(*(observation.samples for observation in inside.values()), strict=True)]
    # Iteration by iteration: a program that has the CPU meanwhile is in both.
    shares = [
        1000 * sum_us / latency for sum_us, latency in zip(sums_us, observations["NET latency"].samples, strict=True)
    ]
    assert 0.80 <= statistics.median(shares) <= 1.05


def test_operators_are_timed_when_interleaved(native_runner: Path, programs: Path) -> None:
    argv = (str(native_runner), "--model", str(programs / "chain.pte"), "--operators", "--turns")
    with shell.start(Command(argv, timeout_s=60)) as process:
        assert process.wait_for_line("ready")
        for count in (4, 3):
            process.write_line(f"run {count}")
            assert process.wait_for_line(f"done {count}")
        answer = process.finish().stdout
    observations = operators({observation.name: observation for observation in parse_lines(answer)[0]})
    assert {len(observation.samples) for observation in observations.values()} == {7}


def test_without_the_flag_no_operators_are_reported(native_runner: Path, programs: Path) -> None:
    completed = shell.run(Command((str(native_runner), "--model", str(programs / "chain.pte"), "--iter", "2")))
    assert "mul" not in completed.stdout
    assert "operators" not in completed.stdout


def test_the_python_runner_reports_operators_as_unavailable(python: Build, programs: Path) -> None:
    observations = measured(python.programs["program"], "--model", programs / "chain.pte", "--iter", "2")
    assert operators(observations) == {}
    assert observations["RUN operators_unavailable"].info
    assert len(observations["NET latency"].samples) == 2


def test_a_switch_takes_no_argument(native_runner: Path) -> None:
    completed = shell.run(Command((str(native_runner), "--model", "a.pte", "--operators=yes")))
    assert (completed.exit_code, completed.stderr) == (
        2,
        "error: argument --operators: ignored explicit argument 'yes'\n",
    )


@pytest.mark.exhaustive
def test_the_inspector_reads_the_trace(native_runner: Path, programs: Path, tmp_path: Path) -> None:
    trace = tmp_path / "chain.etdump"
    plain = ("--model", str(programs / "chain.pte"), "--iter", "2", "--etdump", str(trace))
    completed = shell.run(Command((str(native_runner), *plain)))
    assert completed.ok, completed.describe()
    reader = (
        "import json, sys\n"
        "from executorch.devtools import Inspector\n"
        "blocks = Inspector(etdump_path=sys.argv[1]).event_blocks\n"
        "print(json.dumps([[event.name, len(event.perf_data.raw)] for block in blocks for event in block.events]))\n"
    )
    read = shell.run(Command((sys.executable, "-W", "ignore", "-c", reader, str(trace)), timeout_s=120))
    assert read.ok, read.describe()
    events = dict(json.loads(read.stdout.splitlines()[-1]))
    assert events["native_call_sum.IntList_out"] == 10


def test_a_trace_that_cannot_be_written_is_an_error(native_runner: Path, programs: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "missing" / "x.etdump"
    argv = (str(native_runner), "--model", str(programs / "chain.pte"), "--iter", "2", "--etdump", str(nowhere))
    completed = shell.run(Command(argv))
    assert completed.exit_code == 2
    assert completed.stderr.splitlines()[-1] == f"error: argument --etdump: cannot write {nowhere}"
    assert "NET" not in completed.stdout
