"""Both runners: many examples in one launch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from frameworks.executorch.framework import ExecuTorch
from frameworks.observations.observer import parse_lines
from harness import shell
from harness.config.settings import Settings
from harness.core.build import Build
from harness.core.cached_files import CachedFile
from harness.core.command import Command, Completed
from harness.core.examples import MANIFEST, DataRequest, ExampleManifest, OutputManifest, Stage, TensorInfo
from harness.core.measurement import Job
from harness.core.result import Outcome
from harness.running.outputs import take_outputs
from harness.testing.frameworks import benchmark_of
from harness.testing.progress import RecordedProgress, RecordedTask
from platforms.host.platform import Host
from platforms.host.session import HostSession
from tests.frameworks.executorch.mostly_native import build

__all__ = ["build"]

pytestmark = pytest.mark.slow


@pytest.fixture
def session(tmp_path: Path) -> Iterator[HostSession]:
    host = Host(tmp_path / "work", lock_path=tmp_path / "lock")
    with host.open(host.devices()[0], RecordedProgress()) as held:
        assert isinstance(held, HostSession)
        yield held


def run(*words: str | Path | int) -> Completed:
    return shell.run(Command(tuple(map(str, words))))


def last_line(completed: Completed) -> str:
    return completed.stderr.splitlines()[-1]


def texts(completed: Completed) -> dict[str, str | None]:
    assert completed.ok, completed.describe()
    observations, notes = parse_lines(completed.stdout)
    assert notes == ()
    return {observation.name: observation.info for observation in observations}


def test_each_example_is_executed_with_its_own_inputs(runner: Path, programs: Path, tmp_path: Path) -> None:
    left, right = np.arange(20, dtype=np.float32), np.full(20, 0.5, dtype=np.float32)
    left.tofile(tmp_path / "left.bin")
    right.tofile(tmp_path / "right.bin")
    inputs = f"{tmp_path / 'left.bin'},{tmp_path / 'right.bin'}"
    files = ("--inputs", inputs, "--outputs", tmp_path / "out")
    completed = run(runner, "--model", programs / "add.pte", "--examples", 5, *files, "--threads", 1)
    described = texts(completed)
    assert described["RUN output_0"] == "float32 [4] dim_order [0]"
    launch = {"RUN peak_memory", "RUN examples_done", "RUN threads", "RUN runtime"}
    assert set(described) == {"RUN output_0", *launch}
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out-0.bin", dtype=np.float32), left + right)


def test_one_launch_gives_the_outputs_of_a_launch_for_each_example(
    runner: Path, programs: Path, tmp_path: Path
) -> None:
    # The plan of this program puts intermediate values where the input was.
    values = np.random.default_rng(0).normal(size=(3, 4, 4)).astype(np.float32)
    values.tofile(tmp_path / "all.bin")
    model = ("--model", programs / "chain.pte")
    together = run(runner, *model, "--examples", 3, "--inputs", tmp_path / "all.bin", "--outputs", tmp_path / "all")
    assert texts(together)["RUN output_1"] == "float32 [4, 4] dim_order [0, 1]"
    alone: list[list[bytes]] = [[], []]
    for value in values:
        value.tofile(tmp_path / "one.bin")
        assert run(
            runner, *model, "--warmup", 0, "--iter", 1, "--inputs", tmp_path / "one.bin", "--outputs", tmp_path / "one"
        ).ok
        for index, outputs in enumerate(alone):
            outputs.append((tmp_path / f"one-{index}.bin").read_bytes())
    for index, outputs in enumerate(alone):
        assert (tmp_path / f"all-{index}.bin").read_bytes() == b"".join(outputs)


def test_files_are_in_row_major_order_whatever_the_layout_of_the_program(
    runner: Path, programs: Path, tmp_path: Path
) -> None:
    values = np.arange(2 * 24, dtype=np.float32)
    values.tofile(tmp_path / "in.bin")
    files = ("--inputs", tmp_path / "in.bin", "--outputs", tmp_path / "out")
    completed = run(runner, "--model", programs / "channels_last.pte", "--examples", 2, *files)
    assert texts(completed)["RUN output_0"] == "float32 [1, 2, 3, 4] dim_order [0, 2, 3, 1]"
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out-0.bin", dtype=np.float32), -values)


def test_a_file_of_another_size_is_named_with_expected_and_actual_bytes(
    runner: Path, programs: Path, tmp_path: Path
) -> None:
    file = tmp_path / "in.bin"
    file.write_bytes(bytes(95))
    model = ("--model", programs / "channels_last.pte")
    completed = run(runner, *model, "--examples", 1, "--inputs", file, "--outputs", tmp_path / "out")
    assert completed.exit_code == 2
    assert last_line(completed) == f"error: {file} has 95 bytes; 1 examples of input 0 (float32 [1, 2, 3, 4]) need 96"


def test_outputs_of_varying_shape_are_refused(runner: Path, programs: Path, tmp_path: Path) -> None:
    np.array([1, 0, 1, 0, 1, 1, 1, 0], dtype=np.float32).tofile(tmp_path / "in.bin")
    files = ("--inputs", tmp_path / "in.bin", "--outputs", tmp_path / "out")
    completed = run(runner, "--model", programs / "nonzero.pte", "--examples", 2, *files)
    assert completed.exit_code == 4
    assert last_line(completed) == (
        "error: output 0 of example 1 is int64 [3, 1], that of example 0 int64 [2, 1]: "
        "outputs of varying shape cannot be evaluated"
    )


def test_outputs_that_cannot_be_written_are_a_failure(runner: Path, programs: Path, tmp_path: Path) -> None:
    (tmp_path / "in.bin").write_bytes(bytes(64))
    files = ("--inputs", tmp_path / "in.bin", "--outputs", tmp_path / "none" / "out")
    completed = run(runner, "--model", programs / "chain.pte", "--examples", 1, *files)
    assert completed.exit_code == 4
    assert last_line(completed) == f"error: cannot write {tmp_path / 'none' / 'out-0.bin'}: No such file or directory"


def test_a_full_disk_is_a_failure(runner: Path, programs: Path, tmp_path: Path) -> None:
    (tmp_path / "in.bin").write_bytes(bytes(64))
    (tmp_path / "out-0.bin").symlink_to("/dev/full")
    files = ("--inputs", tmp_path / "in.bin", "--outputs", tmp_path / "out")
    completed = run(runner, "--model", programs / "chain.pte", "--examples", 1, *files)
    assert completed.exit_code == 4
    assert last_line(completed) == f"error: cannot write {tmp_path / 'out-0.bin'}: No space left on device"


def test_memory_does_not_grow_with_the_number_of_examples(native: Build, programs: Path, tmp_path: Path) -> None:
    with (tmp_path / "in.bin").open("wb") as stream:
        stream.truncate(48 << 20)
    program, model = native.programs["program"], ("--model", programs / "channels_last.pte")
    files = ("--inputs", tmp_path / "in.bin", "--outputs", tmp_path / "out")
    observations, _ = parse_lines(run(program, *model, "--examples", 1 << 19, *files).stdout)
    (peak,) = (observation.samples[0] for observation in observations if observation.name == "RUN peak_memory")
    assert peak < 32 << 20


def test_the_framework_takes_outputs_with_each_runner(
    build: Build, programs: Path, tmp_path: Path, session: HostSession
) -> None:
    model = programs / "channels_last.pte"
    values = np.arange(3 * 24, dtype=np.float32)
    (tmp_path / "examples").mkdir()
    values.tofile(tmp_path / "examples" / "input-0.bin")
    manifest = ExampleManifest(
        request=DataRequest(provider="files"),
        description="numbers",
        inputs=(TensorInfo(name="x", dtype="float32", shape=(1, 2, 3, 4)),),
        count=3,
        digest="0",
    )
    (tmp_path / "examples" / MANIFEST).write_text(manifest.model_dump_json())
    file = CachedFile(
        key="files.model", filename="m.pte", path=model, md5="0", size_bytes=model.stat().st_size, source=str(model)
    )
    benchmark = benchmark_of("executorch", {"files.model": "m.pte"}, threads=1)
    taken = take_outputs(
        Job(benchmark, build, {"files.model": file}),
        session,
        ExecuTorch(Settings()),
        tmp_path / "examples",
        tmp_path / "outputs",
        stage=Stage.HOST,
        scratch=tmp_path,
        progress=RecordedTask("", None),
    )
    assert (taken.outcome, taken.reason, taken.launches, taken.examples) == (Outcome.OK, None, 1, 3)
    np.testing.assert_array_equal(np.fromfile(tmp_path / "outputs" / "output-0.bin", dtype=np.float32), -values)
    written = OutputManifest.model_validate_json((tmp_path / "outputs" / MANIFEST).read_text())
    assert written.outputs == (TensorInfo(name="output_0", dtype="float32", shape=(1, 2, 3, 4)),)
    assert written.versions == {"executorch": build.commit, "runner": build.recipe}
