"""Results of `litert-benchmark`; recorded/README.md tells where they are from."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frameworks.tflite.litert_benchmark import is_json, is_text, parse_json, parse_text
from harness import shell
from harness.core.command import Command

RECORDED = Path(__file__).parent / "recorded"
TEXT = (RECORDED / "litert_benchmark.txt").read_text()
JSON = (RECORDED / "litert_benchmark.json").read_text()


def test_text_and_json_tell_the_same() -> None:
    assert is_text(TEXT)
    assert is_json(JSON)
    from_text, notes = parse_text(TEXT)
    assert not notes
    assert (from_text, notes) == parse_json(JSON)
    found = {observation.name: observation for observation in from_text}
    assert found["NET latency"].summary == {
        "mean": 8.12, "p0": 7.34, "p100": 8.89, "p50": 8.12, "stdev": 0.46, "p5": 7.49, "p95": 8.87, "n": 20,
    }  # fmt: skip
    assert list(found["RUN load_time"].samples) == [19.74]
    assert list(found["RUN first_iteration"].samples) == [8.95]
    assert found["RUN warmup_latency"].summary == {"mean": 9.02, "n": 3}
    assert list(found["RUN threads"].samples) == [1]
    assert found["RUN input_throughput"].unit == "MB/s"
    assert found["RUN fully_accelerated"].info == "true"


def test_launch_without_warm_up_has_no_first_iteration() -> None:
    text = TEXT.replace("9.02 ms (3 runs)", "0.00 ms (0 runs)").replace("8.95", "0.00")
    names = {observation.name for observation in parse_text(text)[0]}
    assert "NET latency" in names
    assert not {"RUN first_iteration", "RUN warmup_latency"} & names


@pytest.mark.parametrize(
    "text",
    [
        JSON[:200],
        "[" * 100_000,
        json.dumps({"latency": []}),
        json.dumps({"latency": {"avg_ms": True}}),
        JSON.replace("8.12", "NaN"),
        JSON.replace("8.12", "1" + "0" * 400),
        JSON.replace("8.12", "-1"),
    ],
)
def test_broken_json_is_noted(text: str) -> None:
    observations, notes = parse_json(text)
    assert "NET latency" not in {observation.name for observation in observations}
    assert notes
    assert not notes[0].trust


def test_cut_text_is_noted() -> None:
    observations, notes = parse_text(TEXT[: TEXT.index("Inference (avg)")])
    assert "NET latency" not in {observation.name for observation in observations}
    assert [note.code for note in notes] == ["lost_metric"]


@given(st.text())
def test_nothing_makes_it_raise(text: str) -> None:
    parse_text(text)
    parse_json(text)


@pytest.mark.slow
def test_the_real_tool_is_read(litert: None, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    module = "ai_edge_litert.tools.benchmark_litert_model"
    arguments = ("--model", str(RECORDED / "conv.tflite"), "--num_runs=7", "--warmup_runs=2", f"--result_json={result}")
    completed = shell.run(Command((sys.executable, "-m", module, *arguments), timeout_s=120))
    assert completed.ok, completed.describe()
    from_text, notes = parse_text(completed.stderr + completed.stdout)
    assert not notes
    assert (from_text, notes) == parse_json(result.read_text())
    found = {observation.name: observation for observation in from_text}
    latency = found["NET latency"].summary
    assert latency is not None
    assert latency["n"] == 7
    assert found["RUN fully_accelerated"].info == "true"
