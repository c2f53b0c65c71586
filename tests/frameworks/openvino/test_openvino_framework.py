"""OpenVINO as a framework, with the real library."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from frameworks import openvino, pytorch
from frameworks.observations.observer import parse_lines
from harness import shell
from harness.config.settings import Settings
from harness.core.benchmark import Export
from harness.core.cached_files import ExportReport
from harness.core.command import Command, Completed
from harness.core.metric import Observation
from harness.display.quiet import QuietTask
from harness.files.digests import md5_of_file

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("openvino")]  # one process exports the model

Exported = tuple[Path, ExportReport]


def run(tmp_path: Path, *words: str | Path, framework: str = "openvino") -> Completed:
    create = {"openvino": openvino.create, "pytorch": pytorch.create}[framework]
    program = create(Settings(cache_dir=tmp_path / "cache"))._python_build().programs["program"]
    return shell.run(Command((str(program), *map(str, words)), timeout_s=300))


def metrics_of(completed: Completed) -> dict[str, Observation]:
    assert completed.ok, completed.stderr
    observations, notes = parse_lines(completed.stdout)
    assert not notes
    return {observation.name: observation for observation in observations}


def test_samples_threads_and_precision_are_observed(exported: Exported, tmp_path: Path) -> None:
    metrics = metrics_of(run(tmp_path, "--model", exported[0], "--threads", "1", "--warmup", "3", "--iter", "8"))
    assert (len(metrics["NET latency"].samples), len(metrics["NET cpu_time"].samples)) == (8, 8)
    assert (metrics["RUN threads"].samples, metrics["RUN precision"].info) == ((1.0,), "f32")
    assert (metrics["RUN runtime"].info or "").startswith("openvino 20")


def test_outputs_are_those_of_the_same_weights(exported: Exported, tmp_path: Path) -> None:
    eager = tmp_path / "eager.pt"
    report = pytorch.create(Settings(cache_dir=tmp_path / "cache")).export(
        Export(definition="mlp", recipe="eager"), eager, QuietTask()
    )
    assert report.weights_md5 == exported[1].weights_md5 is not None
    (tmp_path / "x.bin").write_bytes(struct.pack("<32f", *(value / 16 for value in range(32))))
    outputs = []
    for framework, model in (("openvino", exported[0]), ("pytorch", eager)):
        base = tmp_path / framework
        words = ("--examples", "2", "--inputs", tmp_path / "x.bin", "--outputs", base)
        completed = run(tmp_path, "--model", model, "--threads", "1", *words, framework=framework)
        assert completed.ok, completed.stderr
        outputs.append(struct.unpack("<20f", Path(f"{base}-0.bin").read_bytes()))
    assert outputs[0] == pytest.approx(outputs[1], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("option", "sentence"),
    [("device=GPU", "GPU cannot run the model"), ("streams=2", "does not compute with 1 threads")],
)
def test_what_openvino_does_not_do_is_refused(exported: Exported, tmp_path: Path, option: str, sentence: str) -> None:
    completed = run(tmp_path, "--model", exported[0], "--threads", "1", "--option", option)
    assert (completed.exit_code, completed.stdout) == (3, "")
    assert completed.stderr.splitlines()[-1].startswith("error: ")


@pytest.mark.exhaustive
def test_exports_of_two_processes_are_equal(exported: Exported, tmp_path: Path) -> None:
    again = tmp_path / "again.zip"
    openvino.create(Settings(cache_dir=tmp_path)).export(Export(definition="mlp", recipe="fp32"), again, QuietTask())
    assert md5_of_file(again) == md5_of_file(exported[0]) == exported[1].md5


def test_neither_the_runner_nor_the_export_reports_its_use(
    exported: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("CI", "TF_BUILD", "JENKINS_URL"):  # where OpenVINO is silent by itself
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    assert run(tmp_path, "--model", exported[0], "--iter", "1").ok
    openvino.create(Settings(cache_dir=tmp_path)).export(
        Export(definition="mlp", recipe="fp32"), tmp_path / "again.zip", QuietTask()
    )
    assert list((tmp_path / "home").rglob("*ga_cid")) == []  # the identifier that reports are sent with
