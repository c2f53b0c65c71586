"""Command line of our runners for a benchmark without commands. All of them take the same arguments."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from harness.core import generation
from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported
from harness.core.placeholders import PlaceholderProblem, substitute
from harness.core.protocols import StagedExamples

_DEFAULT_WARMUP = 10
_DEFAULT_ITERATIONS = 50
_FIRST_OUTPUT = "-0.bin"


def compose(
    benchmark: Benchmark,
    files: Mapping[str, str],
    variables: Mapping[str, str] | None = None,
    words: Sequence[str] = (),
) -> Command:
    """Compose the runner's command line (see `frameworks.python_runner.arguments`).

    Args:
        benchmark: What to measure.
        files: Path on the device by key.
        variables: Environment variables that the build needs; the benchmark's have precedence.
        words: Further arguments of the framework.

    Raises:
        BenchmarkFailed: The specification lacks something, or asks for something that the runner cannot do.
    """
    if "program" not in files:
        raise BenchmarkFailed("the build has no runner", hint="give one: --program program=PATH")
    argv = [
        files["program"],
        *("--model", files[model_key(benchmark)]),
        *("--warmup", str(warmup_of(benchmark))),
        *("--iter", str(iterations_of(benchmark))),
        *("--min-iter", str(max(1, benchmark.min_iterations))),
    ]
    if benchmark.time_limit_s is not None:
        # The rest of the limit may be zero, which would mean no limit.
        argv += ["--time-limit", f"{max(benchmark.time_limit_s, 0.001):.3f}"]
    argv += _threads(benchmark)
    argv += _generation(benchmark, files)
    if benchmark.input_files:
        argv += ["--inputs", ",".join(files[file.key] for file in benchmark.input_files)]
    if benchmark.output_files:
        argv += ["--outputs", outputs_base(benchmark, files)]
    if benchmark.operators:
        argv.append("--operators")
    if benchmark.phases:
        argv.append("--phases")
    if benchmark.cold:
        argv.append("--cold")
    argv += _pacing(benchmark)
    return _command(benchmark, files, [*argv, *words], variables)


def compose_examples(
    benchmark: Benchmark,
    files: Mapping[str, str],
    examples: StagedExamples,
    variables: Mapping[str, str] | None = None,
    words: Sequence[str] = (),
) -> Command:
    """Compose the command line that executes each example once. Arguments and errors as of `compose`."""
    if "program" not in files:
        raise BenchmarkFailed("the build has no runner", hint="give one: --program program=PATH")
    argv = [
        files["program"],
        *("--model", files[model_key(benchmark)]),
        *("--examples", str(examples.count)),
        *("--inputs", ",".join(examples.inputs)),
        *("--outputs", examples.outputs),
        *_threads(benchmark),
    ]
    return _command(benchmark, files, [*argv, *words], variables)


def _command(
    benchmark: Benchmark, files: Mapping[str, str], argv: list[str], variables: Mapping[str, str] | None
) -> Command:
    """Add what decides how a program is executed, whether it is measured or not."""
    if "method" in benchmark.variables:
        argv += ["--method", benchmark.variables["method"]]
    return Command(
        argv=(*argv, *command_args(benchmark, files)),
        env={**(variables or {}), **environment(benchmark)},
        timeout_s=benchmark.timeout_s,
        threads=benchmark.threads,
        cpus=benchmark.cpus,
    )


def _threads(benchmark: Benchmark) -> tuple[str, ...]:
    return () if benchmark.threads is None else ("--threads", str(benchmark.threads))


def _pacing(benchmark: Benchmark) -> Iterator[str]:
    arrival = benchmark.arrival
    if arrival is not None and not (benchmark.operators or benchmark.phases or benchmark.cold):
        yield from ("--arrival", arrival.text)
    if benchmark.long_run_s is not None:
        yield from ("--sustained", f"{benchmark.long_run_s:.3f}")


def _generation(benchmark: Benchmark, files: Mapping[str, str]) -> Iterator[str]:
    request = benchmark.generation
    if request is None:
        return
    yield from ("--generate", str(request.new_tokens), "--depth", str(request.depth))
    if generation.PROMPT in files:
        yield from ("--prompt", files[generation.PROMPT])
    elif request.prompt is None:
        yield from ("--prompt-tokens", str(request.prompt_tokens))
    else:
        raise BenchmarkUnsupported(
            "the prompt is a text, and nothing here makes tokens of it", hint="give `prompt_tokens` instead of `prompt`"
        )
    if request.perplexity is not None:
        yield from ("--perplexity", files[request.perplexity])


def interleaved_command(command: Command) -> Command:
    """Return the command that starts a runner interleaved with another process."""
    return command.replace_argv((*command.argv, "--turns"))


def duet_command(command: Command) -> Command:
    """Return the command that starts a runner for a duet with another process."""
    return interleaved_command(command.replace_argv((*command.argv, "--own-time")))


def iterations_of(benchmark: Benchmark) -> int:
    """Return the timed iterations of a launch: the benchmark's, or our default."""
    if benchmark.generation is not None and benchmark.iterations < 0:
        return generation.DEFAULT_ITERATIONS
    return _DEFAULT_ITERATIONS if benchmark.iterations < 0 else benchmark.iterations


def warmup_of(benchmark: Benchmark) -> int:
    """Return the warm-up iterations of a launch: the benchmark's, or our default."""
    if benchmark.generation is not None and benchmark.warmup < 0:
        return generation.DEFAULT_WARMUP
    return _DEFAULT_WARMUP if benchmark.warmup < 0 else benchmark.warmup


def model_key(benchmark: Benchmark) -> str:
    """Return the key of the file that is the model.

    Raises:
        BenchmarkFailed: It is not clear which file is the model.
    """
    keys = [file.key for file in benchmark.files]
    if "files.model" in keys:
        return "files.model"
    if len(keys) != 1:
        raise BenchmarkFailed(
            f"it is not clear which file is the model: {benchmark.title} has {', '.join(keys) if keys else 'none'}",
            hint="name it `model` in the model's `files`, or give exactly one file",
        )
    return keys[0]


def outputs_base(benchmark: Benchmark, files: Mapping[str, str]) -> str:
    """Return BASE of the runner's outputs BASE-0.bin, BASE-1.bin, ..., from the first output file.

    Raises:
        BenchmarkFailed: Its location has another form.
    """
    first = benchmark.output_files[0]
    path = files.get(first.key, first.location)
    if not path.endswith(_FIRST_OUTPUT):
        raise BenchmarkFailed(
            f"the runner cannot write its first output to {path}",
            hint=f"let its location end in {_FIRST_OUTPUT}, that of the next one in -1.bin, and so on",
        )
    return path.removesuffix(_FIRST_OUTPUT)


def command_args(benchmark: Benchmark, files: Mapping[str, str]) -> list[str]:
    """Split `command_args` into words and replace their placeholders.

    Raises:
        BenchmarkFailed: They cannot be split, or have an unknown placeholder.
    """
    try:
        words = shlex.split(benchmark.arguments)
        return [substitute(word, {**benchmark.variables, **files}) for word in words]
    except (ValueError, PlaceholderProblem) as error:
        raise BenchmarkFailed(f"`command_args` of {benchmark.title} cannot be used: {error}") from error


def environment(benchmark: Benchmark) -> Mapping[str, str]:
    """Return the environment variables of a launch."""
    # Some kernels of the Python runner use OpenMP besides the runtime's own pool.
    threads = {} if benchmark.threads is None else {"OMP_NUM_THREADS": str(benchmark.threads)}
    return {**threads, **benchmark.env}
