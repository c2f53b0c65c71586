"""Command line of the program for a benchmark."""

from __future__ import annotations

from collections.abc import Mapping

from frameworks.command_line import environment, iterations_of, model_key, outputs_base, warmup_of
from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.errors import BenchmarkUnsupported
from harness.core.generation import TOKENIZER


def compose(benchmark: Benchmark, files: Mapping[str, str]) -> Command:
    """Compose the command line of ExecuTorch's own LLM runner.

    Args:
        benchmark: What to measure.
        files: Path on the device by key.

    Raises:
        BenchmarkUnsupported: The runner cannot do what is asked for.
        BenchmarkFailed: It is not clear which file is the model.
    """
    request = benchmark.generation
    if request is None:
        raise BenchmarkUnsupported(
            "ExecuTorch's LLM runner only generates tokens",
            hint="give the test `generation`, or leave out --runner llm",
        )
    _refuse(benchmark)
    if request.prompt is None:
        raise BenchmarkUnsupported(
            "ExecuTorch's LLM runner makes tokens of a text itself, and takes no made-up tokens",
            hint="give `prompt` instead of `prompt_tokens`, or leave out --runner llm",
        )
    argv = [
        files["program"],
        *("--model", files[model_key(benchmark)]),
        *("--tokenizer", files[TOKENIZER]),
        *("--prompt-text", request.prompt),
        *("--generate", str(request.new_tokens)),
        *("--warmup", str(warmup_of(benchmark))),
        *("--iter", str(iterations_of(benchmark))),
        *("--min-iter", str(max(1, benchmark.min_iterations))),
        *(() if benchmark.threads is None else ("--threads", str(benchmark.threads))),
    ]
    if benchmark.output_files:
        argv += ["--outputs", outputs_base(benchmark, files)]
    if benchmark.time_limit_s is not None:
        argv += ["--time-limit", f"{max(benchmark.time_limit_s, 0.001):.3f}"]
    return Command(
        argv=tuple(argv),
        env=environment(benchmark),
        timeout_s=benchmark.timeout_s,
        threads=benchmark.threads,
        cpus=benchmark.cpus,
    )


def _refuse(benchmark: Benchmark) -> None:
    request = benchmark.generation
    wanted = {
        "a `depth` of the context": request is not None and request.depth > 0,
        "a perplexity": request is not None and request.perplexity is not None,
        "an `arrival`": benchmark.arrival is not None,
        "a long run": benchmark.long_run_s is not None,
        "`command_args`": bool(benchmark.arguments),
        "phases of memory": benchmark.phases,
        "a cold start": benchmark.cold,
    }
    for request_name, is_wanted in wanted.items():
        if is_wanted:
            raise BenchmarkUnsupported(
                f"ExecuTorch's LLM runner has no way to measure with {request_name}",
                hint="leave it out, or leave out --runner llm",
            )
