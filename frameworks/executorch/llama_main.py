"""ExecuTorch's `llama_main` (examples/models/llama/main.cpp): its command line, and what its statistics lack.

It makes tokens of a text, generates once, and prints the text and a line of statistics, which
`frameworks.observations.forms` reads. Its flags were added over time (`max_new_tokens` with 1.1, `ignore_eos` and
`method_name` with 1.2), and gflags fails on unknown ones. `--warmup` generates once before, which the statistics leave
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from frameworks import command_line
from frameworks.executorch.program_flags import compose_flags, find_flags
from frameworks.given_programs import refuse_requests
from frameworks.notes import find_observation
from frameworks.observations.collector import describe_text
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command
from harness.core.errors import BenchmarkUnsupported
from harness.core.generation import GENERATION, TOKENIZER, GenerationRequest
from harness.core.metric import Observation
from harness.core.note import Note

NAME: Final = "llama_main"
"""Value of the build's flag `runner`, as a recipe may set it; `runner_flags` lists its flags, separated by spaces."""

_NEEDED: Final = ("model_path", "tokenizer_path", "prompt", "temperature")
_FLAGS: Final = (*_NEEDED, "max_new_tokens", "ignore_eos", "cpu_threads", "warmup", "method_name")
"""Flags that are used here."""

_SHOWN: Final = 4_000
"""Characters of a text that a result keeps."""


def flags_of(build: Build) -> frozenset[str] | None:
    """Return the flags of a build's runner, or None when it is not `llama_main`."""
    return find_flags(build, NAME, _FLAGS, _NEEDED)


def compose(benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
    """Compose its command line for a benchmark without commands: one generation, however many iterations.

    Args:
        benchmark: What to measure.
        build: The runner.
        files: Path on the device by key.

    Raises:
        BenchmarkUnsupported: It cannot do what is asked for, or that of this commit lacks a flag.
        BenchmarkFailed: The specification has an error.
    """
    request = _require_text(benchmark)
    _refuse(benchmark, request)
    flags = {
        "model_path": files[command_line.model_key(benchmark)],
        "tokenizer_path": files[TOKENIZER],
        "prompt": request.prompt or "",
        "temperature": "0",
        "max_new_tokens": str(request.new_tokens),
    }
    if benchmark.threads is not None:
        flags["cpu_threads"] = str(benchmark.threads)
    if command_line.warmup_of(benchmark):
        flags["warmup"] = "true"
    if "method" in benchmark.variables:
        flags["method_name"] = benchmark.variables["method"]
    known = flags_of(build) or frozenset()
    ignoring = {"ignore_eos": "true"} if "ignore_eos" in known else {}
    return compose_flags(benchmark, build, files, {**flags, **ignoring}, name=NAME, known=known)


def parse_text(log: str, observations: Sequence[Observation], benchmark: Benchmark) -> tuple[Observation, ...]:
    """Return the prompt and the text that it printed before its statistics; nothing of other programs.

    Args:
        log: Its standard output.
        observations: What is known from its statistics.
        benchmark: What was measured.
    """
    request = benchmark.generation
    if request is None or request.prompt is None or benchmark.commands:
        return ()
    counted = find_observation(observations, f"{GENERATION} generated_tokens")
    text, statistics, _ = log.partition("\nPyTorchObserver {")
    if counted is None or not statistics or not text.startswith(request.prompt):
        return ()
    return (Observation(type=GENERATION, metric="text", info=describe_text(text, _SHOWN)),)


def note_generation(observations: Sequence[Observation], benchmark: Benchmark) -> Iterator[Note]:
    """Note generations that are other work than was asked for, by the statistics of a program.

    Its count of new tokens is without the first, which the prompt gives.
    """
    counted = find_observation(observations, f"{GENERATION} generated_tokens")
    if benchmark.generation is None or benchmark.commands or counted is None or not counted.samples:
        return
    wanted, fewest = benchmark.generation.new_tokens, int(min(counted.samples)) + 1
    if fewest < wanted:
        yield Note(
            code="short_generation",
            message=f"a generation ended after {fewest:,} of {wanted:,} new tokens",
            hint="the context was full, or a token ended it (llama_main ignores such tokens since 1.2): ask for fewer",
            trust=False,
        )
    generations = len(counted.samples)
    if generations < benchmark.iterations:
        yield Note(
            code="few_generations",
            message=f"a launch has {generations} of {benchmark.iterations} generations: llama_main generates once",
            hint="set `iter` to 1, and `repeat` to the number of launches",
        )


def _require_text(benchmark: Benchmark) -> GenerationRequest:
    if benchmark.generation is None:
        raise BenchmarkUnsupported(
            "llama_main only generates tokens", hint="give the test `generation`, or leave out --program"
        )
    if benchmark.generation.prompt is None:
        raise BenchmarkUnsupported(
            "llama_main makes tokens of a text itself, and takes no made-up tokens",
            hint="give `prompt` and the model's file `tokenizer` instead of `prompt_tokens`",
        )
    return benchmark.generation


def _refuse(benchmark: Benchmark, request: GenerationRequest) -> None:
    refuse_requests(benchmark, NAME)
    wanted = {
        "a `depth` of the context": request.depth > 0,
        "a perplexity": request.perplexity is not None,
        "`output_files`": bool(benchmark.output_files),
    }
    for name, is_wanted in wanted.items():
        if is_wanted:
            raise BenchmarkUnsupported(
                f"{benchmark.title}: llama_main has no way to measure with {name}",
                hint="leave it out, or measure with a runner of the harness: without --program",
            )
    if benchmark.warmup > 1:
        raise BenchmarkUnsupported(
            f"{benchmark.title}: llama_main cannot warm up {benchmark.warmup} times", hint="set `warmup` to 0 or 1"
        )
