"""Both runners, generating tokens: the same as eager torch, stamped, from an empty context each time."""

from __future__ import annotations

import array
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from frameworks.observations.token_streams import read_stream
from harness import shell
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.generation import TokenStream
from tests.frameworks.executorch.measuring.test_runner_turns import converse

pytestmark = pytest.mark.slow

PROGRAMS = ("dynamic", "last", "single", "int32")
NEW = 12


@pytest.fixture(scope="module")
def expected(language_models: Path) -> Mapping[str, Any]:
    """What eager torch generates."""
    tokens: dict[str, Any] = json.loads((language_models / "expected.json").read_text())
    return tokens


def generate(runner: Path, model: Path, *words: object) -> Completed:
    argv = (str(runner), "--model", str(model), "--threads", "1", "--generate", str(NEW), *map(str, words))
    return shell.run(Command(argv, timeout_s=120))


def observed(completed: Completed) -> list[dict[str, Any]]:
    assert completed.ok, completed.stderr
    lines = [line.removeprefix("PyTorchObserver ") for line in completed.stdout.splitlines()]
    return [json.loads(line) for line in lines]


def streams(completed: Completed) -> list[TokenStream]:
    return [TokenStream.model_validate(line["generation"]) for line in observed(completed) if "generation" in line]


def numbers(completed: Completed, metric: str) -> list[float]:
    return [float(line["value"]) for line in observed(completed) if line.get("metric") == metric and "value" in line]


@pytest.mark.parametrize("program", PROGRAMS)
def test_new_tokens_are_those_of_eager_torch(
    program: str, runner: Path, language_models: Path, expected: Mapping[str, Any]
) -> None:
    completed = generate(
        *(runner, language_models / f"{program}.pte", "--prompt", language_models / "prompt.bin"),
        *("--warmup", 1, "--iter", 2, "--perplexity", language_models / "text.bin"),
    )
    first, second = streams(completed)
    assert list(first.tokens) == list(second.tokens) == expected["file"]
    assert (first.prompt_tokens, first.depth, len(first.token_times_ns)) == (7, 0, NEW)
    assert numbers(completed, "perplexity") == pytest.approx([expected["perplexity"]], rel=1e-4)
    assert numbers(completed, "memory_after_prefill")


def test_the_python_runner_has_the_operators_of_language_models(
    python: Build, language_models: Path, expected: Mapping[str, Any]
) -> None:
    completed = generate(python.programs["program"], language_models / "custom.pte", "--prompt-tokens", 9)
    assert {tuple(stream.tokens) for stream in streams(completed)} == {tuple(expected["made_up"])}


@pytest.mark.parametrize(("words", "key"), [((), "made_up"), (("--depth", 17), "deep")])
def test_made_up_prompts_are_the_same_in_every_runner(
    runner: Path, language_models: Path, expected: Mapping[str, Any], words: tuple[object, ...], key: str
) -> None:
    completed = generate(runner, language_models / "dynamic.pte", "--prompt-tokens", 9, "--iter", 2, *words)
    assert [list(stream.tokens) for stream in streams(completed)] == [expected[key]] * 2
    assert [stream.depth for stream in streams(completed)] == [17 if words else 0] * 2


def test_launches_tell_everything_but_latencies(runner: Path, language_models: Path) -> None:
    completed = generate(runner, language_models / "last.pte", "--prompt-tokens", 3, "--warmup", 0, "--iter", 3)
    metrics = [(line["type"], line["metric"]) for line in observed(completed) if "metric" in line]
    assert ("NET", "latency") not in metrics
    assert metrics.count(("NET", "cpu_time")) == 3
    assert {"load_time", "first_iteration", "peak_memory", "threads", "runtime"} <= {metric for _, metric in metrics}
    assert numbers(completed, "iterations_done") == [3]
    assert not numbers(completed, "memory_after_prefill"), "reading it would disturb a timed generation"


def test_new_tokens_are_written_as_an_output(
    runner: Path, language_models: Path, expected: Mapping[str, Any], tmp_path: Path
) -> None:
    model = language_models / "last.pte"
    generate(runner, model, "--prompt-tokens", 9, "--iter", 1, "--outputs", tmp_path / "out")
    assert list(array.array("q", (tmp_path / "out-0.bin").read_bytes())) == expected["made_up"]


def test_each_iteration_of_a_turn_is_a_generation(
    runner: Path, language_models: Path, expected: Mapping[str, Any]
) -> None:
    words = (str(runner), "--model", str(language_models / "single.pte"), "--generate", "12", "--prompt-tokens", "9")
    completed = converse(Command((*words, "--warmup", "1", "--turns")), ("run 1", "run 2", "end"))
    assert completed.stdout.splitlines()[:3] == ["ready", "done 1", "done 2"]
    lines = [json.loads(line.removeprefix("PyTorchObserver ")) for line in completed.stdout.splitlines()[3:]]
    tokens = [line["generation"]["tokens"] for line in lines if "generation" in line]
    assert tokens == [expected["made_up"]] * 3


def test_a_generation_pauses_between_tokens_on_request_and_its_stamps_do_not(
    runner: Path, language_models: Path, expected: Mapping[str, Any]
) -> None:
    words = (str(runner), "--model", str(language_models / "single.pte"), "--generate", "12", "--prompt-tokens", "9")
    pauses = 3  # after the tokens 1, 6 and 11
    with shell.start(Command((*words, "--warmup", "0", "--turns"), timeout_s=60)) as live:
        assert live.wait_for_line("ready")
        live.write_line("run 1 by 5")
        for _ in range(pauses):
            assert live.wait_for_line("paused")
            time.sleep(1.0)
            live.write_line("go on")
        assert live.wait_for_line("done 1")
        live.write_line("run 1 by 5")
        assert live.wait_for_line("paused")
        completed = live.finish()
    assert completed.ok, completed.describe()
    lines = [line.removeprefix("PyTorchObserver ") for line in completed.stdout.splitlines() if "generation" in line]
    first, second = (TokenStream.model_validate(json.loads(line)["generation"]) for line in lines)
    assert [list(first.tokens), list(second.tokens)] == [expected["made_up"]] * 2, "alone it goes on to the end"
    assert first.token_times_ns[-1] < pauses * 1e9


def test_further_prompts_are_stamped_each_in_a_turn_of_its_own(
    runner: Path, language_models: Path, expected: Mapping[str, Any]
) -> None:
    words = (str(runner), "--model", str(language_models / "single.pte"), "--generate", "12", "--prompt-tokens", "9")
    with shell.start(Command((*words, "--warmup", "0", "--turns"), timeout_s=60)) as live:
        assert live.wait_for_line("ready")
        live.write_line("run 1 by 11 after 2")
        for _ in range(2 + 1):  # the further prompts, and the first token
            assert live.wait_for_line("paused")
            live.write_line("go on")
        assert live.wait_for_line("done 1")
        completed = live.finish()
    assert completed.ok, completed.describe()
    (line,) = (line.removeprefix("PyTorchObserver ") for line in completed.stdout.splitlines() if "generation" in line)
    stream = read_stream(json.loads(line)["generation"])
    assert list(stream.tokens) == expected["made_up"], "as without them"
    assert len(stream.earlier_prefills_ns) == len(stream.earlier_first_tokens_ns) == 2
    pairs = zip(stream.earlier_prefills_ns, stream.earlier_first_tokens_ns, strict=True)
    assert all(0 < prefill < first_token for prefill, first_token in pairs)


@pytest.mark.parametrize("line", ["run 1", "end"])
def test_a_pause_takes_no_other_request(runner: Path, language_models: Path, line: str) -> None:
    words = (str(runner), "--model", str(language_models / "single.pte"), "--generate", "12", "--prompt-tokens", "9")
    completed = converse(Command((*words, "--warmup", "0", "--turns")), ("run 1 by 5", line))
    assert completed.exit_code == 2
    assert completed.stderr.splitlines()[-1] == f"error: on standard input: '{line}' is not 'go on'"


def test_a_launch_that_reports_phases_generates_once(runner: Path, language_models: Path) -> None:
    completed = generate(runner, language_models / "last.pte", "--prompt-tokens", 9, "--phases")
    assert len(streams(completed)) == 1
    assert numbers(completed, "memory_after_first_execution")


CANNOT = "argument --generate: the program cannot generate: "
REFUSED = {
    "fixed.pte --prompt-tokens 9": f"{CANNOT}it takes exactly 8 tokens at a time; export it with a dynamic number of "
    "tokens, or with 1",
    "stateless.pte --prompt-tokens 9": f"{CANNOT}its method has 1 inputs, not tokens [1, S] and the position of the "
    "first of them [1]",
    "without_cache.pte --prompt-tokens 9": f"{CANNOT}it keeps nothing of the tokens before (`use_kv_cache` is false); "
    "export it with a KV cache",
    "last.pte --prompt-tokens 30": "argument --generate: a depth of 0, a prompt of 30 tokens and 12 new ones need a "
    "context of 41; that of the program holds 40",
    "last.pte --prompt-tokens 9 --depth 1000000": "argument --generate: a depth of 1000000, a prompt of 9 tokens and "
    "12 new ones need a context of 1000020; that of the program holds 40",
    "last.pte --prompt text.bin": "argument --generate: a depth of 0, a prompt of 60 tokens and 12 new ones need a "
    "context of 71; that of the program holds 40",
    "last.pte --prompt none.bin": "no such file: none.bin",
    "last.pte --prompt .": "not a file: .",
    "last.pte --prompt empty.bin": "argument --prompt: empty.bin has 0 bytes, not int64 numbers of 1 to "
    "16777216 tokens",
    "last.pte --prompt odd.bin": "argument --prompt: odd.bin has 9 bytes, not int64 numbers of 1 to 16777216 tokens",
    "last.pte --prompt beyond.bin": "argument --prompt: token 1 of beyond.bin is 64; the vocabulary of the program has "
    "tokens from 0 to 63",
    "last.pte --prompt below.bin": "argument --prompt: token 0 of below.bin is -1; the vocabulary of the program has "
    "tokens from 0 to 63",
    "last.pte --prompt-tokens 9 --perplexity single.bin": "argument --perplexity: single.bin has 8 bytes, not int64 "
    "numbers of 2 to 16777216 tokens",
    "nan.pte --prompt-tokens 9": "the program gives logits that are not numbers (NaN)",
}


@pytest.fixture(scope="module")
def hostile(language_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the programs, with files of tokens that are wrong."""
    folder = tmp_path_factory.mktemp("hostile")
    for path in language_models.iterdir():
        (folder / path.name).symlink_to(path)
    for name, tokens in {"beyond": (63, 64), "below": (-1,), "single": (1,)}.items():
        (folder / f"{name}.bin").write_bytes(array.array("q", tokens).tobytes())
    (folder / "empty.bin").write_bytes(b"")
    (folder / "odd.bin").write_bytes(bytes(9))
    return folder


@pytest.mark.parametrize(("line", "sentence"), REFUSED.items(), ids=REFUSED)
def test_what_cannot_be_generated_is_refused_in_words(line: str, sentence: str, runner: Path, hostile: Path) -> None:
    argv = (str(runner), "--generate", str(NEW), "--iter", "1", "--model", *line.split())
    completed = shell.run(Command(argv, cwd=hostile, timeout_s=120))
    assert completed.exit_code == (4 if "NaN" in sentence else 2), completed.stderr
    assert completed.stderr.splitlines()[-1] == f"error: {sentence}"
    assert completed.stdout == ""


def test_the_native_runner_names_the_runner_with_the_operators_of_language_models(
    native: Build, language_models: Path
) -> None:
    completed = generate(native.programs["program"], language_models / "custom.pte", "--prompt-tokens", 9)
    assert completed.exit_code == 3
    sentence = completed.stderr.splitlines()[-1]
    operators = "llama::update_cache.out, llama::custom_sdpa.out"
    assert f"the program needs operators {operators}, which this runtime does not have" in sentence
    assert "-DEXECUTORCH_BUILD_KERNELS_LLM=ON" in sentence
    assert "--runner python" in sentence


def medians_of(completed: Completed) -> Mapping[str, Sequence[float]]:
    return {line["type"]: line["values"] for line in observed(completed) if line.get("metric") == "latency"}


def info(completed: Completed, metric: str) -> str:
    return next(str(line["info_string"]) for line in observed(completed) if line.get("metric") == metric)


@pytest.mark.parametrize("program", ["dynamic", "single"])
def test_operators_are_summed_over_the_executions_of_each_phase(
    program: str, native: Build, language_models: Path
) -> None:
    runner, model = native.programs["program"], language_models / f"{program}.pte"
    completed = generate(runner, model, "--prompt-tokens", 9, "--depth", 3, "--warmup", 1, "--iter", 3, "--operators")
    times = medians_of(completed)
    kinds = {phase: [name for name in times if name.startswith(f"{phase}: ")] for phase in ("prefill", "decode")}
    assert [name.removeprefix("prefill: ") for name in kinds["prefill"]] == [
        name.removeprefix("decode: ") for name in kinds["decode"]
    ]
    assert list(times) == kinds["prefill"] + kinds["decode"]
    assert {len(values) for values in times.values()} == {3}
    assert "decode: addmm.out #4" in times or "decode: linear.out #4" in times, list(times)
    for number, stream in enumerate(streams(completed)):
        sums_us = {phase: sum(times[name][number] for name in names) for phase, names in kinds.items()}
        assert 0 < 1000 * sums_us["prefill"] <= (stream.prefill_ns or 0)
        assert 0 < 1000 * sums_us["decode"] <= stream.token_times_ns[-1] - stream.token_times_ns[0]
    places = info(completed, "operator_places").split()
    assert len(places) == len(times)
    assert places[: len(places) // 2] == places[len(places) // 2 :], "the same instructions"


def test_tracing_changes_no_token(native: Build, language_models: Path, expected: Mapping[str, Any]) -> None:
    completed = generate(
        native.programs["program"], language_models / "dynamic.pte", "--prompt-tokens", 9, "--depth", 17, "--operators"
    )
    assert {tuple(stream.tokens) for stream in streams(completed)} == {tuple(expected["deep"])}


def test_the_python_runner_says_that_it_times_no_operators(python: Build, language_models: Path) -> None:
    completed = generate(
        python.programs["program"], language_models / "dynamic.pte", "--prompt-tokens", 9, "--operators"
    )
    assert info(completed, "operators_unavailable") == "the Python runner cannot time them"
