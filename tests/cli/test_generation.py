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


def test_a_line_of_each_token_is_enough(project: Project) -> None:
    program = "print('prompt of 4 tokens at 100', *('token %d at %d' % (n, 110 + 10 * n) for n in range(5)), sep='\\n')"
    arguments = {
        "start": "prompt of <prompt_tokens> tokens at <time>",
        "token": "token <token> at <time>",
        "unit": "ms",
    }
    test = one_test("lines", shlex.join((sys.executable, "-c", program)))
    converter = {"name": "token_lines", "args": arguments}
    outcome = project.harness("run", project.write("lines.json", generic(test, converter=converter)))
    (result,) = outcome.read()
    metrics = {metric["name"]: metric for metric in result["metrics"]}
    assert metrics["LLM decode_rate"]["samples"] == pytest.approx([100.0])
    assert metrics["LLM time_to_first_token"]["samples"] == pytest.approx([10e6])
    assert metrics["LLM token_latency"]["summary"]["n"] == 4


MLPERF_CLIENT = """
import json, pathlib, sys

folder = pathlib.Path(sys.argv[1]).parent
entry = {"Scenario Name": "Phi4mini", "Execution Provider Name": "llamacpp", "Benchmark Success": sys.argv[2] == "yes"}
entry["Error Message"] = "" if sys.argv[2] == "yes" else "Failed to create tokenizer"
entry["overall_results"] = {"Geomean Time to First Token": 0.5, "Geomean 2nd+ Token Generation Rate": 48.125}
(folder / "results.json").write_text(json.dumps(entry) + chr(10))
print("Benchmark Results")
"""


def test_results_of_mlperf_client_are_an_output_file(project: Project) -> None:
    program = shlex.join((sys.executable, "-c", MLPERF_CLIENT))
    test = one_test(
        "fine",
        f"{program} {{output_files.results}} {{success}}",
        iter=2,
        output_files={
            "results": {
                "filename": "results.json",
                "location": "{TGTDIR}/results.json",
                "converter": {"name": "json_converter"},
            }
        },
    )
    tests = [
        {**test, "identifier": word, "commands": [command.replace("{success}", word) for command in test["commands"]]}
        for word in ("yes", "no")
    ]
    outcome = project.harness("run", project.write("client.json", generic(*tests)))
    fine, failed = outcome.read()
    assert outcome.code == 4
    metrics = {metric["name"]: metric for metric in fine["metrics"]}
    assert metrics["mlperf_client decode_rate"]["samples"][0] == 48.125
    assert metrics["mlperf_client time_to_first_token"]["unit"] == "s"
    assert "48.1 tokens/s" in outcome.stdout
    assert failed["outcome"] == "failed"
    assert "Failed to create tokenizer" in failed["reason"]
    assert not any("decode_rate" in metric["name"] for metric in failed["metrics"])


LLAMA_MAIN = Path(__file__).parents[1] / "frameworks" / "executorch" / "recorded" / "llama_main.txt"
"""What a real one printed; test_llama_main.py has its origin."""


def test_a_given_llama_main_is_measured_by_its_rate_of_new_tokens(project: Project, tmp_path: Path) -> None:
    program = tmp_path / "llama_main"
    flags = b"\0model_path\0tokenizer_path\0prompt\0temperature\0max_new_tokens\0warmup\0"
    program.write_bytes(b"#!/bin/sh\ncat <<'END'\n" + LLAMA_MAIN.read_bytes() + b"END\nexit 0\n" + flags)
    program.chmod(0o755)
    for name in ("m.pte", "t.json"):
        (project.folder / name).write_text(name)
    specification = {
        "model": {
            "name": "lm",
            "format": "executorch",
            "framework": "executorch",
            "files": {
                "model": {"filename": "m.pte", "location": "m.pte"},
                "tokenizer": {"filename": "t.json", "location": "t.json"},
            },
        },
        "tests": [
            {
                "metric": "generation",
                "identifier": "sky",
                "repeat": 2,
                "generation": {"prompt": "Why is the sky blue?", "new_tokens": 24},
            }
        ],
    }
    outcome = project.harness("run", project.write("lm.json", specification), "--program", program)
    assert outcome.code == 0, outcome.stderr
    (result,) = outcome.read()
    assert "LLM generate_tokens_per_second" in outcome.stdout
    assert "--prompt=Why is the sky blue?" in result["launches"][0]["commands"][0]


@pytest.mark.slow
def test_what_two_programs_print_that_they_generate_is_compared(project: Project) -> None:
    sides = []
    for side, last in (("control", 9), ("treatment", 5)):
        stream = {"prompt_tokens": 4, "token_times_ns": [5e6, 6e6, 7e6], "tokens": [7, 8, last]}
        program = project.folder / side
        program.write_text(f"#!/bin/sh\necho 'PyTorchObserver {json.dumps({'generation': stream})}'\n")
        program.chmod(0o755)
        sides += [f"--{side}-program", str(program)]
    test = one_test(
        "lm", "{program} {generation.new_tokens}", metric="generation", generation={"prompt_tokens": 4, "new_tokens": 3}
    )
    specification = project.write("two.json", generic(test))
    outcome = project.harness("compare", "-b", specification, *sides, "--pairs", "2")
    assert "first at new token 3 of 3, 5 instead of 9" in outcome.stdout, outcome.stderr
