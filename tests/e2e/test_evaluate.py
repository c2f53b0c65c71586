"""Outputs of a lowered model against those of its origin: by the command, and from Python for a model in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

import harness
from harness.core.examples import Stage
from harness.core.result import Result
from harness.presentation.documents import ResultsDocument
from tests.cli.project import Project
from tests.e2e.groups import MEASURING

pytestmark = [pytest.mark.slow, MEASURING]

SPEC = {
    "model": {
        "name": "mlp",
        "format": "executorch",
        "framework": "executorch",
        "files": {"model": {"filename": "{backend}.pte", "export": {"definition": "mlp", "recipe": "{backend}"}}},
    },
    "tests": [
        {
            "metric": "delay",
            "identifier": "mlp-{backend}-t{threads}",
            "matrix": {"backend": ["portable", "xnnpack_q8"], "threads": [1, 2]},
            "inputs": {"x": {"shape": [1, 16], "type": "float"}},
            "warmup": 2,
            "iter": 5,
        }
    ],
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, tmp_path / "cache")


def test_each_program_is_compared_with_its_model_and_what_it_was_lowered_from(project: Project) -> None:
    page = project.folder / "page.html"
    words = (project.write("mlp.json", SPEC), "--examples", "8", "--reporter", f"html={page}", "--json")
    done = project.harness("evaluate", *words)
    assert done.code == 0, done.stderr
    results = [Result.model_validate(result) for result in done.read()]
    results.sort(key=lambda result: result.benchmark.identifier)
    assert [result.benchmark.identifier for result in results] == ["mlp-portable-t1", "mlp-xnnpack_q8-t1"]
    for result, stages in zip(results, (3, 4), strict=True):
        evaluation = result.evaluation
        assert evaluation is not None
        assert evaluation.data.examples == 8
        assert len({stage.stage for stage in evaluation.stages}) == stages
        assert evaluation.measured is evaluation.stage(Stage.HOST)
        assert result.reproduce.startswith("harness evaluate --examples 8 -b ")
    portable, quantised = (result.metric("OUTPUTS sqnr") for result in results)
    assert portable is not None
    assert portable.median is not None
    assert quantised is not None
    assert quantised.median is not None
    assert portable.median > 100
    assert 5 < quantised.median < 50
    assert "What lowering and quantisation cost" in page.read_text()
    assert "2 of 4 benchmarks left out" in done.stderr
    printed = {result.uid: result.evaluation for result in ResultsDocument.model_validate_json(done.stdout).results}
    assert printed == {result.uid: result.evaluation for result in results}


@pytest.mark.exhaustive
def test_a_model_in_memory_gives_its_outputs_and_latency(tmp_path: Path) -> None:
    import torch  # noqa: PLC0415 - slow

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    inputs = [torch.randn(1, 6) for _ in range(4)]
    evaluated = harness.evaluate(
        model,
        inputs,
        recipe="xnnpack_fp32",
        labels=[0, 1, 2, 0],
        local_reporter=tmp_path,
        model_cache=tmp_path / "cache",
    )
    expected = torch.stack([model(example) for example in inputs])
    assert torch.allclose(evaluated.outputs[0], expected, atol=1e-5)
    assert evaluated.latency_ms > 0
    measured = evaluated.evaluation.measured
    assert measured is not None
    assert measured.mcnemar is not None
    assert model.training, "the model is left as it was"
