"""Results of `litert-benchmark`, which the package ai-edge-litert brings: as text, and as a file of JSON.

Source: ai_edge_litert/tools/benchmark_litert_model.py of ai-edge-litert 2.3.0. It rounds to 10 µs.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Final

from harness.core.metric import Observation
from harness.core.note import Note

_RESULTS: Final = "BENCHMARK RESULTS"
_LINE = re.compile(
    r"(?P<name>Model initialization|Warmup \((?:first|avg)\)|Inference \((?:avg|min|max|median|std|p5|p95)\)|"
    r"Throughput)"
    r": {1,40}(?P<value>\d{1,18}(?:\.\d{1,9})?) (?P<unit>ms|MB/s)(?: \((?P<runs>\d{1,9}) runs\))?"
)
_ACCELERATED = re.compile(r"Fully accelerated: {1,40}(True|False)")
_THREADS = re.compile(r"Num threads: {1,40}(\d{1,6})")
_MAX_JSON: Final = 1 << 20
"""Longest file that is taken for a result: one has a kilobyte."""

_STATISTICS: Final = {
    "avg": "mean", "min": "p0", "max": "p100", "median": "p50", "std": "stdev", "p5": "p5", "p95": "p95",
}  # fmt: skip


def is_text(text: str) -> bool:
    """Return whether a program printed a result of this tool."""
    return _RESULTS in text


def parse_text(text: str) -> tuple[tuple[Observation, ...], tuple[Note, ...]]:
    """Parse what it prints. Never raises; what cannot be read is noted."""
    # Its own log comes first, in whichever of the two outputs; the last result counts.
    result = text[text.rfind(_RESULTS) :]
    values = {match["name"]: float(match["value"]) for match in _LINE.finditer(result)}
    runs = {match["name"]: float(match["runs"]) for match in _LINE.finditer(result) if match["runs"]}
    latency = {
        usual: values[f"Inference ({name})"] for name, usual in _STATISTICS.items() if f"Inference ({name})" in values
    }
    if "Inference (avg)" in runs:
        latency["n"] = runs["Inference (avg)"]
    threads = _THREADS.search(text)
    accelerated = _ACCELERATED.search(result)
    observations = _observations(
        latency,
        load_ms=values.get("Model initialization"),
        first_ms=values.get("Warmup (first)"),
        warmup_ms=values.get("Warmup (avg)"),
        warmup_runs=runs.get("Warmup (avg)"),
        throughput=values.get("Throughput"),
        threads=float(threads[1]) if threads is not None else None,
        accelerated=accelerated[1] if accelerated is not None else None,
    )
    return tuple(observations), _note_lost(latency)


def is_json(text: str) -> bool:
    """Return whether a file is a result of this tool (`--result_json`)."""
    return len(text) <= _MAX_JSON and text.lstrip().startswith("{") and '"latency"' in text and '"avg_ms"' in text


def parse_json(text: str) -> tuple[tuple[Observation, ...], tuple[Note, ...]]:
    """Parse its file. Never raises; what cannot be read is noted."""
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"the result of litert-benchmark is not JSON: {error}"
        return (), (Note(code="bad_lines", message=message[:500], trust=False),)
    whole = document if isinstance(document, Mapping) else {}
    figures = whole.get("latency")
    figures = figures if isinstance(figures, Mapping) else {}
    printed = {usual: _number(figures.get(f"{name}_ms")) for name, usual in _STATISTICS.items()}
    latency = {name: value for name, value in printed.items() if value is not None}
    if (runs := _number(figures.get("num_runs"))) is not None and latency:
        latency["n"] = runs
    accelerated = whole.get("fully_accelerated")
    observations = _observations(
        latency,
        load_ms=_number(figures.get("init_ms")),
        first_ms=_number(figures.get("warmup_first_ms")),
        warmup_ms=_number(figures.get("warmup_avg_ms")),
        warmup_runs=_number(figures.get("num_warmup_runs")),
        throughput=_number(whole.get("throughput_mb_s")),
        threads=_number(whole.get("num_threads")),
        accelerated=str(accelerated) if isinstance(accelerated, bool) else None,
    )
    return tuple(observations), _note_lost(latency)


def _observations(
    latency: dict[str, float],
    *,
    load_ms: float | None,
    first_ms: float | None,
    warmup_ms: float | None,
    warmup_runs: float | None,
    throughput: float | None,
    threads: float | None,
    accelerated: str | None,
) -> Iterator[Observation]:
    if "mean" in latency:
        yield Observation(type="NET", metric="latency", unit="ms", summary=latency)
    if load_ms is not None:
        yield Observation(type="RUN", metric="load_time", unit="ms", samples=(load_ms,))
    if warmup_runs:  # without a warm-up the tool prints zeros
        if first_ms is not None:
            yield Observation(type="RUN", metric="first_iteration", unit="ms", samples=(first_ms,))
        if warmup_ms is not None:
            summary = {"mean": warmup_ms, "n": warmup_runs}
            yield Observation(type="RUN", metric="warmup_latency", unit="ms", summary=summary)
    if throughput is not None:
        yield Observation(type="RUN", metric="input_throughput", unit="MB/s", samples=(throughput,))
    if threads is not None:
        yield Observation(type="RUN", metric="threads", samples=(threads,))
    if accelerated is not None:
        yield Observation(type="RUN", metric="fully_accelerated", info=accelerated.lower())


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _note_lost(latency: Mapping[str, float]) -> tuple[Note, ...]:
    if "mean" in latency:
        return ()
    return (
        Note(
            code="lost_metric",
            message="litert-benchmark printed a result without a readable latency",
            hint="see the log of the launch",
            trust=False,
        ),
    )
