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
from typing import NamedTuple

from frameworks.executorch.python.examples import run_examples
from frameworks.executorch.python.extension import load_runtime, set_threads
from frameworks.executorch.python.program import load_method, make_inputs, write_outputs
from frameworks.executorch.python.program_file import read_signature
from frameworks.python_runner.arguments import Arguments, parse_arguments
from frameworks.python_runner.failure import ExitStatus, RunnerFailure, explain_failures
from frameworks.python_runner.machine import is_mapped, memory_bytes
from frameworks.python_runner.measure import Loop, RunnerTimes, measure
from frameworks.python_runner.page_cache import drop_from_page_cache
from frameworks.python_runner.phases import Phases
from frameworks.python_runner.turns import read_turns


class ColdLoad(NamedTuple):
    """Loading without the page cache: why it was not, or the time until the program was loaded."""

    unavailable: str | None
    program_load_time_ns: int


class PhaseMemory(NamedTuple):
    """Memory by phase, with the sizes of planned buffers."""

    phases: Phases
    planned_bytes: tuple[int, ...]


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
        cold: Loading from the disk, where that was asked for.
        phases: Memory of each phase, where that was asked for.
    """

    threads: int
    load_time_ns: int
    memory: dict[str, int | None]
    measurement: RunnerTimes
    operators: bool = False
    openvino: bool = False
    cold: ColdLoad | None = None
    phases: PhaseMemory | None = None


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
    phases = Phases(is_recording=arguments.phases)
    unavailable = drop_from_page_cache(arguments.model).unavailable if arguments.cold else None
    program_loaded = 0

    def end_program_load() -> None:
        nonlocal program_loaded
        program_loaded = time.perf_counter_ns()
        phases.end("program_load", "program_load")

    begin = time.perf_counter_ns()
    program, method = load_method(runtime, arguments.model, arguments.method, log, end_program_load)
    load_time_ns = time.perf_counter_ns() - begin
    after = memory_bytes("VmRSS")
    phases.end("method_load", "load")

    inputs = make_inputs(method.method_meta(), arguments.inputs)
    # With one thread everything happens on ours; with more, the work of the whole pool counts.
    openvino = is_mapped("libopenvino_c.so")  # it has threads of its own
    cpu_clock = time.thread_time_ns if threads == 1 and not openvino else time.process_time_ns
    gc.collect()
    gc.disable()  # a collection would disturb an iteration
    with explain_failures(ExitStatus.NOT_EXECUTED, "the program failed while it was executed", log):
        turns = read_turns(sys.stdin, sys.stdout) if arguments.turns else None
        measurement = measure(Loop(method, inputs, cpu_clock), arguments, turns)
    last_peak = memory_bytes("VmHWM")
    phases.end("first_execution", "first_execution")
    peak = phases.whole_peak(last_peak)
    if arguments.outputs:
        write_outputs(method.get_outputs(clone_outputs=False), arguments.outputs)
    del method, program  # in this order
    memory = {"memory_before_load": before, "memory_after_load": after, "peak_memory": peak}
    planned = read_signature(arguments.model, arguments.method).planned_bytes if arguments.phases else ()
    return Run(
        threads,
        load_time_ns,
        memory,
        measurement,
        arguments.operators,
        openvino,
        cold=ColdLoad(unavailable, program_loaded - begin) if arguments.cold else None,
        phases=PhaseMemory(phases, planned) if arguments.phases else None,
    )


def observer_lines(result: Run) -> Iterator[str]:
    """Yield what is printed (see the package's text)."""
    measurement = result.measurement
    for value in measurement.wall_ns:
        yield _number("NET", "latency", "ns", value)
    for value in measurement.cpu_ns:
        yield _number("NET", "cpu_time", "ns", value)
    if result.cold is not None:
        yield from _cold_lines(result.cold, result)
    else:
        yield _number("RUN", "load_time", "ns", result.load_time_ns)
        yield _number("RUN", "first_iteration", "ns", measurement.first_iteration_ns)
    for metric, size in result.memory.items():
        if size is not None:
            yield _number("RUN", metric, "bytes", size)
    if result.phases is not None:
        yield from _phase_lines(result.phases)
    yield _number("RUN", "threads", "", result.threads)
    yield _number("RUN", "warmup_done", "", measurement.warmup_done)
    yield _number("RUN", "iterations_done", "", len(measurement.wall_ns))
    yield from _launch_lines(openvino=result.openvino)
    if measurement.stopped_by_time_limit:
        yield _text("stopped_early", "time_limit")
    if result.operators:
        yield _text("operators_unavailable", "the Python runner cannot time them")


def _cold_lines(cold: ColdLoad, result: Run) -> Iterator[str]:
    if cold.unavailable is not None:
        yield _text("cold_load_unavailable", cold.unavailable)
        return
    yield _number("RUN", "cold_load_time", "ns", result.load_time_ns)
    yield _number("RUN", "cold_program_load_time", "ns", cold.program_load_time_ns)
    yield _number("RUN", "cold_first_iteration", "ns", result.measurement.first_iteration_ns)


def _phase_lines(memory: PhaseMemory) -> Iterator[str]:
    for metric, size in memory.phases.metrics.items():
        yield _number("RUN", metric, "bytes", size)
    yield _number("RUN", "planned_memory", "bytes", sum(memory.planned_bytes))
    if len(memory.planned_bytes) > 1:
        for index, size in enumerate(memory.planned_bytes):
            yield _number("RUN", f"planned_memory_{index}", "bytes", size)
    if not memory.phases.has_peaks:
        yield _text("peak_memory_unavailable", "this system does not let a process reset its peak between phases")


def _launch_lines(*, openvino: bool) -> Iterator[str]:
    """Yield what both kinds of launches tell of themselves."""
    yield _text("runtime", f"executorch {metadata.version('executorch')} python")
    if openvino:
        yield _text("openvino_precision", "unknown")


def _number(kind: str, metric: str, unit: str, value: int) -> str:
    return "PyTorchObserver " + json.dumps({"type": kind, "metric": metric, "unit": unit, "value": str(value)})


def _text(metric: str, text: str) -> str:
    return "PyTorchObserver " + json.dumps({"type": "RUN", "metric": metric, "unit": "", "info_string": text})
