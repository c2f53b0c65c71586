"""Both runners, on real programs: what they print, and when they stop."""

from __future__ import annotations

import json
import resource
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from frameworks.observations.observer import parse_lines
from harness import shell
from harness.core.build import Build
from harness.core.command import Command
from harness.core.metric import Observation

pytestmark = pytest.mark.slow

MEBIBYTE = 1 << 20


@pytest.fixture(params=["native", "python"])
def build(request: pytest.FixtureRequest) -> Build:
    """Each of the runners."""
    build: Build = request.getfixturevalue(request.param)
    return build


def measure(*words: str | Path) -> Mapping[str, Observation]:
    completed = shell.run(Command(tuple(map(str, words))))
    assert completed.ok, completed.describe()
    observations, notes = parse_lines(completed.stdout)
    assert notes == ()
    return {observation.name: observation for observation in observations}


def value(observation: Observation) -> float:
    assert len(observation.samples) == 1
    return observation.samples[0]


def test_every_iteration_and_the_launch_are_reported(runner: Path, programs: Path) -> None:
    observations = measure(runner, "--model", programs / "add.pte", "--threads", "1", "--warmup", "3", "--iter", "20")
    reported = {name: (observation.unit, len(observation.samples)) for name, observation in observations.items()}
    reported.pop("RUN threads_observed", None)  # only the Python runner looks
    assert reported == {
        "NET latency": ("ns", 20),
        "NET cpu_time": ("ns", 20),
        "RUN load_time": ("ns", 1),
        "RUN first_iteration": ("ns", 1),
        "RUN memory_before_load": ("bytes", 1),
        "RUN memory_after_load": ("bytes", 1),
        "RUN peak_memory": ("bytes", 1),
        "RUN threads": ("", 1),
        "RUN warmup_done": ("", 1),
        "RUN iterations_done": ("", 1),
        "RUN runtime": ("", 0),
    }
    assert value(observations["RUN warmup_done"]) == 3
    assert value(observations["RUN iterations_done"]) == 20
    assert value(observations["RUN load_time"]) > 0
    assert value(observations["RUN first_iteration"]) > 0
    assert min(observations["NET latency"].samples) > 0


def test_both_runners_name_the_runtime_and_themselves(build: Build, programs: Path) -> None:
    observations = measure(build.programs["program"], "--model", programs / "add.pte", "--iter", "1")
    assert observations["RUN runtime"].info == f"executorch {build.commit} {build.recipe}"


def test_native_and_python_print_the_same_metrics_in_the_same_order(
    native: Build, python: Build, programs: Path
) -> None:
    limited = ("--model", str(programs / "linear.pte"), "--time-limit", "0.000001")
    there, here = (shell.run(Command((str(build.programs["program"]), *limited))) for build in (native, python))
    assert _shape(there.stdout) == _shape(here.stdout)
    assert ("RUN", "stopped_early", "") in _shape(here.stdout)


def _shape(stdout: str) -> list[tuple[str, str, str]]:
    lines = [json.loads(line.removeprefix("PyTorchObserver ")) for line in stdout.splitlines()]
    metrics = [(line["type"], line["metric"], line["unit"]) for line in lines]
    return [metric for metric in metrics if metric != ("RUN", "threads_observed", "")]  # only the Python runner looks


def test_without_warm_up_the_first_iteration_is_a_timed_one(runner: Path, programs: Path) -> None:
    observations = measure(runner, "--model", programs / "linear.pte", "--warmup", "0", "--iter", "5")
    assert value(observations["RUN warmup_done"]) == 0
    assert value(observations["RUN first_iteration"]) == observations["NET latency"].samples[0]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_thread_pool_has_the_requested_size(runner: Path, programs: Path, threads: int) -> None:
    observations = measure(runner, "--model", programs / "linear.pte", "--threads", str(threads), "--iter", "2")
    assert value(observations["RUN threads"]) == threads


def test_without_threads_the_runtime_decides(runner: Path, programs: Path) -> None:
    assert value(measure(runner, "--model", programs / "linear.pte", "--iter", "2")["RUN threads"]) >= 1


def test_iterations_with_several_threads_tell_all_their_cpu_time(native: Build, programs: Path) -> None:
    """The kernel credits threads late: a third was missing, credited between two iterations."""
    before = _children_cpu_ns()
    shared = ("--model", programs / "shared.pte", "--threads", "2", "--warmup", "1", "--iter", "1000")
    samples = measure(native.programs["program"], *shared)["NET cpu_time"].samples
    assert 0.85 <= sum(samples) / (_children_cpu_ns() - before) <= 1.01  # loading takes the rest, and ticks are rounded


def _children_cpu_ns() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e9


def test_the_time_limit_ends_warm_up_and_iterations_with_a_note(runner: Path, programs: Path) -> None:
    many = ("--warmup", "1000000000", "--iter", "1000000000")
    observations = measure(runner, "--model", programs / "chain.pte", *many, "--time-limit", "0.3")
    assert observations["RUN stopped_early"].info == "time_limit"
    assert 1 <= value(observations["RUN warmup_done"]) < 1e9
    assert 1 <= value(observations["RUN iterations_done"]) == len(observations["NET latency"].samples)


def test_a_limit_that_is_not_reached_is_not_mentioned(runner: Path, programs: Path) -> None:
    observations = measure(runner, "--model", programs / "add.pte", "--iter", "5", "--time-limit", "1000")
    assert "RUN stopped_early" not in observations
    assert value(observations["RUN iterations_done"]) == 5


def test_the_minimum_iterations_run_regardless_of_the_limit(runner: Path, programs: Path) -> None:
    limits = ("--iter", "1000", "--min-iter", "300", "--time-limit", "0.000001")
    observations = measure(runner, "--model", programs / "add.pte", "--warmup", "9", *limits)
    assert value(observations["RUN warmup_done"]) == 1
    assert value(observations["RUN iterations_done"]) == 300
    assert observations["RUN stopped_early"].info == "time_limit"


def test_the_minimum_does_not_exceed_the_requested_iterations(runner: Path, programs: Path) -> None:
    limits = ("--iter", "4", "--min-iter", "300", "--time-limit", "0.000001")
    observations = measure(runner, "--model", programs / "add.pte", *limits)
    assert value(observations["RUN iterations_done"]) == 4
    assert "RUN stopped_early" not in observations


def test_resident_memory_grows_by_the_planned_buffers(runner: Path, programs: Path) -> None:
    observations = measure(runner, "--model", programs / "wide.pte", "--iter", "1", "--warmup", "0")
    before, after = value(observations["RUN memory_before_load"]), value(observations["RUN memory_after_load"])
    assert after - before > 60 * MEBIBYTE
    assert value(observations["RUN peak_memory"]) > before + 120 * MEBIBYTE


def test_the_native_runner_is_small(native: Build, programs: Path) -> None:
    observations = measure(native.programs["program"], "--model", programs / "add.pte")
    assert value(observations["RUN peak_memory"]) < 32 * MEBIBYTE


@pytest.mark.parametrize("name", ["add", "linear", "chain"])
def test_both_runners_compute_the_same_outputs(
    native: Build, python: Build, programs: Path, tmp_path: Path, name: str
) -> None:
    model = ("--model", str(programs / f"{name}.pte"), "--threads", "1", "--iter", "3")
    measure(native.programs["program"], *model, "--outputs", tmp_path / "there")
    measure(python.programs["program"], *model, "--outputs", tmp_path / "here")
    there = {path.name.removeprefix("there"): path.read_bytes() for path in tmp_path.glob("there-*.bin")}
    here = {path.name.removeprefix("here"): path.read_bytes() for path in tmp_path.glob("here-*.bin")}
    assert there == here
    assert set(there) == ({"-0.bin", "-1.bin"} if name == "chain" else {"-0.bin"})


def test_every_execution_receives_the_same_input(runner: Path, programs: Path, tmp_path: Path) -> None:
    # The plan of this program reuses the input's memory; without fresh inputs the third output is 714028.
    model = ("--model", programs / "chain.pte", "--warmup", "1", "--iter", "2")
    measure(runner, *model, "--outputs", tmp_path / "out")
    assert read(tmp_path / "out-0.bin", torch.float32) == [28.0] * 4


def test_inputs_are_ones_unless_given(runner: Path, programs: Path, tmp_path: Path) -> None:
    measure(runner, "--model", programs / "add_int.pte", "--outputs", tmp_path / "ones")
    assert read(tmp_path / "ones-0.bin", torch.int64) == [2, 2, 2]


def test_inputs_come_from_files_in_order(runner: Path, programs: Path, tmp_path: Path) -> None:
    files = (tmp_path / "left.bin", tmp_path / "right.bin")
    for file, values in zip(files, ([1, 2, 3], [10, 20, 30]), strict=True):
        file.write_bytes(torch.tensor(values, dtype=torch.int64).numpy().tobytes())
    inputs = ",".join(map(str, files))
    measure(runner, "--model", programs / "add_int.pte", "--inputs", inputs, "--outputs", tmp_path / "sum")
    assert read(tmp_path / "sum-0.bin", torch.int64) == [11, 22, 33]


def read(file: Path, dtype: torch.dtype) -> list[float]:
    values: list[float] = torch.frombuffer(bytearray(file.read_bytes()), dtype=dtype).tolist()
    return values
