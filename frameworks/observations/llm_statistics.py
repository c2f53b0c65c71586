"""What ExecuTorch's LLM runners print: counts of tokens and points in time, in one flat object.

Source of fields and definitions: `extension/llm/runner/stats.h` of pytorch/executorch (`stats_to_json_string`,
`print_report`). Points in time are whole milliseconds since an arbitrary start; 0 means that it was never reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

_DURATIONS: Final = {
    "model_load_time": ("model_load_start_ms", "model_load_end_ms"),
    "time_to_first_token": ("inference_start_ms", "first_token_ms"),
    "prompt_eval_time": ("inference_start_ms", "prompt_eval_end_ms"),
    "inference_time": ("inference_start_ms", "inference_end_ms"),
}
"""First and last moment of each duration. The time to the first token excludes loading the model, as upstream's."""

_RATES: Final = {
    "prompt_tokens_per_second": ("prompt_tokens", "inference_start_ms", "prompt_eval_end_ms"),
    "generate_tokens_per_second": ("generated_tokens", "prompt_eval_end_ms", "inference_end_ms"),
}
"""Tokens, and first and last moment of the time they took."""

FIELDS: Final = frozenset(
    {"prompt_tokens", "generated_tokens", "aggregate_sampling_time_ms"}
    | {moment for moments in _DURATIONS.values() for moment in moments}
)
"""The fields by which such an object is known."""


def llm_metrics(fields: Mapping[str, float]) -> Iterator[tuple[str, str, float]]:
    """Metric, unit and value of everything that the fields tell. What a missing field is needed for is left out.

    Args:
        fields: Finite numbers by name.
    """
    for name in ("prompt_tokens", "generated_tokens"):
        if name in fields:
            yield name, "tokens", fields[name]
    for name, (start, end) in _DURATIONS.items():
        milliseconds = _between(fields, start, end)
        if milliseconds is not None:
            yield name, "ms", milliseconds
    if "aggregate_sampling_time_ms" in fields:
        yield "sampling_time", "ms", fields["aggregate_sampling_time_ms"]
    for name, (tokens, start, end) in _RATES.items():
        milliseconds = _between(fields, start, end)
        if milliseconds and tokens in fields:  # within one tick of the clock there is no rate
            yield name, "tokens/s", fields[tokens] * 1000 / milliseconds


def _between(fields: Mapping[str, float], start: str, end: str) -> float | None:
    if start not in fields or not fields.get(end) or fields[end] < fields[start]:
        return None
    return fields[end] - fields[start]
