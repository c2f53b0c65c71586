"""ONNX Runtime as a framework, with the real library."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from frameworks import onnxruntime, pytorch
from frameworks.observations.observer import parse_lines
from harness import shell
from harness.config.settings import Settings
from harness.core.benchmark import Export
from harness.core.command import Command, Completed
from harness.display.quiet import QuietTask
from harness.testing.frameworks import benchmark_of
from tests.frameworks.observed_threads import launch_on_threads

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `fp32.onnx`, `q8.onnx`, and the same model of PyTorch."""
    folder = tmp_path_factory.mktemp("onnx-models")
    settings = Settings(cache_dir=folder / "cache")
    weights = set()
    for create, recipe, name in (
        (onnxruntime.create, "fp32", "fp32.onnx"),
        (onnxruntime.create, "q8", "q8.onnx"),
        (pytorch.create, "eager", "eager.pt"),
    ):
        report = create(settings).export(Export(definition="mlp", recipe=recipe), folder / name, QuietTask())
        weights.add(report.weights_md5)
    assert len(weights) == 1
    write_product(folder / "product.onnx")
    return folder


def write_product(file: Path) -> None:
    """Write a model with work for many threads: of small products ONNX Runtime leaves all to one."""
    weights = numpy_helper.from_array(np.ones((512, 512), np.float32), "w")
    tensors = (helper.make_tensor_value_info(name, TensorProto.FLOAT, (64, 512)) for name in ("x", "y"))
    given, computed = ([tensor] for tensor in tensors)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "product", given, computed, [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)


def run(framework: str, tmp_path: Path, *words: str | Path) -> Completed:
    create = {"onnxruntime": onnxruntime.create, "pytorch": pytorch.create}[framework]
    program = create(Settings(cache_dir=tmp_path / "cache"))._python_build().programs["program"]
    alone = {"OMP_NUM_THREADS": "1"}  # threads of NumPy's BLAS spin for 30 ms after they were made
    return shell.run(Command((str(program), *map(str, words)), env=alone, timeout_s=300))


def test_outputs_are_those_of_the_same_weights(models: Path, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(struct.pack("<32f", *(value / 16 for value in range(32))))
    outputs = {}
    for framework, name in (("pytorch", "eager.pt"), ("onnxruntime", "fp32.onnx"), ("onnxruntime", "q8.onnx")):
        words = ("--examples", "2", "--inputs", tmp_path / "x.bin", "--outputs", tmp_path / name)
        completed = run(framework, tmp_path, "--model", models / name, "--threads", "1", *words)
        assert completed.ok, completed.stderr
        outputs[name] = struct.unpack("<20f", (tmp_path / f"{name}-0.bin").read_bytes())
    assert outputs["fp32.onnx"] == pytest.approx(outputs["eager.pt"], rel=1e-5, abs=1e-6)
    assert outputs["q8.onnx"] == pytest.approx(outputs["eager.pt"], abs=0.5)
    assert outputs["q8.onnx"] != pytest.approx(outputs["eager.pt"], rel=1e-5)


def test_options_are_applied_and_operators_are_timed(models: Path, tmp_path: Path) -> None:
    words = ("--model", models / "fp32.onnx", "--threads", "1", "--warmup", "3", "--iter", "6", "--operators")
    fused = run("onnxruntime", tmp_path, *words)
    plain = run("onnxruntime", tmp_path, *words, "--option", "graph_optimization=none")
    names = []
    for completed in (fused, plain):
        observations, notes = parse_lines(completed.stdout)
        assert not notes
        metrics = {observation.name: observation for observation in observations}
        assert len(metrics["NET latency"].samples) == 6
        assert metrics["RUN providers"].info == "CPUExecutionProvider"
        operators = [metric for metric in metrics.values() if metric.metric == "latency" and metric.type != "NET"]
        assert all(len(operator.samples) == 6 for operator in operators)
        names.append([operator.type for operator in operators])
    assert names == [["FusedGemm #1", "Gemm #1"], ["Gemm #1", "Relu #1", "Gemm #2"]]


@pytest.mark.parametrize(
    ("model", "words", "observed"),
    [
        ("product.onnx", ("1",), 1),
        ("product.onnx", ("2",), 2),
        ("fp32.onnx", ("2", "--option", "spinning=false"), 1),
    ],
)
def test_threads_are_observed_and_more_than_asked_for_are_noted(
    models: Path, tmp_path: Path, model: str, words: Sequence[str], observed: int
) -> None:
    limits = ("--iter", "20000", "--time-limit", "4")
    command: tuple[str | Path, ...] = ("--model", models / model, *limits, "--threads", *words)
    completed = launch_on_threads(lambda: run("onnxruntime", tmp_path, *command), observed)
    framework = onnxruntime.create(Settings(cache_dir=tmp_path / "cache"))
    for asked in (1, 2):
        observations, notes = framework.parse([completed], benchmark_of("onnxruntime", threads=asked))
        metrics = {observation.name: observation for observation in observations}
        assert "RUN threads" not in metrics  # ONNX Runtime does not tell
        assert list(metrics["RUN threads_observed"].samples) == [observed]
        assert ("threads_observed" in {note.code for note in notes if not note.trust}) == (observed > asked)


def test_a_provider_that_this_build_lacks_is_named(models: Path, tmp_path: Path) -> None:
    completed = run("onnxruntime", tmp_path, "--model", models / "fp32.onnx", "--option", "execution_provider=coreml")
    assert (completed.exit_code, completed.stdout) == (3, "")
    assert "has no CoreMLExecutionProvider; it has" in completed.stderr


@pytest.mark.parametrize("content", [b"", b"no model", b"\x08\x09" * 1000])
def test_files_that_are_no_models_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "net.onnx").write_bytes(content)
    completed = run("onnxruntime", tmp_path, "--model", tmp_path / "net.onnx")
    assert (completed.exit_code, completed.stdout) == (3, "")
    assert completed.stderr.splitlines()[-1].startswith("error: ")


@pytest.mark.exhaustive
def test_exports_of_two_processes_are_equal(models: Path, tmp_path: Path) -> None:
    framework = onnxruntime.create(Settings(cache_dir=tmp_path / "cache"))
    framework.export(Export(definition="mlp", recipe="fp32"), tmp_path / "again.onnx", QuietTask())
    assert (tmp_path / "again.onnx").read_bytes() == (models / "fp32.onnx").read_bytes()
