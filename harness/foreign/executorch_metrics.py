"""Names that ExecuTorch's tools give to metrics (`extension/benchmark` of pytorch/executorch), and ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from harness.core.metric import Observation

LOAD_STATUS: Final = "load_status"
"""Metric that is no figure: `Error` of ExecuTorch's runtime, 0 if the program was loaded."""

LATENCY: Final = "avg_inference_latency(ms)"
TOKEN_RATE: Final = "token_per_sec"  # noqa: S105 - tokens of a language model

_KNOWN: Final = {
    LATENCY: ("NET", "latency", "ms"),
    TOKEN_RATE: ("LLM", "decode_rate", "tokens/s"),
    "tokens_per_sec": ("LLM", "decode_rate", "tokens/s"),
    "generate_time(ms)": ("LLM", "generate_time", "ms"),
    "time_to_first_token(ms)": ("LLM", "time_to_first_token", "ms"),
    "trimmean_inference_latency(ms)": ("NET", "trimmed_latency", "ms"),
    "model_load_time(ms)": ("RUN", "load_time", "ms"),
    "llm_model_load_time(ms)": ("RUN", "load_time", "ms"),
    "peak_inference_mem_usage(mb)": ("RUN", "peak_memory", "MB"),
    "peak_load_mem_usage(mb)": ("RUN", "peak_load_memory", "MB"),
}
_ORDER: Final = {name: place for place, (_, name, _) in enumerate(_KNOWN.values())}
_UNIT: Final = re.compile(r"(?P<name>[^()]+?)\s*\((?P<unit>[^()]+)\)")


def make_observation(name: str, values: Sequence[float]) -> Observation:
    """Return the figure of a metric; a single value is an average of an unknown number of samples.

    Names that are not known keep theirs, with the unit that stands in brackets at their end.
    """
    type_, metric, unit = _KNOWN.get(name) or ("NET", *_split(name))
    if len(values) == 1:
        return Observation(type=type_, metric=metric, unit=unit, summary={"mean": values[0]})
    return Observation(type=type_, metric=metric, unit=unit, samples=tuple(values))


def sort_observations(observations: Sequence[Observation]) -> tuple[Observation, ...]:
    """Return observations with those first that a result is about: latency, else tokens per second."""
    return tuple(sorted(observations, key=lambda each: _ORDER.get(each.metric, len(_ORDER))))


def explain_status(status: float) -> str:
    """Return why there are no figures, for a `load_status` other than 0."""
    return f"the program could not be loaded: {LOAD_STATUS} {status:g}"


def _split(name: str) -> tuple[str, str]:
    match = _UNIT.fullmatch(name)
    return (match["name"], match["unit"]) if match else (name, "")
