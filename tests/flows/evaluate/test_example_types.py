"""Examples are converted to the precision that a program takes, and to nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from harness.core.benchmark import Benchmark, Export, Model, SpecificationPlace
from harness.core.build import Build
from harness.core.cached_files import CachedFile, ExportReport
from harness.core.errors import BenchmarkFailed
from harness.core.examples import DataRequest, Split, TensorInfo
from harness.core.measurement import Job
from harness.files.examples import read_examples, write_examples
from harness.flows.measure.example_types import fit_examples


def job(*dtypes: str) -> Job:
    inputs = tuple(TensorInfo(name=f"input_{n}", dtype=dtype, shape=(2,)) for n, dtype in enumerate(dtypes))
    export = Export(definition="toy", recipe="half")
    report = ExportReport(export=export, versions={}, md5="0" * 32, size_bytes=1, inputs=inputs)
    file = CachedFile(
        key="files.model", filename="x.pte", path=Path("x.pte"), md5="0" * 32, size_bytes=1, source="", report=report
    )
    benchmark = Benchmark(
        id=0,
        model=Model(name="toy", format="executorch"),
        identifier="toy",
        metric="delay",
        framework="executorch",
        origin=SpecificationPlace(file=Path("toy.json")),
        digest="d",
    )
    return Job(benchmark, Build(source="installed", commit="1"), {"files.model": file})


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    folder = tmp_path / "examples"
    inputs = [TensorInfo(name="x", dtype="float32", shape=(2,)), TensorInfo(name="i", dtype="int64", shape=(2,))]
    request = DataRequest(provider="random")
    with write_examples(folder, inputs, request=request, split=Split.EVALUATION, description="two") as writer:
        for number in range(2):
            writer.add([np.array([0.1, number], np.float32), np.array([number, 1], np.int64)], label=number)
    return folder


def test_floating_point_inputs_are_rounded_to_those_of_the_program(examples: Path, tmp_path: Path) -> None:
    fitted = read_examples(fit_examples(job("float16", "int64"), examples, tmp_path / "fitted"))
    assert [tensor.dtype for tensor in fitted.tensors] == ["float16", "int64"]
    assert fitted.manifest.labels == (0, 1)
    assert fitted.manifest.description == "two; as float16, int64"
    assert fitted[1][0].tolist() == [float(np.float16(0.1)), 1.0]
    assert fitted[1][1].tolist() == [1, 1]


def test_examples_that_fit_are_taken_as_they_are(examples: Path, tmp_path: Path) -> None:
    assert fit_examples(job("float32", "int64"), examples, tmp_path / "fitted") == examples
    assert fit_examples(replace(job(), files={}), examples, tmp_path / "fitted") == examples


def test_numbers_of_another_kind_are_refused(examples: Path, tmp_path: Path) -> None:
    with pytest.raises(BenchmarkFailed, match="float32, int64, and its program takes float32, float32"):
        fit_examples(job("float32", "float32"), examples, tmp_path / "fitted")
