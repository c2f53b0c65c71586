"""The delegate of OpenVINO, with the real library: what it computes, in which precision, with how many threads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from frameworks.executorch import openvino
from frameworks.executorch.exporting.exporter import EXPORTER
from frameworks.exporting.models import prepare
from harness import shell
from harness.core.benchmark import Export
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.testing.progress import RecordedProgress
from tests.frameworks.nncf_packages import provide_nncf

pytestmark = pytest.mark.slow

WORST_ERROR = {"f32": 1e-5, "bf16": 2e-2}
"""Relative L2 distance from the eager model."""


@dataclass(frozen=True)
class Mlp:
    """A program, its input in a file, and what the eager model makes of that."""

    program: Path
    input: Path
    expected: np.ndarray[tuple[int, ...], np.dtype[np.float32]]


@pytest.fixture(scope="module", autouse=True)
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The extra `openvino`."""
    with provide_nncf(tmp_path_factory):
        yield


@pytest.fixture(scope="module")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> Mlp:
    folder = tmp_path_factory.mktemp("openvino")
    export = Export(definition="mlp", recipe="openvino")
    with RecordedProgress().task("export") as task:
        report = EXPORTER.export(export, folder / "mlp.pte", task)
    assert report.delegation is not None
    assert (report.delegation.subgraphs, set(report.delegation.non_delegated)) == (1, {"getitem"})
    assert report.versions["openvino"].startswith("2025.")
    prepared = prepare(export)
    (example,) = prepared.example_inputs
    (folder / "input.bin").write_bytes(example.contiguous().numpy().tobytes())
    with torch.no_grad():
        expected = prepared.module(example).numpy()
    return Mlp(folder / "mlp.pte", folder / "input.bin", expected)


def start(build: Build, program: Path, *arguments: str) -> Completed:
    argv = (str(build.programs["program"]), "--model", str(program), "--iter", "3", "--warmup", "1", *arguments)
    return shell.run(Command(argv, env=openvino.environment(build), timeout_s=120))


def compute(build: Build, mlp: Mlp, *arguments: str) -> Completed:
    outputs = ("--inputs", str(mlp.input), "--outputs", str(mlp.program.with_name("output")))
    return start(build, mlp.program, *outputs, *arguments)


def error_of(mlp: Mlp) -> float:
    output = np.fromfile(mlp.program.with_name("output-0.bin"), np.float32).reshape(mlp.expected.shape)
    return float(np.linalg.norm(output - mlp.expected) / np.linalg.norm(mlp.expected))


def texts(completed: Completed, metric: str) -> Sequence[str]:
    lines = completed.stdout.splitlines()
    entries = [json.loads(line.partition(" ")[2]) for line in lines if line.startswith("PyTorchObserver ")]
    return [entry.get("info_string", entry.get("value")) for entry in entries if entry["metric"] == metric]


def test_it_computes_what_the_model_computes_in_the_precision_that_it_tells(native: Build, mlp: Mlp) -> None:
    completed = compute(native, mlp)

    assert completed.ok, completed.stderr
    (precision,) = texts(completed, "openvino_precision")
    assert error_of(mlp) < WORST_ERROR[precision]
    assert texts(completed, "openvino")[0].startswith("2025.")


def test_the_native_runner_sets_precision_and_threads(native: Build, mlp: Mlp) -> None:
    completed = compute(native, mlp, "--threads", "2", "--openvino-precision", "f32")

    assert completed.ok, completed.stderr
    assert texts(completed, "openvino_precision") == ["f32"]
    assert texts(completed, "openvino_threads") == ["2"]
    assert error_of(mlp) < WORST_ERROR["f32"]


def test_a_precision_that_this_machine_does_not_have_is_no_success(native: Build, mlp: Mlp) -> None:
    completed = compute(native, mlp, "--openvino-precision", "bf16")

    if completed.ok:
        assert texts(completed, "openvino_precision") == ["bf16"]
        assert 1e-6 < error_of(mlp) < WORST_ERROR["bf16"]
    else:
        assert completed.exit_code == 3
        assert "on CPU, not in bf16" in completed.stderr


def test_a_precision_that_openvino_would_claim_and_not_compute_in_is_refused(native: Build, mlp: Mlp) -> None:
    completed = compute(native, mlp, "--openvino-precision", "f16")

    assert completed.exit_code == 2
    assert "not ExecuTorch's programs" in completed.stderr


def test_a_precision_for_a_program_without_openvino_is_refused(native: Build, programs: Path) -> None:
    completed = start(native, programs / "add.pte", "--openvino-precision", "f32")

    assert completed.exit_code == 3
    assert completed.stderr.endswith("the program has no OpenVINO delegate to set it for\n")


def test_the_python_runner_says_that_it_does_not_know_the_precision(python: Build, mlp: Mlp) -> None:
    completed = compute(python, mlp)

    assert completed.ok, completed.stderr
    assert texts(completed, "openvino_precision") == [openvino.UNKNOWN]
    assert error_of(mlp) < WORST_ERROR["bf16"]


def test_a_missing_library_is_told_with_the_command_that_installs_it(
    build: Build, mlp: Mlp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENVINO_LIB_PATH", "/nonexistent/libopenvino_c.so")

    completed = start(build, mlp.program)

    assert completed.exit_code == 3
    assert "OpenVINO runtime not found" in completed.stderr
    assert "(install the extra `openvino`, whose command `harness doctor` shows" in completed.stderr


NEWER = """
struct version { const char* build; const char* description; };
int ov_get_openvino_version(struct version* version) { version->build = "2026.4.1-22982-0"; return 0; }
void ov_version_free(struct version* version) { version->build = 0; }
"""
"""A library that says which release it is, as that of 2026.4.1 does: running a program with that ends in a crash."""


def test_a_release_that_reads_freed_memory_is_refused(
    build: Build, mlp: Mlp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "newer.c").write_text(NEWER)
    library = tmp_path / "libopenvino_c.so"
    compiled = shell.run(Command(("g++", "-x", "c", "-shared", "-fPIC", str(tmp_path / "newer.c"), "-o", str(library))))
    assert compiled.ok, compiled.stderr
    monkeypatch.setenv("OPENVINO_LIB_PATH", str(library))

    completed = start(build, mlp.program)

    assert (completed.exit_code, completed.stdout) == (3, "")
    assert "error: OpenVINO 2026.4.1 reads the model's weights from memory that" in completed.stderr
    assert "install the extra `openvino`" in completed.stderr


def test_programs_without_openvino_run_beside_any_release(
    build: Build, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENVINO_LIB_PATH", "/nonexistent/libopenvino_c.so")
    assert start(build, programs / "add.pte").ok
