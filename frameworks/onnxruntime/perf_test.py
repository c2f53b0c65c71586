"""Output of `onnxruntime_perf_test`: lines `name: number unit` (onnxruntime/test/perftest/performance_runner.cc).

It prints statistics and no samples. Percentiles are the elements `n * share` of the sorted times, in seconds with six
digits; the average is that of all inferences. A run that was ended prints neither.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from frameworks.observations.converters import Parsed
from harness.core.benchmark import Benchmark
from harness.core.command import Completed
from harness.core.metric import Observation
from harness.core.note import Note

_NUMBER: Final = r"(?P<value>\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_LINE: Final = re.compile(
    rf"\s*(?P<name>[A-Z][\w ]{{2,60}}?) ?: ?{_NUMBER}(?: ?(?P<unit>s|ms|bytes|%))?(?: \([^)]*\))?\s*"
)

_STATISTICS: Final = {
    "Min Latency": "p0",
    "Max Latency": "p100",
    "P50 Latency": "p50",
    "P90 Latency": "p90",
    "P95 Latency": "p95",
    "P99 Latency": "p99",
    "P999 Latency": "p99.9",
}
"""Statistics of the latency by the names of their lines, in seconds."""

_AVERAGES: Final = ("Average inference time cost total", "Average inference time cost")
"""Names of the average, in milliseconds: today's and the earlier one."""

_RUNS: Final = ("Total inference requests", "Runs")

_OTHERS: Final = {
    "Session creation time cost": ("RUN", "load_time", "s"),
    "First inference time cost": ("RUN", "first_iteration", "ms"),
    "Number of inferences per second": ("NET", "throughput", "1/s"),
    "Peak working set size": ("RUN", "peak_memory", "bytes"),
    "Avg CPU usage": ("RUN", "cpu_usage", "%"),
}
"""Type, metric and unit of further lines."""


def read_output(completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:  # noqa: ARG001 - a `ReadOutput`
    """Return the observations of a launch; none where it was no `onnxruntime_perf_test`, or failed."""
    found: dict[str, tuple[float, str]] = {}
    for command in completed:
        for line in command.stdout.splitlines():
            match = _LINE.fullmatch(line) if len(line) < 200 else None
            if match is not None:
                found.setdefault(match["name"], (float(match["value"]), match["unit"] or ""))
    average = next((found[name][0] for name in _AVERAGES if name in found), None)
    if average is None or not all(command.ok for command in completed):
        return (), ()
    observations = [
        Observation(type=type_, metric=metric, unit=unit, samples=(found[name][0],))
        for name, (type_, metric, unit) in _OTHERS.items()
        if name in found and found[name][0] > 0
    ]
    summary = {"mean": average, **_read_percentiles(found)}
    latency = Observation(type="NET", metric="latency", unit="ms", summary=summary)
    return (latency, *observations), _note(found, summary)


def _read_percentiles(found: Mapping[str, tuple[float, str]]) -> dict[str, float]:
    """Return the statistics in milliseconds, and the number of inferences."""
    runs = next((found[name][0] for name in _RUNS if name in found), None)
    counts = {} if runs is None else {"n": runs}
    return {**counts, **{key: 1000 * found[name][0] for name, key in _STATISTICS.items() if name in found}}


def _note(found: Mapping[str, tuple[float, str]], summary: Mapping[str, float]) -> tuple[Note, ...]:
    notes = []
    if "p50" not in summary:
        notes.append(
            Note(code="perf_test", message="onnxruntime_perf_test printed no percentiles", hint="start it with -s")
        )
    times, total = found.get("Total inference time cost"), found.get("Total inference run time")
    if times is not None and total is not None and times[0] > 1.05 * total[0] > 0:
        message = f"inferences ran beside each other: {times[0]:g} s of them in {total[0]:g} s"
        notes.append(Note(code="perf_test", message=message, hint="start it with -c 1", trust=False))
    return tuple(notes)
