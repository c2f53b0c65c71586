"""Notes that qualify the numbers of a launch of our runners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from frameworks.command_line import iterations_of
from harness.core.benchmark import Benchmark
from harness.core.metric import Observation, convert
from harness.core.note import NO_OPERATORS, Note
from harness.core.order_statistics import median

DISTURBED: Final = 1.1
"""Ratio of median wall time to median CPU time above which another program used the CPU of the one thread; an
undisturbed run of one thread shows less than 1.01."""

_UNITS_NS: Final = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1))


def note_launch(
    observations: Sequence[Observation],
    benchmark: Benchmark,
    *,
    operators_hint: str = "leave out the times of operators: this runtime does not tell them",
) -> Iterator[Note]:
    """Yield every note that applies to the observations of a launch, in any framework.

    Args:
        observations: What the launch printed.
        benchmark: The benchmark.
        operators_hint: What to do where operators could not be timed.
    """
    yield from _note_time_limit(observations, benchmark)
    yield from _note_threads(observations, benchmark)
    yield from _note_observed_threads(observations, benchmark)
    yield from _note_disturbance(observations, benchmark)
    yield from _note_operators(observations, operators_hint)
    yield from _note_phases(observations)


def _note_time_limit(observations: Sequence[Observation], benchmark: Benchmark) -> Iterator[Note]:
    if find_observation(observations, "RUN stopped_early") is None:
        return
    done = find_observation(observations, "RUN iterations_done")
    count = f"{done.samples[-1]:.0f}" if done and done.samples else "some"
    yield Note(
        code="stopped_early",
        message=f"the time limit ended the launch after {count} of {iterations_of(benchmark)} iterations",
        hint="raise the time limit, or set fewer iterations",
    )


def _note_threads(observations: Sequence[Observation], benchmark: Benchmark) -> Iterator[Note]:
    wanted = benchmark.threads
    for user, metric in (("the runner", "RUN threads"), ("OpenVINO", "RUN openvino_threads")):
        used = find_observation(observations, metric)
        if wanted is None or used is None or all(count == wanted for count in used.samples):
            continue
        counts = ", ".join(sorted({f"{count:.0f}" for count in used.samples}))
        yield Note(
            code="threads",
            message=f"{user} used {counts} threads instead of {wanted}",
            hint="check whether `commands` or `command_args` set --threads as well",
            trust=False,
        )


def _note_observed_threads(observations: Sequence[Observation], benchmark: Benchmark) -> Iterator[Note]:
    """More threads than were asked for are more processor than others were given."""
    observed = find_observation(observations, "RUN threads_observed")
    wanted = benchmark.threads
    if wanted is None or observed is None or not observed.samples or max(observed.samples) <= wanted:
        return
    yield Note(
        code="threads_observed",
        message=f"{max(observed.samples):.0f} threads used CPU time while the model was executed, instead of {wanted}",
        hint="the runtime has threads beside those that it was told to use; compare with others at the same number",
        trust=False,
    )


def _note_disturbance(observations: Sequence[Observation], benchmark: Benchmark) -> Iterator[Note]:
    """With one thread, wall time that is not CPU time was spent waiting for the CPU."""
    threads = _count_threads(observations, benchmark)
    latency = find_observation(observations, "NET latency")
    cpu_time = find_observation(observations, "NET cpu_time")
    if threads != 1 or not (latency and latency.samples and cpu_time and cpu_time.samples):
        return
    wall_ns = convert(median(latency.samples), latency.unit, "ns")
    cpu_ns = convert(median(cpu_time.samples), cpu_time.unit, "ns")
    if wall_ns is None or cpu_ns is None or wall_ns <= DISTURBED * cpu_ns:
        return
    waiting = 1 - cpu_ns / wall_ns
    yield Note(
        code="disturbed",
        message=f"another program used the CPU for {100 * waiting:.0f} % of the time of a launch "
        f"(its median latency {_readable(wall_ns)}, median CPU time {_readable(cpu_ns)})",
        hint="close other programs, or name CPUs that nothing else uses with `--cpus`",
        trust=False,
        error=wall_ns / cpu_ns - 1 if cpu_ns else None,
    )


def _count_threads(observations: Sequence[Observation], benchmark: Benchmark) -> float | None:
    """Return how many threads computed: as the runtime tells, else as was observed, else as was asked for."""
    for name in ("RUN threads", "RUN threads_observed"):
        used = find_observation(observations, name)
        if used is not None and used.samples:
            return used.samples[-1]
    return benchmark.threads


def _note_operators(observations: Sequence[Observation], hint: str) -> Iterator[Note]:
    reason = find_observation(observations, f"RUN {NO_OPERATORS}")
    if reason is not None:
        yield Note(
            code=NO_OPERATORS,
            message=f"operators could not be timed: {reason.info}",
            hint=hint,
        )


def _note_phases(observations: Sequence[Observation]) -> Iterator[Note]:
    cold = find_observation(observations, "RUN cold_load_unavailable")
    if cold is not None:
        yield Note(
            code="cold_load_unavailable",
            message=f"loading from the disk could not be measured: {cold.info}",
            hint="let no other process use the model's file, and keep it on a disk",
        )
    peaks = find_observation(observations, "RUN peak_memory_unavailable")
    if peaks is not None:
        yield Note(
            code="peak_memory_unavailable",
            message=f"the peak of memory is that of the whole launch: {peaks.info}",
        )


def find_observation(observations: Sequence[Observation], name: str) -> Observation | None:
    """Return the observation with a name such as `NET latency`."""
    return next((observation for observation in observations if observation.name == name), None)


def _readable(duration_ns: float) -> str:
    """Format a duration with about three digits, in the largest unit that gives at least 1."""
    unit, size_ns = next((unit for unit in _UNITS_NS if duration_ns >= unit[1]), ("ns", 1))
    value = duration_ns / size_ns
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{decimals}f} {unit}"
