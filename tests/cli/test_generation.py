"""Generations from the command line: a real program with known times, and what every definition makes of them."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.project import Project, generic, one_test

PROMPT, NEW, GENERATIONS = 32, 6, 3
PREFILL_S, FIRST_S, GAP_S = 0.030, 0.002, 0.010

GENERATOR = f"""
import json, sys, time

def wait_until(due):
    while time.monotonic_ns() < due:
        time.sleep(0.0005)
    return time.monotonic_ns()

generations = []
for _ in range({GENERATIONS}):
    began = time.monotonic_ns()
    prefill = wait_until(began + {int(PREFILL_S * 1e9)}) - began
    due = began + prefill + {int(FIRST_S * 1e9)}
    times = []
    for _ in range({NEW}):
        times.append(wait_until(due) - began)
        due = began + times[-1] + {int(GAP_S * 1e9)}
    generations.append(dict(prompt_tokens={PROMPT}, prefill_ns=prefill, token_times_ns=times, tokens=[7] * {NEW}))
for generation in generations:
    print("PyTorchObserver " + json.dumps(dict(generation=generation)))
with open(sys.argv[1], "w") as kept:
    json.dump(generations, kept)
"""
"""Tokens at known instants; where the machine is late, the instants that the program kept are the known ones."""


def _expect(kept: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Return the samples of each definition in seconds and tokens per second, by arithmetic of its own."""
    prefill = [generation["prefill_ns"] / 1e9 for generation in kept]
    times = [[time / 1e9 for time in generation["token_times_ns"]] for generation in kept]
    first = [stamps[0] for stamps in times]
    whole = [stamps[-1] for stamps in times]
    decode = [(NEW - 1) / (end - begin) for begin, end in zip(first, whole, strict=True)]
    prompt = [PROMPT / seconds for seconds in prefill]
    return {
        "LLM decode_rate": decode,
        "LLM time_to_first_token": first,
        "LLM prefill_rate": prompt,
        "LLM token_latency": [stamps[i] - stamps[i - 1] for stamps in times for i in range(1, NEW)],
        "LLM generation_time": whole,
        "llama_bench prefill_rate": prompt,
        "llama_bench decode_rate": decode,
        "llama_bench prompt_and_decode_rate": [(PROMPT + NEW) / seconds for seconds in whole],
        "mlperf_client time_to_first_token": first,
        "mlperf_client decode_rate": decode,
        "executorch_stats prompt_rate": [PROMPT / seconds for seconds in first],
        "executorch_stats decode_rate": decode,
        "executorch_stats inference_rate": [(NEW - 1) / seconds for seconds in whole],
    }


def test_definitions_agree_with_a_program_of_known_times(project: Project, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    command = shlex.join((sys.executable, "-c", GENERATOR, str(kept)))
    outcome = project.harness("run", project.write("known.json", generic(one_test("known", command))))
    (result,) = outcome.read()
    assert result["outcome"] == "ok", outcome.stdout
    metrics = {metric["name"]: metric for metric in result["metrics"]}
    scale = {"ns": 1e-9, "tokens/s": 1.0}
    generations = json.loads(kept.read_text())
    expected = _expect(generations)
    for name, samples in expected.items():
        factor = scale[metrics[name]["unit"]]
        assert [value * factor for value in metrics[name]["samples"]] == pytest.approx(samples, rel=0.01), name
    assert {name for name in metrics if name.split()[0] != "RUN"} - {"LLM tokens"} == set(expected)
    assert max(expected["LLM decode_rate"]) <= 1 / GAP_S
    assert min(expected["LLM time_to_first_token"]) >= PREFILL_S + FIRST_S
    latency = metrics["LLM token_latency"]["summary"]
    assert latency["p50"] <= latency["p90"] <= latency["p99"] <= max(metrics["LLM token_latency"]["samples"])
