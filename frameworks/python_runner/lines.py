"""Observer lines of a run; the package's text describes them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from frameworks.python_runner.engine import OperatorTimes
from frameworks.python_runner.measure import RunnerTimes
from frameworks.python_runner.pacing import KeptSamples
from frameworks.python_runner.phases import Phases


class ColdLoad(NamedTuple):
    """Loading without the page cache: why it was not, or the time until the program was loaded."""

    unavailable: str | None
    program_load_time_ns: int


@dataclass(frozen=True, slots=True)
class Run:
    """Result of one run.

    Attributes:
        threads: Number of threads, as the runtime tells it; None where it does not.
        threads_observed: Number of threads that used CPU time while it iterated; None where the system does not tell.
        load_time_ns: From opening the file to a model that can be executed.
        memory: Resident bytes by metric, where the system reports them.
        measurement: The samples.
        texts: What the runtime tells of itself.
        operators_requested: Whether the times of operators were requested.
        operators: The times of operators; None where the runtime does not tell them.
        cold: Loading from the disk, where that was asked for.
        phases: Memory of each phase, where that was asked for.
        planned: Bytes that the runtime plans, by metric, where that was asked for.
        generation: Lines of generations instead of latencies, where that was asked for.
        is_long: Whether it was a long run.
    """

    threads: int | None
    threads_observed: int | None
    load_time_ns: int
    memory: Mapping[str, int | None]
    measurement: RunnerTimes
    texts: Mapping[str, str | int]
    operators_requested: bool
    operators: Sequence[OperatorTimes] | None
    cold: ColdLoad | None
    phases: Phases | None
    planned: Mapping[str, int]
    generation: Sequence[str] | None = None
    is_long: bool = False


def observer_lines(result: Run) -> Iterator[str]:
    """Yield what is printed of a measurement."""
    measurement = result.measurement
    latencies = (number_line("NET", "latency", "ns", value) for value in measurement.wall_ns)
    if not result.is_long:  # of a long run the stamps of all tokens are too many
        yield from latencies if result.generation is None else result.generation
    yield from (number_line("NET", "cpu_time", "ns", value) for value in measurement.cpu_ns)
    if measurement.paced is not None:
        yield from _paced_lines(measurement.paced, is_long=result.is_long, generates=result.generation is not None)
    if result.cold is not None:
        yield from _cold_lines(result.cold, result)
    else:
        yield number_line("RUN", "load_time", "ns", result.load_time_ns)
        yield number_line("RUN", "first_iteration", "ns", measurement.first_iteration_ns)
    for metric, size in result.memory.items():
        if size is not None:
            yield number_line("RUN", metric, "bytes", size)
    if result.phases is not None:
        yield from _phase_lines(result.phases, result.planned)
    if result.threads is not None:
        yield number_line("RUN", "threads", "", result.threads)
    if result.threads_observed is not None:
        yield number_line("RUN", "threads_observed", "", result.threads_observed)
    yield number_line("RUN", "warmup_done", "", measurement.warmup_done)
    yield number_line("RUN", "iterations_done", "", measurement.iterations_done)
    yield from _describe(result.texts)
    if measurement.stopped_by_time_limit:
        yield _text("stopped_early", "time_limit")
    if result.operators_requested:
        yield from _operator_lines(result.operators)


def _paced_lines(paced: KeptSamples, *, is_long: bool, generates: bool) -> Iterator[str]:
    """Yield iterations with their own times."""
    rates = (sample.tokens_per_s for sample in paced.samples) if is_long else ()
    yield from (number_line("NET", "decode_rate", "tokens/s", float(f"{rate:.9g}")) for rate in rates if rate)
    if is_long or not generates:
        yield from (number_line("NET", "latency", "ns", sample.wall_ns) for sample in paced.samples)
    yield from (number_line("NET", "cpu_time", "ns", sample.cpu_ns) for sample in paced.samples)
    yield from (number_line("NET", "start_time", "ns", sample.start_ns) for sample in paced.samples)
    responses = (sample.response_ns for sample in paced.samples)
    yield from (number_line("NET", "response_time", "ns", response) for response in responses if response is not None)
    if paced.stride > 1:
        yield number_line("RUN", "samples_thinned", "", paced.stride)


def example_lines(
    descriptions: Sequence[str],
    count: int,
    *,
    peak: int | None,
    threads: int | None,
    texts: Mapping[str, str | int],
) -> Iterator[str]:
    """Yield what is printed of examples: the description of each output, and what every launch tells of itself."""
    for index, description in enumerate(descriptions):
        yield _text(f"output_{index}", description)
    if peak is not None:
        yield number_line("RUN", "peak_memory", "bytes", peak)
    yield number_line("RUN", "examples_done", "", count)
    if threads is not None:
        yield number_line("RUN", "threads", "", threads)
    yield from _describe(texts)


def _describe(texts: Mapping[str, str | int]) -> Iterator[str]:
    for name, text in texts.items():
        yield _text(name, text) if isinstance(text, str) else number_line("RUN", name, "", text)


def _cold_lines(cold: ColdLoad, result: Run) -> Iterator[str]:
    if cold.unavailable is not None:
        yield _text("cold_load_unavailable", cold.unavailable)
        return
    yield number_line("RUN", "cold_load_time", "ns", result.load_time_ns)
    yield number_line("RUN", "cold_program_load_time", "ns", cold.program_load_time_ns)
    yield number_line("RUN", "cold_first_iteration", "ns", result.measurement.first_iteration_ns)


def _phase_lines(phases: Phases, planned: Mapping[str, int]) -> Iterator[str]:
    for metric, size in {**phases.metrics, **planned}.items():
        yield number_line("RUN", metric, "bytes", size)
    if not phases.has_peaks:
        yield _text("peak_memory_unavailable", "this system does not let a process reset its peak between phases")


def _operator_lines(operators: Sequence[OperatorTimes] | None) -> Iterator[str]:
    if not operators:
        reason = "the Python runner cannot time them" if operators is None else "the runtime told none"
        yield _text("operators_unavailable", reason)
        return
    seen: Counter[str] = Counter()
    for operator in operators:
        seen[operator.name] += 1
        kind = f"{operator.name} #{seen[operator.name]}"
        for sample in operator.samples_us:
            yield number_line(kind, "latency", "us", sample)
    yield _text("operator_places", " ".join(operator.place for operator in operators))


def number_line(kind: str, metric: str, unit: str, value: float) -> str:
    """Return the line of one number."""
    return "PyTorchObserver " + json.dumps({"type": kind, "metric": metric, "unit": unit, "value": str(value)})


def _text(metric: str, text: str) -> str:
    return "PyTorchObserver " + json.dumps({"type": "RUN", "metric": metric, "unit": "", "info_string": text})
