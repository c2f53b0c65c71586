"""Figures of generations from time stamps of their tokens: every definition in one place.

With P tokens of prompt, n new tokens at the times t(1) .. t(n) since the prompt was handed over, and the prompt
processed at p (t(1) where that is not known):

    metric                                   definition
    LLM time_to_first_token                  t(1)
    LLM prefill_rate                         P / p
    LLM decode_rate                          (n - 1) / (t(n) - t(1))
    LLM token_latency                        t(i + 1) - t(i), each
    LLM generation_time                      t(n)
    llama_bench prefill_rate                 P / p
    llama_bench decode_rate                  (n - 1) / (t(n) - t(1))
    llama_bench prompt_and_decode_rate       (P + n) / t(n)
    mlperf_client time_to_first_token        t(1)
    mlperf_client decode_rate                (n - 1) / (t(n) - t(1))
    executorch_stats prompt_rate             P / t(1)
    executorch_stats decode_rate             (n - 1) / (t(n) - t(1))
    executorch_stats inference_rate          (n - 1) / t(n)

What a time stamp cannot show is in docs/generation.md: what llama-bench leaves out (choosing a token) and ExecuTorch
and MLPerf Client include (tokenising the prompt). Sources: `tools/llama-bench/llama-bench.cpp` of llama.cpp,
`rules/MLPerf_Client_Rules.md` 2.1 of MLPerf Client 2.0, `extension/llm/runner/text_llm_runner.cpp` and `stats.h` of
ExecuTorch, whose count of new tokens has been without the first since it is told by its generator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from pydantic import ValidationError

from frameworks.observations.collector import EXECUTORCH_STATS, BadObservation, parse_number, quote
from harness.core.generation import GENERATION, TokenStream
from harness.core.metric import convert

KEY: Final = "generation"
"""Key of an object that holds one generation."""

RATE: Final = "tokens/s"
NANOSECONDS: Final = "ns"

_TIMES: Final = ("token_times_ns", "token_times")
_PREFILL: Final = ("prefill_ns", "prefill")
_EARLIER_PREFILLS: Final = ("earlier_prefills_ns", "earlier_prefills")
_EARLIER_FIRST_TOKENS: Final = ("earlier_first_tokens_ns", "earlier_first_tokens")
"""Names of times, in nanoseconds and in the object's own unit."""


class MetricValues(NamedTuple):
    """Values of one metric of a generation.

    Attributes:
        type: Whose definition it is: `LLM` for ours.
        metric: Name of the metric.
        unit: Its unit.
        values: One value, or one of each token.
    """

    type: str
    metric: str
    unit: str
    values: tuple[float, ...]


def read_stream(document: object) -> TokenStream:
    """Read one generation.

    Args:
        document: An object with `prompt_tokens`, `token_times_ns` and, where they are known, `depth`, `prefill_ns` and
            `tokens`; or with `token_times` and `prefill` in `unit`.

    Raises:
        BadObservation: It is no such object.
    """
    if not isinstance(document, Mapping):
        raise BadObservation(f"`{KEY}` is {quote(document)}, not an object")
    times = _times(document, _TIMES)
    if times is None:
        raise BadObservation(f"a generation without `{_TIMES[0]}`, the time of each new token")
    prefill = _times(document, _PREFILL)
    tokens = document.get("tokens", ())
    if not isinstance(tokens, list | tuple) or not all(type(token) is int for token in tokens):
        raise BadObservation(f"`tokens` is {quote(tokens)}, not a list of whole numbers")
    return make_stream(
        prompt_tokens=_count(document, "prompt_tokens"),
        depth=_count(document, "depth"),
        prefill_ns=prefill[0] if prefill else None,
        token_times_ns=times,
        tokens=tuple(tokens),
        earlier_prefills_ns=_times(document, _EARLIER_PREFILLS) or (),
        earlier_first_tokens_ns=_times(document, _EARLIER_FIRST_TOKENS) or (),
    )


def make_stream(
    *,
    prompt_tokens: int,
    depth: int,
    prefill_ns: float | None,
    token_times_ns: tuple[float, ...],
    tokens: tuple[int, ...],
    earlier_prefills_ns: tuple[float, ...] = (),
    earlier_first_tokens_ns: tuple[float, ...] = (),
) -> TokenStream:
    """Return one generation; the arguments are the attributes of the value.

    Raises:
        BadObservation: They contradict one another.
    """
    try:
        return TokenStream(
            prompt_tokens=prompt_tokens,
            depth=depth,
            prefill_ns=prefill_ns,
            token_times_ns=token_times_ns,
            tokens=tokens,
            earlier_prefills_ns=earlier_prefills_ns,
            earlier_first_tokens_ns=earlier_first_tokens_ns,
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        reason = first["msg"].removeprefix("Value error, ")
        raise BadObservation(f"a generation: {f'`{place}`: ' if place else ''}{reason}") from error


def compute_figures(stream: TokenStream) -> Iterator[MetricValues]:
    """Yield the figures of a generation, what it is about first: nothing that its stamps do not show.

    A generation of one token has no rate of decoding, and one within one tick of the clock no rate at all.
    """
    prompt, times = stream.prompt_tokens, stream.token_times_ns
    first, last, following = times[0], times[-1], len(times) - 1
    processed = first if stream.prefill_ns is None else stream.prefill_ns
    decode = _rate(following, last - first)
    prefill = _rate(prompt, processed)
    yield from _one(GENERATION, "decode_rate", RATE, decode)
    yield MetricValues(GENERATION, "time_to_first_token", NANOSECONDS, (*stream.earlier_first_tokens_ns, first))
    rates = (*(_rate(prompt, earlier) for earlier in stream.earlier_prefills_ns), prefill)
    yield from (MetricValues(GENERATION, "prefill_rate", RATE, (rate,)) for rate in rates if rate is not None)
    if following:
        gaps = tuple(later - earlier for earlier, later in pairwise(times))
        yield MetricValues(GENERATION, "token_latency", NANOSECONDS, gaps)
    yield from _one(GENERATION, "generation_time", NANOSECONDS, last)
    yield from _one("llama_bench", "prefill_rate", RATE, prefill)
    yield from _one("llama_bench", "decode_rate", RATE, decode)
    yield from _one("llama_bench", "prompt_and_decode_rate", RATE, _rate(prompt + len(times), last))
    yield from _one("mlperf_client", "time_to_first_token", NANOSECONDS, first)
    yield from _one("mlperf_client", "decode_rate", RATE, decode)
    yield from _one(EXECUTORCH_STATS, "prompt_rate", RATE, _rate(prompt, first))
    yield from _one(EXECUTORCH_STATS, "decode_rate", RATE, decode)
    yield from _one(EXECUTORCH_STATS, "inference_rate", RATE, _rate(following, last))


def _one(type_: str, metric: str, unit: str, value: float | None) -> Iterator[MetricValues]:
    if value is not None:
        yield MetricValues(type_, metric, unit, (value,))


def _rate(tokens: int, duration_ns: float) -> float | None:
    return tokens * 1e9 / duration_ns if tokens > 0 and duration_ns > 0 else None


def _times(document: Mapping[str, object], names: tuple[str, str]) -> tuple[float, ...] | None:
    """Return times in nanoseconds; None where the document has none."""
    in_nanoseconds, in_unit = names
    if in_nanoseconds in document:
        return _numbers(document[in_nanoseconds], NANOSECONDS)
    if in_unit not in document:
        return None
    return _numbers(document[in_unit], document.get("unit", NANOSECONDS))


def _numbers(value: object, unit: object) -> tuple[float, ...]:
    factor = convert(1.0, unit, NANOSECONDS) if isinstance(unit, str) else None
    if factor is None:
        raise BadObservation(f"a generation: {quote(unit)} is no unit of time")
    return tuple(parse_number(number) * factor for number in (value if isinstance(value, list) else [value]))


def _count(document: Mapping[str, object], name: str) -> int:
    value = document.get(name, 0)
    if type(value) is not int:
        raise BadObservation(f"a generation: `{name}` is {quote(value)}, not a whole number")
    return value
