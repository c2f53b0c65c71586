"""The start of a benchmark that has no commands of its own. Both runners take the same arguments."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.errors import BenchmarkFailed
from harness.core.placeholders import PlaceholderProblem, substitute

_DEFAULT_WARMUP = 10
_DEFAULT_ITERATIONS = 50
_FIRST_OUTPUT = "-0.bin"


def compose(benchmark: Benchmark, files: Mapping[str, str]) -> Command:
    """The runner's command line (see `python/arguments.py`).

    Args:
        benchmark: What to measure.
        files: Path on the device by key.

    Raises:
        BenchmarkFailed: It does not say enough, or what the runner cannot do; the specification can be mended.
    """
    if "program" not in files:
        raise BenchmarkFailed("the build has no runner", hint="name one: --program program=PATH")
    argv = [
        files["program"],
        *("--model", files[model_key(benchmark)]),
        *("--warmup", str(wanted_warmup(benchmark))),
        *("--iter", str(wanted_iterations(benchmark))),
        *("--min-iter", str(max(1, benchmark.min_iterations))),
    ]
    if benchmark.time_limit_s is not None:
        # What is left may be nothing, and zero would mean no limit.
        argv += ["--time-limit", f"{max(benchmark.time_limit_s, 0.001):.3f}"]
    if benchmark.threads is not None:
        argv += ["--threads", str(benchmark.threads)]
    if benchmark.input_files:
        argv += ["--inputs", ",".join(files[file.key] for file in benchmark.input_files)]
    if benchmark.output_files:
        argv += ["--outputs", outputs_base(benchmark, files)]
    if benchmark.operators:
        argv.append("--operators")
    if "method" in benchmark.variables:
        argv += ["--method", benchmark.variables["method"]]
    return Command(
        argv=(*argv, *further_arguments(benchmark, files)),
        env=environment(benchmark),
        timeout_s=benchmark.timeout_s,
        threads=benchmark.threads,
        cpus=benchmark.cpus,
    )


def in_turns(command: Command) -> Command:
    """The start of either runner for taking turns."""
    return command.replace_argv((*command.argv, "--turns"))


def wanted_iterations(benchmark: Benchmark) -> int:
    """Timed iterations of a launch, where the benchmark leaves it to us too."""
    return _DEFAULT_ITERATIONS if benchmark.iterations < 0 else benchmark.iterations


def wanted_warmup(benchmark: Benchmark) -> int:
    """Untimed iterations of a launch, where the benchmark leaves it to us too."""
    return _DEFAULT_WARMUP if benchmark.warmup < 0 else benchmark.warmup


def model_key(benchmark: Benchmark) -> str:
    """Which of its files is the model.

    Raises:
        BenchmarkFailed: It does not say.
    """
    keys = [file.key for file in benchmark.files]
    if "files.model" in keys:
        return "files.model"
    if len(keys) != 1:
        raise BenchmarkFailed(
            f"which file is the model? {benchmark.title} has {', '.join(keys) if keys else 'none'}",
            hint="name it `model` in the model's `files`, or give exactly one file",
        )
    return keys[0]


def outputs_base(benchmark: Benchmark, files: Mapping[str, str]) -> str:
    """The runner writes BASE-0.bin, BASE-1.bin, ...; the first output file says what BASE is.

    Raises:
        BenchmarkFailed: It says something else.
    """
    first = benchmark.output_files[0]
    path = files.get(first.key, first.location)
    if not path.endswith(_FIRST_OUTPUT):
        raise BenchmarkFailed(
            f"the runner cannot write its first output to {path}",
            hint=f"let its location end with {_FIRST_OUTPUT}, the next one's with -1.bin, and so on",
        )
    return path.removesuffix(_FIRST_OUTPUT)


def further_arguments(benchmark: Benchmark, files: Mapping[str, str]) -> list[str]:
    """The words of `command_args`.

    Raises:
        BenchmarkFailed: They cannot be taken apart, or name something that has no value.
    """
    try:
        words = shlex.split(benchmark.arguments)
        return [substitute(word, {**benchmark.variables, **files}) for word in words]
    except (ValueError, PlaceholderProblem) as error:
        raise BenchmarkFailed(f"`command_args` of {benchmark.title} cannot be used: {error}") from error


def environment(benchmark: Benchmark) -> Mapping[str, str]:
    """Variables of a launch."""
    # Some kernels of the Python runner use OpenMP besides the runtime's own pool.
    threads = {} if benchmark.threads is None else {"OMP_NUM_THREADS": str(benchmark.threads)}
    return {**threads, **benchmark.env}
