"""ExecuTorch as a framework: gets a runner, composes its command line, reads what it prints."""

from __future__ import annotations

import re
import shlex
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from frameworks.executorch import runners
from frameworks.observer import parse_lines
from harness.core.benchmark import Benchmark, Export
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.device import Device
from harness.core.errors import BenchmarkUnsupported, BuildFailed
from harness.core.files import ExportReport
from harness.core.metric import Observation, convert
from harness.core.placeholders import PlaceholderProblem, substitute
from harness.core.protocols import Progress, Task
from harness.core.result import Note
from harness.settings import Settings

DEFAULT_WARMUP = 10
DEFAULT_ITERATIONS = 50

DISTURBED = 1.1
"""Wall time over CPU time, of medians, above which one thread cannot have had the CPU for itself: a quiet run of one
thread shows less than 1.01."""


class ExecuTorch:
    """The framework plug-in (`harness.core.protocols.Framework` and `Exporter`)."""

    name = "executorch"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._build: Build | None = None

    def build(self, device: Device, progress: Progress) -> Build:
        """The runner of the installed wheel, made on first use; or the programs that the user gave."""
        if device.platform != "host" and not self._settings.program:
            raise BuildFailed(
                f"there is no ExecuTorch runner for {device.platform} devices yet",
                hint="run on the host, or give a program made for the device with --program and `commands`",
            )
        if self._build is None:
            self._build = runners.installed_build(self._settings, progress)
        return self._build

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        """The runner's command line; both runners take the same (see `python_runner`)."""
        argv = [
            *_program(build, files),
            *("--model", files[_model_key(benchmark)]),
            *("--warmup", str(DEFAULT_WARMUP if benchmark.warmup < 0 else benchmark.warmup)),
            *("--iter", str(DEFAULT_ITERATIONS if benchmark.iterations < 0 else benchmark.iterations)),
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
            argv += ["--outputs", _outputs_base(benchmark, files)]
        if "method" in benchmark.variables:
            argv += ["--method", benchmark.variables["method"]]
        return Command(
            argv=(*argv, *_arguments(benchmark, files)),
            env=_environment(benchmark),
            timeout_s=benchmark.timeout_s,
            threads=benchmark.threads,
            cpus=benchmark.cpus,
        )

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        """Observer lines; where there is no latency among them, the log of upstream's `executor_runner`."""
        text = "\n".join(said for one in completed for said in (one.stdout, one.stderr))
        observations, notes = parse_lines(text)
        if _find(observations, "NET latency") is None:
            observations += parse_executor_runner(text)
        return observations, (*notes, *_judge(observations, benchmark))

    def fingerprint(self, export: Export) -> Mapping[str, str]:
        """Everything beside the request that determines an exported program."""
        from frameworks.executorch import exporter  # noqa: PLC0415 - only exports need it

        return exporter.fingerprint(export)

    def export(self, export: Export, destination: Path, progress: Task) -> ExportReport:
        """Write the program to `destination`."""
        from frameworks.executorch import exporter  # noqa: PLC0415 - only exports need it

        return exporter.export(export, destination, progress)


# --- composing the command ---------------------------------------------------------------------------------------


def _program(build: Build, files: Mapping[str, str]) -> tuple[str, ...]:
    if "program" not in files:
        raise BenchmarkUnsupported("the build has no runner", hint="name one: --program program=PATH")
    interpreter = build.variables.get("interpreter")
    return (files["program"],) if interpreter is None else (interpreter, files["program"])


def _model_key(benchmark: Benchmark) -> str:
    keys = [file.key for file in benchmark.files]
    if "files.model" in keys:
        return "files.model"
    if len(keys) != 1:
        raise BenchmarkUnsupported(
            f"which file is the model? {benchmark.title} has {', '.join(keys) if keys else 'none'}",
            hint="name it `model` in the model's `files`, or give exactly one file",
        )
    return keys[0]


_FIRST_OUTPUT = "-0.bin"


def _outputs_base(benchmark: Benchmark, files: Mapping[str, str]) -> str:
    """The runner writes BASE-0.bin, BASE-1.bin, ...; the first output file says what BASE is."""
    first = benchmark.output_files[0]
    path = files.get(first.key, first.location)
    if not path.endswith(_FIRST_OUTPUT):
        raise BenchmarkUnsupported(
            f"the runner cannot write its first output to {path}",
            hint=f"let its location end with {_FIRST_OUTPUT}, the next one's with -1.bin, and so on",
        )
    return path.removesuffix(_FIRST_OUTPUT)


def _arguments(benchmark: Benchmark, files: Mapping[str, str]) -> list[str]:
    try:
        words = shlex.split(benchmark.arguments)
        return [substitute(word, {**benchmark.variables, **files}) for word in words]
    except (ValueError, PlaceholderProblem) as error:
        raise BenchmarkUnsupported(f"`command_args` of {benchmark.title} cannot be used: {error}") from error


def _environment(benchmark: Benchmark) -> Mapping[str, str]:
    # Some kernels of the Python runner use OpenMP besides the runtime's own pool.
    threads = {} if benchmark.threads is None else {"OMP_NUM_THREADS": str(benchmark.threads)}
    return {**threads, **benchmark.env}


# --- reading -----------------------------------------------------------------------------------------------------

_LOADED = re.compile(r"Model loaded in ([0-9.]+) ms\.")
_ITERATION = re.compile(r"Iteration \d+ of \d+: ([0-9.]+) ms")
_EXECUTED = re.compile(r"Model executed successfully (\d+) time\(s\) in ([0-9.]+) ms\.")


def parse_executor_runner(log: str) -> tuple[Observation, ...]:
    """What upstream's `executor_runner` logs (examples/portable/executor_runner/executor_runner.cpp).

    Matches the messages alone: their line numbers and times move with commits. Releases before 1.3 log the total of
    all executions only, which becomes a mean.
    """
    loaded = _milliseconds(_LOADED.findall(log))
    iterations = _milliseconds(_ITERATION.findall(log))
    totals = [(int(count), value) for count, text in _EXECUTED.findall(log) for value in _milliseconds([text])]
    found = []
    if iterations:
        found.append(Observation(type="NET", metric="latency", unit="ms", samples=iterations))
    elif executions := sum(count for count, _ in totals):
        mean = sum(value for _, value in totals) / executions
        found.append(Observation(type="NET", metric="latency", unit="ms", summary={"mean": mean}))
    if loaded:
        found.append(Observation(type="RUN", metric="load_time", unit="ms", samples=loaded))
    return tuple(found)


def _milliseconds(texts: Sequence[str]) -> tuple[float, ...]:
    return tuple(float(text) for text in texts if re.fullmatch(r"\d+(\.\d+)?", text))


def _judge(observations: Sequence[Observation], benchmark: Benchmark) -> Iterator[Note]:
    yield from _judge_end(observations, benchmark)
    yield from _judge_threads(observations, benchmark)
    yield from _judge_cpu(observations, benchmark)


def _judge_end(observations: Sequence[Observation], benchmark: Benchmark) -> Iterator[Note]:
    if _find(observations, "RUN stopped_early") is None:
        return
    wanted = DEFAULT_ITERATIONS if benchmark.iterations < 0 else benchmark.iterations
    done = _find(observations, "RUN iterations_done")
    made = f"{done.samples[-1]:.0f}" if done and done.samples else "some"
    yield Note(
        code="stopped_early",
        message=f"the time limit ended the launch after {made} of {wanted} iterations",
        hint="raise the time limit, or ask for fewer iterations",
    )


def _judge_threads(observations: Sequence[Observation], benchmark: Benchmark) -> Iterator[Note]:
    used = _find(observations, "RUN threads")
    wanted = benchmark.threads
    if wanted is None or used is None or all(count == wanted for count in used.samples):
        return
    counts = ", ".join(sorted({f"{count:.0f}" for count in used.samples}))
    yield Note(
        code="threads",
        message=f"the runner used {counts} threads where {wanted} were asked for",
        hint="see whether `commands` or `command_args` set --threads as well",
        trust=False,
    )


def _judge_cpu(observations: Sequence[Observation], benchmark: Benchmark) -> Iterator[Note]:
    """With one thread, wall time that is not CPU time was spent waiting for the CPU."""
    used = _find(observations, "RUN threads")
    threads = used.samples[-1] if used and used.samples else benchmark.threads
    latency, cpu_time = _find(observations, "NET latency"), _find(observations, "NET cpu_time")
    if threads != 1 or not (latency and latency.samples and cpu_time and cpu_time.samples):
        return
    wall = statistics.median(latency.samples)
    cpu = convert(statistics.median(cpu_time.samples), cpu_time.unit, latency.unit)
    if cpu is None or wall <= DISTURBED * cpu:
        return
    yield Note(
        code="disturbed",
        message=f"another program took the CPU from the runner: of {wall:.6g} {latency.unit} latency only "
        f"{cpu:.6g} {latency.unit} were spent computing (medians)",
        hint="close other programs, or pin the runner to a CPU that nothing else uses",
        trust=False,
    )


def _find(observations: Sequence[Observation], name: str) -> Observation | None:
    return next((observation for observation in observations if observation.name == name), None)
