"""Glow as a framework: its contract, and the figures of its programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from frameworks import glow
from frameworks.glow.output import parse_output
from frameworks.glow.trace import parse_trace
from harness.config.settings import Settings
from harness.core.benchmark import OutputFile
from harness.core.command import Command, Completed
from harness.core.metric import Observation
from harness.testing.frameworks import CHECKS, Check, FrameworkCase, benchmark_of

RECORDED = Path(__file__).parent / "recorded"


def _text(name: str) -> str:
    return (RECORDED / name).read_text()


TRANSPOSE = FrameworkCase(
    create=lambda: glow.create(Settings()),
    benchmark=benchmark_of("glow", commands=("{program}",)),
    output=_text("transpose_bench.txt"),
    observed={"NET TransposeBench:runtime": 3, "SECONDARY TransposeBench:throughput": 3},
    composes=False,
)
CASES = {
    "transpose_bench": TRANSPOSE,
    "add_bench": replace(TRANSPOSE, output=_text("add_bench.txt"), observed={"NET AddBench:runtime": 2}),
    "repro": replace(TRANSPOSE, output=_text("repro.txt"), observed={"NET Avg inference duration": 1}),
    "net_runner": replace(
        TRANSPOSE,
        output=_text("net_runner.txt"),
        observed={
            "NET glow net_runner inference": 2,
            "SECONDARY caffe2 net_runner inference": 1,
            "NET glow net_runner batch p50": 1,
            "SECONDARY caffe2 net_runner card inference p50": 1,
            "NET caffe2 vs glow abs error p99.9": 1,
            "NET qps": 2,
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_glow_keeps_the_contract(check: Check, name: str) -> None:
    check(CASES[name])


def _by_name(text: str) -> dict[str, Observation]:
    return {observation.name: observation for observation in parse_output(text)}


def test_repetitions_of_an_operator_are_seconds_and_gigabytes_per_second() -> None:
    metrics = _by_name(_text("transpose_bench.txt"))
    runtime, throughput = metrics["NET TransposeBench:runtime"], metrics["SECONDARY TransposeBench:throughput"]
    assert (runtime.unit, runtime.samples) == ("s", (0.012345, 0.012301, 0.01241))
    assert (throughput.unit, throughput.samples[0]) == ("GB/s", 4.249089)
    assert len(metrics) == 2, "summaries say the same again"


def test_durations_of_repro_have_units_of_time() -> None:
    units = {name: observation.unit for name, observation in _by_name(_text("repro.txt")).items()}
    assert units == {
        "NET Total inference duration": "ms",
        "NET Avg inference duration": "ms",
        "NET Avg inference per second": "inferences/s",
    }


def test_errors_are_those_of_the_pair_above_them() -> None:
    metrics = _by_name(_text("net_runner.txt"))
    assert metrics["NET caffe2 vs glow abs error p50"].samples == (0.0001,)
    assert "abs error p50: 3" not in _by_name("abs error p50: 3")


def test_a_trace_gives_the_time_of_each_span() -> None:
    output = OutputFile(key="output_files.trace", filename="trace", location="/d/trace")
    completed = Completed(Command(("x",)), 0, files={"output_files.trace": RECORDED / "trace"})
    observations, notes = TRANSPOSE.create().parse((completed,), benchmark_of("glow", output_files=(output,)))
    assert {observation.name: observation.samples for observation in observations} == {
        "NET inference_e2e": (1500.0, 1480.0),
        "SECONDARY fc_1": (700.0,),
    }
    assert not notes


@pytest.mark.parametrize(
    "line",
    [
        '{"name": "a", "dur": 1e400}',
        '{"name": "a", "dur": "3"}',
        '{"name": ["a"], "dur": 3}',
        '{"name": "a\\nb", "dur": 3}',
        '{"name": "a", "dur": true}',
        '{"dur": 3}',
        '{"a":' * 5000,
        '{"name": "' + "x" * 20_000 + '", "dur": 3}',
        "[1, 2",
    ],
)
def test_spans_that_cannot_be_are_left_out(line: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text(f'{line}\n{{"name": "fc", "dur": 3}},\n')
    observations, _ = parse_trace(trace)
    assert [observation.name for observation in observations] == ["SECONDARY fc"]


def test_a_missing_trace_is_noted(tmp_path: Path) -> None:
    observations, (note,) = parse_trace(tmp_path / "trace")
    assert not observations
    assert note.message.startswith("trace: ")


@pytest.mark.parametrize(
    "line",
    [
        "BenchResult,AddBench,SW,nan,inf",
        "BenchResult,AddBench,1,2",
        "BenchResult," + "x" * 300 + ",a,b,1,2",
        "individual inference latency [glow]: 12345678901234567890 us",
        "Avg inference duration (ms): 1e999",
        "latency per " + "[" * 1900,
        ": " * 900 + "vs (",
        "x" * 1_000_000,
    ],
)
def test_lines_that_cannot_be_are_no_figure(line: str) -> None:
    assert parse_output(line) == ()
