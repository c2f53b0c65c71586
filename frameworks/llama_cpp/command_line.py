"""Command line of llama-bench for a benchmark without commands."""

from __future__ import annotations

from collections.abc import Mapping

from frameworks.given_programs import refuse_requests, require_program, split_arguments
from frameworks.llama_cpp.options import compose_options
from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported
from harness.core.scalars import Scalar


def compose(benchmark: Benchmark, files: Mapping[str, str]) -> Command:
    """Compose the command line: one test for the prompt and one for the generation, every repetition of each printed.

    Args:
        benchmark: What to measure; its iterations, or its generations, are repetitions.
        files: Path on the device by key.

    Raises:
        BenchmarkUnsupported: llama-bench cannot do what is asked for.
        BenchmarkFailed: There is no program, or it is not clear which file is the model.
    """
    refuse_requests(benchmark, "llama-bench")
    if benchmark.input_files or benchmark.output_files:
        raise BenchmarkUnsupported(
            f"{benchmark.title}: llama-bench makes its own random tokens, and writes no file",
            hint="remove `input_files` and `output_files`; their number is in `backend_options`: `prompt`, `generate`",
        )
    argv = [
        require_program(benchmark, files, "llama-bench"),
        *("-m", files[_model_key(benchmark)]),
        *("-o", "jsonl"),
        *compose_sizes(benchmark),
        *_repetitions(benchmark),
        *(() if benchmark.threads is None else ("-t", str(benchmark.threads))),
        *split_arguments(benchmark, files),
    ]
    return Command(
        argv=tuple(argv),
        env=benchmark.env,
        timeout_s=benchmark.timeout_s,
        threads=benchmark.threads,
        cpus=benchmark.cpus,
    )


def compose_sizes(benchmark: Benchmark) -> list[str]:
    """Return the words for numbers of tokens and other options: those of a `generation`, or `backend_options`.

    Raises:
        BenchmarkUnsupported: llama-bench cannot do what is asked for.
    """
    request = benchmark.generation
    if request is None:
        return compose_options(benchmark.backend_options)
    if request.prompt is not None:
        raise BenchmarkUnsupported(
            f"{benchmark.title}: llama-bench makes its own random tokens, and takes no text",
            hint="give `prompt_tokens` instead of `prompt`",
        )
    if request.perplexity is not None:
        raise BenchmarkUnsupported(
            f"{benchmark.title}: llama-bench has no perplexity",
            hint="leave it out, or give `commands` that start llama-perplexity",
        )
    sizes: dict[str, Scalar] = {
        "prompt": request.prompt_tokens,
        "generate": request.new_tokens,
        **({"depth": request.depth} if request.depth else {}),
    }
    for name in (*sizes, "depth"):
        if name in benchmark.backend_options:
            raise BenchmarkUnsupported(
                f"{benchmark.title}: `backend_options.{name}` is given beside `generation`, which says it too",
                hint="leave one of them out",
            )
    return compose_options({**benchmark.backend_options, **sizes})


def _repetitions(benchmark: Benchmark) -> list[str]:
    """Return the words for repetitions and warm-up: llama-bench knows one warm-up run or none."""
    if benchmark.warmup > 1:
        raise BenchmarkUnsupported(
            f"{benchmark.title}: llama-bench cannot make {benchmark.warmup} warm-up runs",
            hint="set `warmup` to 1, its own, or to 0",
        )
    if benchmark.iterations == 0:
        raise BenchmarkUnsupported(f"{benchmark.title}: llama-bench cannot make 0 repetitions", hint="set `iter` to 1")
    words = [] if benchmark.iterations < 0 else ["-r", str(benchmark.iterations)]
    return [*words, "--no-warmup"] if benchmark.warmup == 0 else words


def _model_key(benchmark: Benchmark) -> str:
    keys = [file.key for file in benchmark.files]
    models = [file.key for file in benchmark.files if file.filename.endswith(".gguf")]
    if "files.model" in keys:
        return "files.model"
    candidates = models if len(models) == 1 else keys
    if len(candidates) != 1:
        raise BenchmarkFailed(
            f"it is not clear which file is the model: {benchmark.title} has {', '.join(keys) if keys else 'none'}",
            hint="name the .gguf file `model` in the model's `files`",
        )
    return candidates[0]
