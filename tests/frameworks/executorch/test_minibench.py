"""ExecuTorch's own Android app: what it is given, and what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frameworks.executorch import create, minibench
from harness.config.settings import Settings
from harness.core.app import App
from harness.core.benchmark import Benchmark, ModelFile, SpecificationPlace
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkUnsupported
from harness.core.scenario import Arrival, Pattern

APP = App(package="org.pytorch.minibench", activity=".BenchmarkActivity")
BUILD = Build(source="app", commit=APP.package)


def entry(metric: str, value: object) -> dict[str, object]:
    model = {"name": "mv2", "backend": "xnnpack", "quantization": "q8"}
    device = {"device": "Pixel 8", "arch": "arm64-v8a", "os": "Android 15", "totalMem": 8, "availMem": 4}
    return {"benchmarkModel": model, "metric": metric, "actualValue": value, "targetValue": 0, "deviceInfo": device}


@pytest.fixture
def benchmark_of_app(benchmark_of_add: Benchmark) -> Benchmark:
    model = ModelFile(
        key="files.model", filename="add.pte", location="/x", origin=SpecificationPlace(file=Path("add.json"))
    )
    return benchmark_of_add.model_copy(update={"app": APP, "files": (model,), "iterations": 7, "warmup": 2})


def test_the_app_receives_the_model_folder_and_the_iteration_counts(benchmark_of_app: Benchmark) -> None:
    command = create(Settings()).command(benchmark_of_app, BUILD, {"files.model": "/data/a b/add.pte"})
    assert command.argv == ("model_dir", "/data/a b", "num_iter", "7", "num_warm_up_iter", "2")
    assert command.app == APP.model_copy(update={"result": "files/benchmark_results.json"})


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"threads": 2}, "a number of threads"),
        ({"time_limit_s": 1.0}, "a time limit"),
        ({"arrival": Arrival(pattern=Pattern.PERIODIC, interval_s=0.1)}, "an arrival of executions"),
        ({"long_run_s": 600.0}, "a long run"),
        ({"variables": {"method": "decode"}}, "a method"),
        ({"arguments": "--seq_len 8"}, "`command_args`"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_settings_that_the_app_does_not_accept_are_unsupported(
    benchmark_of_app: Benchmark, members: dict[str, object], words: str
) -> None:
    with pytest.raises(BenchmarkUnsupported, match=words):
        minibench.compose(benchmark_of_app.model_copy(update=members), APP, {"files.model": "/d/add.pte"})


def test_environment_and_cpus_are_passed_to_the_platform(benchmark_of_app: Benchmark) -> None:
    requested = benchmark_of_app.model_copy(update={"env": {"A": "1"}, "cpus": (4,)})
    command = minibench.compose(requested, APP, {"files.model": "/d/add.pte"})
    assert (command.env, command.cpus) == ({"A": "1"}, (4,))


def test_averages_of_the_app_become_metrics_with_units(benchmark_of_app: Benchmark) -> None:
    entries = [entry("avg_inference_latency(ms)", 1.5), entry("model_load_time(ms)", 20), entry("load_status", 0)]
    completed = Completed(Command(("model_dir", "/d"), app=APP), 0, stdout=json.dumps(entries))
    observations, notes = create(Settings()).parse([completed], benchmark_of_app)
    assert {observation.name: (observation.unit, observation.summary) for observation in observations} == {
        "NET latency": ("ms", {"mean": 1.5}),
        "RUN load_time": ("ms", {"mean": 20.0}),
        "NET load_status": ("", {"mean": 0.0}),
    }
    assert not notes


def test_a_model_that_was_not_loaded_is_reported() -> None:
    observations, (note,) = minibench.parse(json.dumps([entry("load_status", 34)]))
    assert not observations
    assert "the model was not loaded: load_status 34" in note.message


@pytest.mark.slow
@given(st.text() | st.recursive(st.none() | st.floats() | st.text(), st.lists).map(json.dumps))
def test_arbitrary_output_of_the_app_gives_metrics_or_a_note(text: str) -> None:
    observations, notes = minibench.parse(text)
    assert not observations
    assert notes or json.loads(text) == []
