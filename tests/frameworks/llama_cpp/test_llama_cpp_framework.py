"""llama.cpp as a framework: its contract, its command line, and a real llama-bench where one is installed."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from frameworks import llama_cpp
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark, OutputFile
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported
from harness.core.generation import GenerationRequest
from harness.core.scenario import Arrival, Pattern
from harness.testing.frameworks import CHECKS, Check, FrameworkCase, benchmark_of
from tests.frameworks.llama_cpp.tiny_gguf import write_tiny_llama

RECORDED = Path(__file__).parent / "recorded"
MODEL = {"files.model": "/d/tiny.gguf"}
BENCH = FrameworkCase(
    create=lambda: llama_cpp.create(Settings()),
    benchmark=benchmark_of("llama_cpp", MODEL, threads=1, iterations=3),
    output=(RECORDED / "bench.jsonl").read_text(),
    observed={"LLM prefill_rate": 3, "LLM decode_rate": 3},
    refused=(
        benchmark_of("llama_cpp", MODEL, operators=True),
        benchmark_of("llama_cpp", MODEL, phases=True),
        benchmark_of("llama_cpp", MODEL, cold=True),
        benchmark_of("llama_cpp", MODEL, time_limit_s=3.0),
        benchmark_of("llama_cpp", MODEL, warmup=2),
        benchmark_of("llama_cpp", MODEL, iterations=0),
        benchmark_of("llama_cpp", MODEL, backend_options={"prompt": 0, "generate": 0}),
        benchmark_of("llama_cpp", MODEL, backend_options={"prompts": 3}),
        benchmark_of("llama_cpp", MODEL, backend_options={"cache_type_k": "f16 --verbose"}),
        benchmark_of(
            "llama_cpp", MODEL, output_files=(OutputFile(key="output_files.o", filename="o", location="/d/o"),)
        ),
        benchmark_of("llama_cpp"),
        benchmark_of("llama_cpp", {"files.a": "/d/a.gguf", "files.b": "/d/b.gguf"}),
    ),
)
SUMMARIES = {"LLM prefill_rate": 0, "LLM decode_rate": 0}
CASES = {
    "jsonl": BENCH,
    "json": replace(BENCH, output=(RECORDED / "bench.json").read_text()),
    **{
        layout: replace(BENCH, output=(RECORDED / f"bench.{layout}").read_text(), observed=SUMMARIES)
        for layout in ("csv", "sql", "md")
    },
    "generation": replace(
        BENCH,
        benchmark=benchmark_of("llama_cpp", MODEL, threads=1, iterations=3, generation=GenerationRequest()),
        observed={"llama_bench prefill_rate": 3, "llama_bench decode_rate": 3},
    ),
    "completion": replace(
        BENCH,
        output=(RECORDED / "completion.txt").read_text(),
        observed={"LLM prefill_rate": 1, "LLM decode_rate": 1, "RUN load_time": 1},
    ),
    "tokens": replace(
        BENCH, output=(RECORDED / "completion_tokens.txt").read_text(), observed={"LLM token_latency": 5}
    ),
    "server": replace(BENCH, output=(RECORDED / "server_log.txt").read_text(), observed={"LLM decode_rate": 2}),
    "stream": replace(
        BENCH,
        output=(RECORDED / "server_stream.txt").read_text(),
        observed={"LLM token_latency": 4, "LLM decode_rate": 1},
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_llama_cpp_keeps_the_contract(check: Check, name: str) -> None:
    check(CASES[name])


def _argv(benchmark: Benchmark) -> tuple[str, ...]:
    files = {"program": "/d/llama-bench", **{file.key: file.location or "" for file in benchmark.files}}
    return llama_cpp.create(Settings()).command(benchmark, Build(source="x", commit="1"), files).argv


def test_sizes_repetitions_and_threads_reach_llama_bench() -> None:
    options = {"prompt": 64, "generate": 16, "depth": 128, "flash_attention": True, "gpu_layers": -1}
    benchmark = benchmark_of(
        "llama_cpp", MODEL, threads=2, iterations=7, warmup=0, backend_options=options, arguments="--poll 0"
    )
    assert _argv(benchmark) == (
        *("/d/llama-bench", "-m", "/d/tiny.gguf", "-o", "jsonl", "-p", "64", "-n", "16", "-d", "128"),
        *("-ngl", "-1", "-fa", "1", "-r", "7", "--no-warmup", "-t", "2", "--poll", "0"),
    )


def test_without_options_the_sizes_are_those_of_llama_bench() -> None:
    assert _argv(benchmark_of("llama_cpp", MODEL))[5:] == ("-p", "512", "-n", "128")


def test_a_generation_is_a_test_of_the_prompt_and_one_of_new_tokens() -> None:
    request = GenerationRequest(prompt_tokens=64, new_tokens=16, depth=128)
    options = {"gpu_layers": 0}
    benchmark = benchmark_of("llama_cpp", MODEL, generation=request, iterations=10, backend_options=options)
    assert _argv(benchmark)[5:] == ("-p", "64", "-n", "16", "-d", "128", "-ngl", "0", "-r", "10")
    assert "-d" not in _argv(benchmark_of("llama_cpp", MODEL, generation=GenerationRequest()))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"generation": GenerationRequest(prompt="a")}, "takes no text"),
        ({"generation": GenerationRequest(perplexity="files.model")}, "no perplexity"),
        ({"generation": GenerationRequest(), "backend_options": {"depth": 3}}, "`backend_options.depth` is given"),
        ({"generation": GenerationRequest(), "backend_options": {"prompt": 3}}, "`backend_options.prompt` is given"),
        ({"generation": GenerationRequest(), "arrival": Arrival(pattern=Pattern.PERIODIC, interval_s=1)}, "arrival"),
    ],
)
def test_generations_that_llama_bench_cannot_make_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(BenchmarkUnsupported, match=message):
        _argv(benchmark_of("llama_cpp", MODEL, **fields))


def test_figures_of_a_generation_are_in_the_definitions_of_llama_bench() -> None:
    benchmark = benchmark_of(
        "llama_cpp", MODEL, threads=1, generation=GenerationRequest(prompt_tokens=64, new_tokens=16)
    )
    completed = Completed(Command(("llama-bench",)), exit_code=0, stdout=BENCH.output, stderr="")
    observations, notes = llama_cpp.create(Settings()).parse([completed], benchmark)
    assert notes == ()
    rates = [(observation.name, len(observation.samples)) for observation in observations if "rate" in observation.name]
    assert rates == [("llama_bench decode_rate", 3), ("llama_bench prefill_rate", 3)]


def test_the_only_gguf_file_is_the_model() -> None:
    files = {"files.weights": "/d/tiny.gguf", "files.notes": "/d/notes.txt"}
    assert _argv(benchmark_of("llama_cpp", files))[2] == "/d/tiny.gguf"


def test_unknown_options_are_refused_with_the_nearest() -> None:
    with pytest.raises(BenchmarkUnsupported, match="no option `promt`") as caught:
        _argv(benchmark_of("llama_cpp", MODEL, backend_options={"promt": 3}))
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("did you mean `prompt`?")


def test_options_are_checked_before_anything_is_built() -> None:
    framework = llama_cpp.create(Settings())
    framework.check_backend_options(benchmark_of("llama_cpp", MODEL, backend_options={"prompt": 3}))
    for options in ({"poll": "x"}, {"prompt": -1}, {"prompt": 1.5}, {"generate": 0, "prompt": 0}, {"": 1}):
        with pytest.raises(BenchmarkUnsupported, match="backend_options"):
            framework.check_backend_options(benchmark_of("llama_cpp", MODEL, backend_options=options))
    with pytest.raises(BenchmarkUnsupported, match="do not get `prompt`"):
        framework.check_backend_options(
            benchmark_of("llama_cpp", MODEL, commands=("{program}",), backend_options={"prompt": 3})
        )


def test_without_a_program_the_remedy_is_named() -> None:
    with pytest.raises(BenchmarkFailed, match="there is no llama-bench"):
        llama_cpp.create(Settings()).command(benchmark_of("llama_cpp", MODEL), Build(source="x", commit="1"), {})


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("llama-bench") is None,
    reason="no llama-bench on PATH: compiling it takes 9 CPU minutes, and no package has it (docs/frameworks.md)",
)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_real_llama_bench_keeps_the_contract(check: Check, tmp_path: Path) -> None:
    model = write_tiny_llama(tmp_path / "tiny.gguf")
    benchmark = benchmark_of(
        "llama_cpp",
        {"files.model": str(model)},
        threads=1,
        iterations=3,
        backend_options={"prompt": 16, "generate": 4},
    )
    check(replace(BENCH, benchmark=benchmark, runs=True))
