"""Statistics of a generation as ExecuTorch's LLM runners print and log them, and the figures that follow.

One flat object of counts of tokens and points in time, in whole milliseconds since an arbitrary start, and 0 for a
point that was never reached or a sum that was not kept, as those of the model's execution before mid 2026
(`extension/llm/runner/stats.h` of pytorch/executorch). `print_report` there prints it as JSON, which goes nowhere in an
app, and logs the same in sentences, on Android under the tag `ExecuTorch`:

    PyTorchObserver {"prompt_tokens": 17, "generated_tokens": 23, "inference_start_ms": 1795474295331, ...}
    Prompt Tokens: 17    Generated Tokens: 23
    Model Load Time: 0.281000 (seconds)
    Total inference time: 0.320000 (seconds)    Rate: 71.875000 (tokens/second)
    Prompt evaluation: 0.030000 (seconds)    Rate: 566.666667 (tokens/second)
    Generated 23 tokens: 0.290000 (seconds)    Rate: 79.310345 (tokens/second)
    Time to first generated token: 0.030000 (seconds)
    Sampling time over 40 tokens: 0.000000 (seconds)

Tokens that were generated are counted without the first, which the prompt gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

DURATIONS: Final = {
    "time_to_first_token": ("inference_start_ms", "first_token_ms"),
    "model_load_time": ("model_load_start_ms", "model_load_end_ms"),
    "tokenization_time": ("inference_start_ms", "token_encode_end_ms"),
    "prompt_eval_time": ("inference_start_ms", "prompt_eval_end_ms"),
    "inference_time": ("inference_start_ms", "inference_end_ms"),
}
"""Start and end of each duration. The time to the first token excludes loading the model, as upstream's does."""

_RATES: Final = {
    "generate_tokens_per_second": ("generated_tokens", "prompt_eval_end_ms", "inference_end_ms"),
    "prompt_tokens_per_second": ("prompt_tokens", "inference_start_ms", "prompt_eval_end_ms"),
}
"""Tokens of each rate, with start and end of their time."""

_SUMS: Final = {
    "sampling_time": "aggregate_sampling_time_ms",
    "model_execution_time": "aggregate_model_execution_time_ms",
}
"""Field of each sum of durations."""

FIELDS: Final = frozenset(
    {"prompt_tokens", "generated_tokens", *_SUMS.values()}
    | {moment for moments in DURATIONS.values() for moment in moments}
)
"""Fields by which the object is recognised."""

_COUNTS: Final = r"\bPrompt Tokens: (\d{1,9}) +Generated Tokens: (\d{1,9})\b"
_TIME: Final = (
    r"\b(Model Load Time|Total inference time|Prompt evaluation|Time to first generated token|"
    r"Sampling time over \d{1,9} tokens):\s{0,9}(\d{1,9}\.\d{1,9}) \(seconds\)"
)
_REPORTED: Final = {
    "Model Load Time": "model_load_end_ms",
    "Total inference time": "inference_end_ms",
    "Prompt evaluation": "prompt_eval_end_ms",
    "Time to first generated token": "first_token_ms",
    "Sampling time over": "aggregate_sampling_time_ms",
}
"""Field of each time of a report, which begins at `_START_MS`; the last is a sum."""

_START_MS: Final = 1.0
"""Start of everything in a report: any but 0, which stands for a point that was not reached."""


class StatisticsFigure(NamedTuple):
    """One figure of a generation.

    Attributes:
        metric: Its name.
        unit: Its unit.
        value: Its value.
    """

    metric: str
    unit: str
    value: float


class GenerationReport(NamedTuple):
    """Report of a generation.

    Attributes:
        line: Its first line, from 1.
        fields: Statistics that it tells, with points in time since an arbitrary start.
    """

    line: int
    fields: Mapping[str, float]


def compute_statistics(fields: Mapping[str, float]) -> Iterator[StatisticsFigure]:
    """Yield everything that the fields suffice for; first the rate that a generation is about."""
    for name, (tokens, start, end) in _RATES.items():
        duration_ms = _duration_ms(fields, start, end)
        if duration_ms and tokens in fields:  # within one tick of the clock there is no rate
            yield StatisticsFigure(name, "tokens/s", fields[tokens] * 1000 / duration_ms)
    for name, (start, end) in DURATIONS.items():
        duration_ms = _duration_ms(fields, start, end)
        if duration_ms is not None:
            yield StatisticsFigure(name, "ms", duration_ms)
    for name, field in _SUMS.items():
        if fields.get(field):
            yield StatisticsFigure(name, "ms", fields[field])
    for name in ("prompt_tokens", "generated_tokens"):
        if name in fields:
            yield StatisticsFigure(name, "tokens", fields[name])


def read_reports(log: str) -> Iterator[GenerationReport]:
    """Yield the reports in a log. A time of 0 was not measured, and is absent."""
    report: GenerationReport | None = None
    fields: dict[str, float] = {}
    for number, line in enumerate(log.split("\n"), 1):
        if (counts := re.search(_COUNTS, line)) is not None:
            if report is not None:
                yield report
            fields = {"prompt_tokens": float(counts[1]), "generated_tokens": float(counts[2])}
            fields |= {"model_load_start_ms": _START_MS, "inference_start_ms": _START_MS}
            report = GenerationReport(number, fields)
        elif report is not None and "(seconds)" in line and (time := re.search(_TIME, line)) is not None:
            field = next(field for words, field in _REPORTED.items() if time[1].startswith(words))
            duration_ms = float(time[2]) * 1000
            if duration_ms:
                fields[field] = duration_ms if field.startswith("aggregate") else _START_MS + duration_ms
    if report is not None:
        yield report


def _duration_ms(fields: Mapping[str, float], start: str, end: str) -> float | None:
    if not fields.get(start) or not fields.get(end) or fields[end] < fields[start]:
        return None
    return fields[end] - fields[start]
