"""Examples need shapes: a benchmark that names no inputs has those of its exported program."""

from __future__ import annotations

from pathlib import Path

from harness.core.benchmark import Input
from harness.core.cached_files import CachedFile, ExportReport
from harness.core.examples import TensorInfo
from harness.flows.measure.plan import file_key
from harness.flows.measure.references import _with_inputs
from tests.flows.evaluate.test_planning_an_evaluation import benchmarks


def test_inputs_of_the_program_stand_in_for_those_that_a_test_does_not_name(tmp_path: Path) -> None:
    benchmark = benchmarks(tmp_path)[0]
    (file,) = benchmark.files
    assert file.export is not None
    report = ExportReport(
        export=file.export,
        versions={},
        md5="m",
        size_bytes=1,
        inputs=(TensorInfo(name="x", dtype="float32", shape=(1, 8)),),
    )
    cached = CachedFile(
        key=file.key, filename="m", path=tmp_path / "m", md5="m", size_bytes=1, source="export", report=report
    )
    files = {file_key(file, benchmark): cached}
    assert _with_inputs(benchmark, files).inputs == (Input(name="x", shape=(1, 8)),)
    named = benchmark.model_copy(update={"inputs": (Input(name="y", shape=(2, 8)),)})
    assert _with_inputs(named, files) is named
    assert _with_inputs(benchmark, {}).inputs == ()
