"""What `harness evaluate` takes from a specification: one benchmark of each exported program, with examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.errors import BenchmarkFailed, UsageError
from harness.core.examples import Stage
from harness.flows.evaluate.evaluate import EvaluationRequest, evaluate, plan_evaluation
from harness.flows.measure.compared import is_evaluated
from harness.flows.measure.evaluation import plan_comparisons
from harness.flows.measure.references import _prepare
from harness.flows.measure.workload import load_benchmarks
from harness.testing.progress import RecordedProgress

MODEL: dict[str, Any] = {
    "name": "toy",
    "format": "executorch",
    "framework": "executorch",
    "files": {"model": {"filename": "{backend}.pte", "export": {"definition": "mlp", "recipe": "{backend}"}}},
}
TEST: dict[str, Any] = {
    "metric": "delay",
    "identifier": "{backend}-t{threads}",
    "matrix": {"backend": ["portable", "xnnpack_q8"], "threads": [1, 2]},
}


def benchmarks(folder: Path, model: dict[str, Any] = MODEL, **test: object) -> tuple[Benchmark, ...]:
    path = folder / "spec.json"
    path.write_text(json.dumps({"model": model, "tests": [{**TEST, **test}]}))
    return load_benchmarks(Settings(benchmark_file=(path,)))


def test_each_program_is_evaluated_once_with_random_examples(tmp_path: Path) -> None:
    planned = plan_evaluation(benchmarks(tmp_path), EvaluationRequest())
    assert [benchmark.identifier for benchmark in planned] == ["portable-t1", "xnnpack_q8-t1"]
    assert all(is_evaluated(benchmark) for benchmark in planned)
    assert {benchmark.data.provider for benchmark in planned if benchmark.data} == {"random"}


def test_evaluating_leaves_the_digest_and_with_it_the_series_of_latencies(tmp_path: Path) -> None:
    loaded = benchmarks(tmp_path)
    planned = plan_evaluation(loaded, EvaluationRequest(provider="digits", examples=7, layers=True))
    assert [benchmark.digest for benchmark in planned] == [loaded[0].digest, loaded[2].digest]
    data = planned[0].data
    assert data is not None
    assert (data.provider, data.count) == ("digits", 7)


def test_a_specification_without_an_export_has_nothing_to_evaluate(tmp_path: Path) -> None:
    model = {**MODEL, "files": {"model": {"filename": "x.pte", "location": "x.pte"}}}
    with pytest.raises(UsageError, match="nothing to evaluate") as caught:
        plan_evaluation(benchmarks(tmp_path, model, matrix={"backend": ["a"], "threads": [1]}), EvaluationRequest())
    assert "`export`" in str(caught.value.hint)


def test_a_misspelt_provider_is_told_before_anything_is_exported(tmp_path: Path) -> None:
    benchmarks(tmp_path)
    settings = Settings(benchmark_file=(tmp_path / "spec.json",))
    with pytest.raises(UsageError, match="digitz") as caught:
        evaluate(EvaluationRequest(provider="digitz"), settings, RecordedProgress())
    assert "digits" in str(caught.value.hint)


def test_tests_of_accuracy_without_data_judge_themselves(tmp_path: Path) -> None:
    assert not any(is_evaluated(benchmark) for benchmark in benchmarks(tmp_path, metric="accuracy"))


def test_a_list_of_metrics_with_accuracy_and_no_data_is_no_success(tmp_path: Path) -> None:
    (first, *_) = benchmarks(tmp_path, metric=["delay", "accuracy"])
    assert is_evaluated(first)
    with pytest.raises(BenchmarkFailed, match="no `data` to evaluate with"):
        _prepare(first, object(), Settings(), RecordedProgress())  # type: ignore[arg-type]


def test_a_program_with_commands_judges_its_outputs_itself(tmp_path: Path) -> None:
    (first, *_) = benchmarks(tmp_path, metric=["delay", "accuracy"], commands=["{program} {backend} {threads}"])
    assert not is_evaluated(first)


def test_every_stage_is_compared_with_the_eager_model_and_runtimes_with_what_they_run() -> None:
    eager, exported, quantised, host, device = Stage
    assert list(plan_comparisons((device, host, quantised, exported, eager))) == [
        *((stage, eager) for stage in Stage),
        (host, quantised),
        (device, quantised),
        (device, host),
    ]
    assert list(plan_comparisons((eager, exported, host))) == [(eager, eager), (exported, eager), (host, eager)]


def test_the_command_that_repeats_an_evaluation_names_what_was_asked_for() -> None:
    request = EvaluationRequest(provider="digits", examples=7, layers=True)
    assert request.command == ("harness", "evaluate", "--data", "digits", "--examples", "7", "--layers")
    assert EvaluationRequest().command == ("harness", "evaluate")
