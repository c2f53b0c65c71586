"""ExecuTorch's own Android app in place of a runner, by its real protocol; the app itself is played by a script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.desk import Desk

pytestmark = pytest.mark.slow

PACKAGE = "org.pytorch.minibench"
MINIBENCH = r"""
while [ $# -gt 0 ]; do
  case $2 in
  model_dir) folder=$3 ;;
  num_iter) iterations=$3 ;;
  num_warm_up_iter) warmup=$3 ;;
  esac
  shift
done
set -- "$folder"/*.pte
[ -r "$1" ] || exit 1
mkdir -p files
entry() {
  printf '{"benchmarkModel": {"name": "%s", "backend": "xnnpack", "quantization": ""}, ' "${1##*/}"
  printf '"metric": "%s", "actualValue": %s, "targetValue": 0, "deviceInfo": {"device": "standin"}}' "$2" "$3"
}
{
  printf '['; entry "$1" 'avg_inference_latency(ms)' "$iterations.5"; printf ', '
  entry "$1" 'model_load_time(ms)' "$warmup"; printf ', '
  entry "$1" load_status 0; printf ']'
} >files/benchmark_results.json
sleep 30
"""
CRASH = "log -p e -t AndroidRuntime 'FATAL EXCEPTION: main java.lang.OutOfMemoryError'; exit 1"


@pytest.fixture
def spec(desk: Desk) -> Path:
    model = desk.project.write("net.pte", "a program")
    described: dict[str, Any] = {
        "name": "net",
        "format": "executorch",
        "framework": "executorch",
        "files": {"model": {"filename": "net.pte", "location": str(model)}},
        "app": {"package": PACKAGE, "activity": ".BenchmarkActivity"},
    }
    test = {"identifier": "net", "metric": "delay", "iter": 40, "warmup": 3, "timeout": 3}
    return desk.project.write("spec.json", {"model": described, "tests": [test]})


def install(desk: Desk, behaviour: str) -> str:
    """Lay the app down on a phone. Returns the phone's address."""
    desk.phones[0].write(f"/data/app-hooks/{PACKAGE}", behaviour)
    return desk.phones[0].serial


def test_the_averages_of_the_app_are_the_result(desk: Desk, spec: Path) -> None:
    done = desk.harness("-b", spec, on=install(desk, MINIBENCH))
    assert done.code == 0, done.stderr + done.stdout
    (result,) = done.read()
    metrics = {metric["name"]: metric for metric in result["metrics"]}
    assert metrics["NET latency"]["summary"]["mean"] == 40.5, "it was told the iterations"
    assert metrics["NET latency"]["unit"] == "ms"
    assert metrics["RUN load_time"]["summary"]["mean"] == 3, "and the warm-up"
    assert metrics["NET latency"]["samples"] == [], "an average is not taken for a sample"
    assert "-n" in result["launches"][0]["commands"][0]
    assert f"{PACKAGE}/.BenchmarkActivity" in json.dumps(result["launches"])
    assert "net" in done.stdout


@pytest.mark.parametrize(
    ("behaviour", "outcome", "words"),
    [
        pytest.param(CRASH, "failed", "OutOfMemoryError", id="crash"),
        pytest.param("sleep 300", "timeout", "did not end within 3 s", id="hang"),
        pytest.param("exit 0", "failed", "left no result", id="silence"),
    ],
)
def test_an_app_without_a_result_is_a_failure_with_a_reason(
    desk: Desk, spec: Path, behaviour: str, outcome: str, words: str
) -> None:
    done = desk.harness("-b", spec, on=install(desk, behaviour))
    assert done.code == 4
    (result,) = done.read()
    assert result["outcome"] == outcome
    assert words in result["reason"]


def test_an_app_that_is_not_installed_is_reported(desk: Desk, spec: Path) -> None:
    done = desk.harness("-b", spec, on=desk.phones[0].serial)
    assert done.code == 4
    (result,) = done.read()
    assert f"{PACKAGE} is not installed" in result["reason"]
    assert "install it" in result["hint"]


def test_an_app_that_is_given_as_a_program_is_installed(desk: Desk, spec: Path) -> None:
    package = desk.project.write(f"{PACKAGE}.apk", f"#!/system/bin/sh\n{MINIBENCH}")
    package.chmod(0o755)
    done = desk.harness("-b", spec, "--program", f"app={package}", on=desk.phones[0].serial)
    assert done.code == 0, done.stderr + done.stdout
    assert desk.phones[0].exists(f"/services/packages/{PACKAGE}")


def test_two_apps_that_are_given_are_compared_with_each_other(desk: Desk, spec: Path) -> None:
    sides: list[str] = []
    for side, behaviour in (
        ("control", MINIBENCH),
        ("treatment", MINIBENCH.replace("$iterations.5", "9$iterations.5")),
    ):
        package = desk.project.write(f"{side}/{PACKAGE}.apk", f"#!/system/bin/sh\n{behaviour}")
        sides += [f"--{side}-program", f"app={package}"]
    done = desk.harness("compare", "-b", spec, *sides, "--pairs", "1", on=desk.phones[0].serial)
    (result,) = done.read()
    assert result["outcome"] == "ok", (result["reason"], result["hint"])
    pairs = result["comparison"]["pairs"]
    assert {(pair["control"][0], pair["treatment"][0]) for pair in pairs} == {(40.5, 940.5)}, done.stderr


CHAT = r"""
say() { log -p i -t ExecuTorch "$1"; }
say '	Prompt Tokens: 17    Generated Tokens: 23'
say '	Model Load Time:		0.281000 (seconds)'
say '	Total inference time:		0.320000 (seconds)		 Rate: 	71.875000 (tokens/second)'
say '		Prompt evaluation:	0.030000 (seconds)		 Rate: 	566.666667 (tokens/second)'
say '	Time to first generated token:	0.030000 (seconds)'
log -p i -t Chat BENCHMARK_DONE
sleep 30
"""
"""App around ExecuTorch's LLM runner, whose statistics stand in the log alone."""


def test_the_report_of_a_language_model_in_the_log_of_an_app_is_the_result(desk: Desk, spec: Path) -> None:
    document = json.loads(spec.read_text())
    (test,) = document["tests"]
    generating = {key: test[key] for key in ("identifier", "timeout")}
    document["tests"] = [{**generating, "metric": "generation", "commands": ["--prompt hello"], "repeat": 2}]
    spec.write_text(json.dumps(document))
    done = desk.harness("-b", spec, on=install(desk, CHAT))
    assert done.code == 0, done.stderr + done.stdout
    (result,) = done.read()
    metrics = {metric["name"]: metric["samples"] for metric in result["metrics"]}
    assert metrics["LLM generate_tokens_per_second"] == pytest.approx([23 / 0.290] * 2)
    assert metrics["LLM time_to_first_token"] == pytest.approx([30, 30])
    assert "--es prompt hello" in " ".join(result["launches"][0]["commands"][0])


FLAGS = b"\0model_path\0tokenizer_path\0prompt\0temperature\0max_new_tokens\0warmup\0"
LLAMA_MAIN = b"""#!/system/bin/sh
for word; do
  case $word in --prompt=*) printf '%s' "${word#--prompt=}" ;; esac
done
echo
printf 'PyTorchObserver {"prompt_tokens": 9, "generated_tokens": 3, "inference_start_ms": 1000, '
echo '"prompt_eval_end_ms": 1100, "first_token_ms": 1100, "inference_end_ms": 1400}'
exit 0
"""
"""Program for phones that is recognised as ExecuTorch's llama_main, and prints its prompt."""


def test_a_prompt_reaches_llama_main_on_a_phone_as_it_is(desk: Desk, spec: Path) -> None:
    prompt = 'It\'s "$HOME" `date` \\n <b>\n; exit 1 # \u00fc'
    program = desk.project.write("llama_main", "")
    program.write_bytes(LLAMA_MAIN + FLAGS)
    program.chmod(0o755)
    document = json.loads(spec.read_text())
    model = document["model"]
    del model["app"]
    model["files"]["tokenizer"] = {"filename": "t.json", "location": str(desk.project.write("t.json", "{}"))}
    generation = {"prompt": prompt, "new_tokens": 4}
    document["tests"] = [{"identifier": "net", "metric": "generation", "timeout": 30, "generation": generation}]
    spec.write_text(json.dumps(document))
    done = desk.harness("-b", spec, "--program", program, on=desk.phones[0].serial)
    assert done.code == 0, done.stderr + done.stdout
    (result,) = done.read()
    metrics = {metric["name"]: metric for metric in result["metrics"]}
    assert metrics["LLM generate_tokens_per_second"]["samples"] == [10.0]
    assert metrics["LLM text"]["info"] == prompt
