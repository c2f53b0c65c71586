"""One run: load, warm up, iterate, print observer lines. Prints nothing while it iterates."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata

from frameworks.executorch.python.arguments import Arguments, parse_arguments
from frameworks.executorch.python.examples import run_examples
from frameworks.executorch.python.extension import load_runtime, set_threads
from frameworks.executorch.python.failure import ExitStatus, RunnerFailure, explain_failures
from frameworks.executorch.python.machine import is_mapped, memory_bytes
from frameworks.executorch.python.measure import Loop, RunnerTimes, measure
from frameworks.executorch.python.program import load_method, make_inputs, write_outputs
from frameworks.executorch.python.turns import read_turns


@dataclass(frozen=True, slots=True)
class Run:
    """Result of one run.

    Attributes:
        threads: Size of the pool.
        load_time_ns: From opening the file to a method with initialised delegates.
        memory: Resident bytes by metric, where the system reports them.
        measurement: The samples.
        operators: Whether the times of operators were requested.
        openvino: Whether the program has loaded OpenVINO.
    """

    threads: int
    load_time_ns: int
    memory: dict[str, int | None]
    measurement: RunnerTimes
    operators: bool = False
    openvino: bool = False


def main(argv: Sequence[str]) -> ExitStatus:
    """Run, print the results, and return the exit status."""
    log = io.StringIO()
    try:
        arguments = parse_arguments(argv)
        with contextlib.redirect_stderr(log):  # where the extension sends the runtime's log
            lines = list(
                execute_examples(arguments, log) if arguments.examples else observer_lines(run(arguments, log))
            )
    except RunnerFailure as failure:
        sys.stderr.write(log.getvalue())
        print(f"error: {failure}", file=sys.stderr)
        return failure.status
    sys.stderr.write(log.getvalue())
    print("\n".join(lines), flush=True)
    return ExitStatus.OK


def execute_examples(arguments: Arguments, log: io.StringIO) -> Iterator[str]:
    """Execute examples, and yield what is printed of them. Arguments and errors as for `run`."""
    runtime = load_runtime()
    threads = set_threads(runtime, arguments.threads)
    log.truncate(log.seek(0))
    program, method = load_method(runtime, arguments.model, arguments.method, log)
    outputs = run_examples(method, arguments, log)
    peak = memory_bytes("VmHWM")
    del method, program  # in this order
    for index, description in enumerate(outputs):
        yield _text(f"output_{index}", description)
    if peak is not None:
        yield _number("RUN", "peak_memory", "bytes", peak)
    yield _number("RUN", "examples_done", "", arguments.examples or 0)
    yield _number("RUN", "threads", "", threads)
    yield from _launch_lines(openvino=is_mapped("libopenvino_c.so"))


def run(arguments: Arguments, log: io.StringIO) -> Run:
    """Measure.

    Args:
        arguments: The arguments of the command line.
        log: Receives the log of the runtime.

    Raises:
        RunnerFailure: The program cannot be measured.
    """
    runtime = load_runtime()
    threads = set_threads(runtime, arguments.threads)
    log.truncate(log.seek(0))
    before = memory_bytes("VmRSS")
    begin = time.perf_counter_ns()
    program, method = load_method(runtime, arguments.model, arguments.method, log)
    load_time_ns = time.perf_counter_ns() - begin
    after = memory_bytes("VmRSS")

    inputs = make_inputs(method.method_meta(), arguments.inputs)
    # With one thread everything happens on ours; with more, the work of the whole pool counts.
    openvino = is_mapped("libopenvino_c.so")  # it has threads of its own
    cpu_clock = time.thread_time_ns if threads == 1 and not openvino else time.process_time_ns
    gc.collect()
    gc.disable()  # a collection would disturb an iteration
    with explain_failures(ExitStatus.NOT_EXECUTED, "the program failed while it was executed", log):
        turns = read_turns(sys.stdin, sys.stdout) if arguments.turns else None
        measurement = measure(Loop(method, inputs, cpu_clock), arguments, turns)
    peak = memory_bytes("VmHWM")
    if arguments.outputs:
        write_outputs(method.get_outputs(clone_outputs=False), arguments.outputs)
    del method, program  # in this order
    memory = {"memory_before_load": before, "memory_after_load": after, "peak_memory": peak}
    return Run(threads, load_time_ns, memory, measurement, arguments.operators, openvino)


def observer_lines(result: Run) -> Iterator[str]:
    """Yield what is printed (see the package's text)."""
    measurement = result.measurement
    for value in measurement.wall_ns:
        yield _number("NET", "latency", "ns", value)
    for value in measurement.cpu_ns:
        yield _number("NET", "cpu_time", "ns", value)
    yield _number("RUN", "load_time", "ns", result.load_time_ns)
    yield _number("RUN", "first_iteration", "ns", measurement.first_iteration_ns)
    for metric, size in result.memory.items():
        if size is not None:
            yield _number("RUN", metric, "bytes", size)
    yield _number("RUN", "threads", "", result.threads)
    yield _number("RUN", "warmup_done", "", measurement.warmup_done)
    yield _number("RUN", "iterations_done", "", len(measurement.wall_ns))
    yield from _launch_lines(openvino=result.openvino)
    if measurement.stopped_by_time_limit:
        yield _text("stopped_early", "time_limit")
    if result.operators:
        yield _text("operators_unavailable", "the Python runner cannot time them")


def _launch_lines(*, openvino: bool) -> Iterator[str]:
    """Yield what both kinds of launches tell of themselves."""
    yield _text("runtime", f"executorch {metadata.version('executorch')} python")
    if openvino:
        yield _text("openvino_precision", "unknown")


def _number(kind: str, metric: str, unit: str, value: int) -> str:
    return "PyTorchObserver " + json.dumps({"type": kind, "metric": metric, "unit": unit, "value": str(value)})


def _text(metric: str, text: str) -> str:
    return "PyTorchObserver " + json.dumps({"type": "RUN", "metric": metric, "unit": "", "info_string": text})
