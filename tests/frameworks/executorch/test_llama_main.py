"""ExecuTorch's `llama_main`: how it is recognised and started, and what it printed.

`recorded/llama_main.txt` is the standard output of a real one: main.cpp and the runner of pytorch/executorch at
cff6f4dd (August 2026), linked with the libraries of the wheel 1.5.1, with tiny_llama (xnnpack_fp32, plain attention):

    llama_main --model_path=... --tokenizer_path=tiny_llama.json --prompt='Why is the sky blue?' --temperature=0
      --max_new_tokens=24 --ignore_eos --cpu_threads=1 --warmup
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from frameworks.executorch import create, llama_main
from harness.config.settings import Settings
from harness.core.build import Build
from harness.core.cached_files import CachedFile
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkUnsupported
from harness.core.generation import TOKENIZER, GenerationRequest
from harness.files.programs import prebuilt
from tests.frameworks.executorch.generating import benchmark

RECORDED = (Path(__file__).parent / "recorded" / "llama_main.txt").read_text(encoding="utf-8")
FILES = {"program": "/d/llama_main", "files.model": "/d/m.pte", "files.tokenizer": "/d/t.json"}
BUILD = Build(source="git", commit="0123456789ab", flags={"runner": "llama_main"})

FLAGS = (
    "model_path",
    "tokenizer_path",
    "prompt",
    "temperature",
    "max_new_tokens",
    "ignore_eos",
    "cpu_threads",
    "warmup",
)
SCRIPT = b"#!/bin/sh\ncat <<'END'\n" + RECORDED.encode() + b"END\nexit 0\n\0" + "\0".join(FLAGS).encode() + b"\0"
"""Program that prints what the real one printed, and whose bytes name its flags."""


TEXT = GenerationRequest(prompt="Once 'upon'\na time", new_tokens=24)


def words(fields: Mapping[str, object], build: Build = BUILD) -> tuple[str, ...]:
    asked = {"threads": None, "generation": TEXT, **fields}
    return create(Settings()).command(benchmark(**asked), build, FILES).argv


def test_a_text_becomes_a_command_line() -> None:
    assert words({"threads": 2, "arguments": "--num_bos=1"}) == (
        "/d/llama_main",
        "--model_path=/d/m.pte",
        "--tokenizer_path=/d/t.json",
        "--prompt=Once 'upon'\na time",
        "--temperature=0",
        "--max_new_tokens=24",
        "--cpu_threads=2",
        "--warmup=true",
        "--ignore_eos=true",
        "--num_bos=1",
    )


def test_what_an_older_one_can_do_without_is_left_out() -> None:
    older = BUILD.model_copy(
        update={"flags": {"runner": "llama_main", "runner_flags": " ".join({*FLAGS} - {"ignore_eos", "warmup"})}}
    )
    assert "--ignore_eos=true" not in words({"warmup": 0}, older)
    with pytest.raises(BenchmarkUnsupported, match="the llama_main of 0123456789ab has no --warmup"):
        words({}, older)


def test_one_that_counts_the_prompt_among_the_new_tokens_is_refused() -> None:
    oldest = {"runner": "llama_main", "runner_flags": "model_path tokenizer_path prompt temperature seq_len warmup"}
    with pytest.raises(BenchmarkUnsupported, match="no --max_new_tokens"):
        words({}, BUILD.model_copy(update={"flags": oldest}))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"generation": None}, "only generates tokens"),
        ({"generation": GenerationRequest()}, "takes no made-up tokens"),
        ({"generation": GenerationRequest(prompt="a", depth=3)}, "`depth`"),
        ({"generation": GenerationRequest(prompt="a", perplexity="files.model")}, "a perplexity"),
        ({"warmup": 3}, "cannot warm up 3 times"),
        ({"operators": True}, "operators"),
        ({"cold": True}, "a cold start"),
        ({"long_run_s": 10.0}, "a long run"),
        ({"variables": {"method": "lora_forward"}, "arguments": ""}, None),
    ],
)
def test_what_it_cannot_do_is_refused_in_words(fields: dict[str, object], message: str | None) -> None:
    if message is None:
        assert "--method_name=lora_forward" in words(fields)
        return
    with pytest.raises(BenchmarkUnsupported, match=message):
        words(fields)


@pytest.mark.parametrize(
    ("content", "is_llama_main"), [(SCRIPT, True), (b"\0model_path\0prompt\0", False), (b"", False)]
)
def test_a_given_program_is_recognised_by_its_flags(tmp_path: Path, content: bytes, is_llama_main: bool) -> None:
    program = tmp_path / "program"
    program.write_bytes(content)
    program.chmod(0o755)
    build = prebuilt({"program": program})
    assert (llama_main.flags_of(build) is not None) is is_llama_main


def test_it_makes_the_tokens_itself(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(SCRIPT)
    program.chmod(0o755)
    tokenizer = CachedFile(key=TOKENIZER, filename="t", path=tmp_path / "none", md5="", size_bytes=0, source="")
    framework = create(Settings(program={"program": program}))
    assert framework.make_prompt(benchmark(), {TOKENIZER: tokenizer}) is None


def test_it_executes_no_examples() -> None:
    with pytest.raises(BenchmarkUnsupported, match="only generates tokens"):
        create(Settings()).examples_per_launch(BUILD)


def _parse(new_tokens: int, **fields: object) -> tuple[dict[str, tuple[float, ...]], list[str]]:
    completed = Completed(Command(("llama_main",)), exit_code=0, stdout=RECORDED, stderr="")
    generation = GenerationRequest(prompt="Why is the sky blue?", new_tokens=new_tokens)
    observations, notes = create(Settings()).parse([completed], benchmark(generation=generation, **fields))
    samples = {observation.name: observation.samples for observation in observations if observation.samples}
    return samples, [note.code for note in notes]


def test_what_a_real_one_printed_is_read_and_zeros_are_absent() -> None:
    observations, notes = _parse(24)
    assert notes == []
    assert observations == {
        "LLM generate_tokens_per_second": (pytest.approx(23 / 0.290),),
        "LLM prompt_tokens_per_second": (pytest.approx(17 / 0.030),),
        "LLM time_to_first_token": (30.0,),
        "LLM model_load_time": (281.0,),
        "LLM prompt_eval_time": (30.0,),
        "LLM inference_time": (320.0,),
        "LLM model_execution_time": (319.0,),
        "LLM prompt_tokens": (17.0,),
        "LLM generated_tokens": (23.0,),
    }
    assert next(iter(observations)) == "LLM generate_tokens_per_second"


def test_a_generation_that_ended_early_is_noted() -> None:
    assert _parse(25)[1] == ["short_generation"]


def test_further_generations_that_were_asked_for_are_noted_as_missing() -> None:
    assert _parse(24, iterations=5)[1] == ["few_generations"]
    assert _parse(24, iterations=1)[1] == []


def test_the_text_that_it_printed_is_kept() -> None:
    completed = Completed(Command(("llama_main",)), exit_code=0, stdout=RECORDED, stderr="")
    asked = benchmark(generation=GenerationRequest(prompt="Why is the sky blue?", new_tokens=24))
    infos = {observation.name: observation.info for observation in create(Settings()).parse([completed], asked)[0]}
    assert infos["LLM text"] == "Why is the sky blue?znq]ia qrl,2vi?hfspzrbvzqutgdvwlakmllszhwij"
    other = benchmark(generation=GenerationRequest(prompt="Why not?", new_tokens=24))
    assert "LLM text" not in {each.name for each in create(Settings()).parse([completed], other)[0]}
