"""ExecuTorch's app for iPhones: which tests are a model's, and their metrics."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frameworks.executorch import benchmark_app, create
from harness.config.settings import Settings
from harness.core.app import App
from harness.core.benchmark import Benchmark, ModelFile, SpecificationPlace
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkUnsupported
from harness.core.scenario import Arrival, Pattern

APP = App(package="org.pytorch.executorch.Benchmark", tests="Tests.xctest")
BUILD = Build(source="app", commit=APP.package)
ORIGIN = SpecificationPlace(file=Path("mv2.json"))


def measured(test: str, metric: str, values: str) -> str:
    return (
        f"/x.mm:9: Test Case '-[GenericTests {test}]' measured [{metric}] average: 0.001, relative standard deviation: "
        f"1.000%, values: [{values}], performanceMetricID:x, polarity: prefers smaller\n"
    )


@pytest.fixture
def mv2(benchmark_of_add: Benchmark) -> Benchmark:
    model = ModelFile(key="files.model", filename="mv2-xnnpack_q8.pte", location="/x", origin=ORIGIN)
    members = {"app": APP, "files": (model,), "iterations": -1, "warmup": -1}
    return benchmark_of_add.model_copy(update=members)


def test_the_words_are_the_files_of_the_bundle_the_model_first(mv2: Benchmark) -> None:
    tokenizer = ModelFile(key="files.tokenizer", filename="tokenizer.bin", location="/t", origin=ORIGIN)
    benchmark = mv2.model_copy(update={"files": (tokenizer, *mv2.files), "env": {"A": "1"}})
    paths = {"files.model": "D/0/mv2-xnnpack_q8.pte", "files.tokenizer": "D/0/tokenizer.bin", "program": "app:x"}
    command = create(Settings()).command(benchmark, BUILD, paths)
    assert command.argv == ("D/0/mv2-xnnpack_q8.pte", "D/0/tokenizer.bin")
    assert (command.app, command.env) == (APP, {"A": "1"})


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"threads": 2}, "a number of threads"),
        ({"iterations": 50}, "50 iterations: it has 20"),
        ({"warmup": 10}, "10 warm-up iterations: it has 1"),
        ({"time_limit_s": 1.0}, "a time limit"),
        ({"arrival": Arrival(pattern=Pattern.PERIODIC, interval_s=0.1)}, "an arrival of executions"),
        ({"long_run_s": 600.0}, "a long run"),
        ({"variables": {"method": "decode"}}, "a method"),
        ({"arguments": "--seq_len 8"}, "`command_args`"),
        ({"operators": True}, "times of operators"),
        ({"input_files": (ModelFile(key="input_files.x", filename="x", location="/x", origin=ORIGIN),)}, "input files"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_settings_that_the_app_does_not_accept_are_unsupported(
    mv2: Benchmark, members: dict[str, object], words: str
) -> None:
    with pytest.raises(BenchmarkUnsupported, match=words):
        benchmark_app.compose(mv2.model_copy(update=members), APP, {"files.model": "D/mv2-xnnpack_q8.pte"})


@pytest.mark.parametrize("name", ["mv2.bin", "my model.pte", "mv2=.pte"])
def test_a_name_that_makes_no_test_is_unsupported(mv2: Benchmark, name: str) -> None:
    with pytest.raises(BenchmarkUnsupported, match="no tests for a model named"):
        benchmark_app.compose(mv2, APP, {"files.model": f"D/{name}"})


def test_figures_of_the_app_s_own_iterations_are_accepted(mv2: Benchmark) -> None:
    same = mv2.model_copy(update={"iterations": 20, "warmup": 1})
    assert benchmark_app.compose(same, APP, {"files.model": "D/mv2.pte"}).argv == ("D/mv2.pte",)


def test_values_of_the_model_s_tests_become_samples_in_our_units(mv2: Benchmark) -> None:
    name = "mv2_xnnpack_q8_pte_iOS_17_2_1_iPhone15_4"
    log = (
        measured(f"test_forward_{name}", "Clock Monotonic Time, s", "0.001912, 0.002088")
        + measured(f"test_forward_{name}", "Memory Peak Physical, kB", "23085.728000, 23102.112000")
        + measured(f"test_load_{name}", "Clock Monotonic Time, s", "0.020001")
        + measured(f"test_load_{name}", "Memory Peak Physical, kB", "16.384")
        + measured("test_forward_mv2_xnnpack_q8_pte_2_pte_iOS_17_2_1_iPhone15_4", "Clock Monotonic Time, s", "9.0")
        + measured("test_forward_mv3_pte_iOS_17_2_1_iPhone15_4", "Clock Monotonic Time, s", "8.0")
    )
    completed = Completed(Command((), app=APP), 0, stdout=log)
    observations, notes = create(Settings()).parse([completed], mv2)
    assert {each.name: (each.unit, each.samples) for each in observations} == {
        "NET latency": ("us", (1912.0, 2088.0)),
        "RUN peak_memory": ("bytes", (23085728.0, 23102112.0)),
        "RUN load_time": ("us", (20001.0,)),
        "RUN peak_load_memory": ("bytes", (16384.0,)),
    }
    assert not notes


def test_tests_of_generation_name_their_tokenizer(mv2: Benchmark) -> None:
    tokenizer = ModelFile(key="files.tokenizer", filename="tokenizer.bin", location="/t", origin=ORIGIN)
    name = "test_generate_mv2_xnnpack_q8_pte_tokenizer_bin_iPadOS_18_5_iPad14_3"
    log = measured(name, "Tokens Per Second, t/s", "31.5, 32.0") + measured(name, "Clock Monotonic Time, s", "1.5")
    observations, _ = benchmark_app.parse(log, mv2.model_copy(update={"files": (*mv2.files, tokenizer)}))
    assert {each.name: (each.unit, each.samples) for each in observations} == {
        "LLM decode_rate": ("tokens/s", (31.5, 32.0)),
        "LLM generate_time": ("us", (1500000.0,)),
    }


def test_a_log_without_the_model_s_tests_names_those_that_it_has(mv2: Benchmark) -> None:
    log = measured("test_forward_mv3_pte_iOS_17_2_1_iPhone15_4", "Clock Monotonic Time, s", "8.0")
    observations, (note,) = benchmark_app.parse(log, mv2)
    assert not observations
    assert "no test of this model, but test_forward_mv3_pte" in note.message
    assert not note.trust


def test_a_failed_run_has_no_figures(mv2: Benchmark) -> None:
    log = measured("test_forward_mv2_xnnpack_q8_pte_iOS_17_2_1_iPhone15_4", "Clock Monotonic Time, s", "8.0")
    assert create(Settings()).parse([Completed(Command((), app=APP), 1, stdout=log)], mv2) == ((), ())


_PIECES = [
    "Test Case '-[A test_forward_a_b_pte_iOS_17_x]' ",
    "measured [",
    "Clock, s] average: 1",
    ", values: [1",
    "]",
    "\n",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(st.sampled_from(_PIECES)))
def test_arbitrary_logs_are_no_error(mv2: Benchmark, pieces: list[str]) -> None:
    model = mv2.files[0].model_copy(update={"filename": "a(b.pte"})
    observations, notes = benchmark_app.parse("".join(pieces), mv2.model_copy(update={"files": (model,)}))
    assert observations or notes or "measured [" not in "".join(pieces)
