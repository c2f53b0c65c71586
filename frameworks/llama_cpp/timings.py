"""Figures of llama-cli, llama-completion and llama-server: timings of a run, and of each token.

    llama_print_timings: prompt eval time =    12.34 ms /    17 tokens (...)     until 2024
    llama_perf_context_print:        eval time = 0.97 ms /    15 runs   (...)    since September 2024
    common_perf_print:    sampling time =       0.36 ms                          since 2025
    prompt eval time =     0.59 ms /    17 tokens (...)                          llama-server, for each request
    0.00.016.866 D n_past = 18                                   with -lv 5 --log-timestamps --log-prefix: each token
    data: {"content": "a", "timings": {"predicted_n": 3, "predicted_ms": 1.2, ...}}    `timings_per_token` of the server

The server counts the first token of an answer, which takes no decoding, and leaves it out of its rate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from harness.core.metric import Observation
from harness.formats.llama_bench import RATE, TYPE

_TIMING: Final = re.compile(
    r"\b(load|sample|sampling|prompt eval|(?<!prompt )eval|total) time = *(\d{1,12}(?:\.\d{1,6})?) ms"
    r"(?: */ *(\d{1,12}) (?:tokens|runs)(?: *\([^,()]{1,40}, *(\d{1,12}(?:\.\d{1,6})?) tokens per second\))?)?"
)
_TOKEN: Final = re.compile(r"(\d{1,6})\.(\d\d)\.(\d{3})\.(\d{3}) D n_past = (\d{1,9})")
_DATA: Final = re.compile(r"(?:data: *)?(?=\{)")

_TIMES: Final = {
    "load": ("RUN", "load_time"),
    "sample": (TYPE, "sampling_time"),
    "sampling": (TYPE, "sampling_time"),
    "prompt eval": (TYPE, "prompt_eval_time"),
    "eval": (TYPE, "eval_time"),
    "total": (TYPE, "total_time"),
}
_RATES: Final = {"prompt eval": ("prompt_tokens", "prefill_rate"), "eval": ("decoded_tokens", "decode_rate")}
"""Names of the count and of the rate of a time."""

_REQUEST: Final = {
    "prompt eval": ("prompt_ms", "prompt_n", "prompt_per_second"),
    "eval": ("predicted_ms", "predicted_n", "predicted_per_second"),
}
"""Duration, count and rate in the server's `timings`."""

_LONGEST_LINE: Final = 1_000_000
"""Characters of a line of the server; a longer one is no answer to a benchmark."""


class _Figures:
    """Samples by type, metric and unit."""

    def __init__(self) -> None:
        self._samples: dict[tuple[str, str, str], list[float]] = {}

    def add(self, type_: str, metric: str, unit: str, value: float) -> None:
        self._samples.setdefault((type_, metric, unit), []).append(value)

    def add_timing(self, name: str, duration_ms: float, count: int | None, printed_rate: float | None) -> None:
        """Add a time with its count and rate; nothing of a step that processed no token."""
        if count == 0:
            return
        self.add(*_TIMES[name], "ms", duration_ms)
        if name in _RATES and count is not None:
            counted, rate = _RATES[name]
            self.add(TYPE, counted, "tokens", count)
            if duration_ms > 0:
                self.add(TYPE, rate, RATE, _compute_rate(duration_ms, count, printed_rate))

    def observations(self) -> tuple[Observation, ...]:
        """Return them, rates first: they are what a run is about."""
        ordered = sorted(self._samples.items(), key=lambda item: item[0][2] != RATE)
        return tuple(
            Observation(type=type_, metric=metric, unit=unit, samples=tuple(samples))
            for (type_, metric, unit), samples in ordered
        )


def _compute_rate(duration_ms: float, count: int, printed_rate: float | None) -> float:
    """Return tokens per second. Both the time and the rate are printed with two decimals: the larger is more precise.

    A computed rate is that of all tokens or of all but the first, whichever is nearer to the printed one.
    """
    if printed_rate is not None and printed_rate >= duration_ms:
        return printed_rate
    rates = [tokens * 1000 / duration_ms for tokens in (count, count - 1) if tokens > 0]
    return rates[0] if printed_rate is None else min(rates, key=lambda rate: abs(rate - printed_rate))


def parse_timings(text: str) -> tuple[Observation, ...]:
    """Parse the timings of each run or request in the output of a launch. Never raises; the time is linear."""
    figures = _Figures()
    last_token: tuple[int, int] | None = None
    last_request: Mapping[str, float] = {}
    for line in text.split("\n"):
        if (timing := _TIMING.search(line)) is not None:
            name, duration, count, rate = timing.groups()
            figures.add_timing(name, float(duration), int(count) if count else None, float(rate) if rate else None)
        elif (token := _TOKEN.fullmatch(line.rstrip())) is not None:
            last_token = _add_token(figures, token, last_token)
        elif (request := _read_request(line)) is not None:
            last_request = _add_request(figures, request, last_request)
    _end_request(figures, last_request)
    return figures.observations()


def _add_token(figures: _Figures, token: re.Match[str], last: tuple[int, int] | None) -> tuple[int, int]:
    """Add the time of one token, from the log line before; return this line's number of tokens and microseconds."""
    minutes, seconds, milliseconds, microseconds, past = map(int, token.groups())
    time_us = ((minutes * 60 + seconds) * 1000 + milliseconds) * 1000 + microseconds
    if last is not None and past == last[0] + 1 and time_us >= last[1]:
        figures.add(TYPE, "token_latency", "us", time_us - last[1])
    return past, time_us


def _read_request(line: str) -> Mapping[str, float] | None:
    """Return the `timings` of an answer of the server; None where a line has none."""
    start = _DATA.match(line)
    if start is None or '"timings"' not in line or len(line) > _LONGEST_LINE:
        return None
    try:
        answer: object = json.loads(line[start.end() :])
    except (ValueError, RecursionError):
        return None
    timings = answer.get("timings") if isinstance(answer, dict) else None
    if not isinstance(timings, dict):
        return None
    values = ((name, timings.get(name)) for names in _REQUEST.values() for name in names)
    return {name: float(value) for name, value in values if isinstance(value, int | float) and 0 <= value < 1e12}


def _add_request(figures: _Figures, request: Mapping[str, float], last: Mapping[str, float]) -> Mapping[str, float]:
    """Add the time of the token that an answer brings; return the answer."""
    count, before = request.get("predicted_n", 0.0), last.get("predicted_n", 0.0)
    if count < before:
        _end_request(figures, last)
    elif count == before + 1 and before > 0 and "predicted_ms" in request and "predicted_ms" in last:
        duration = request["predicted_ms"] - last["predicted_ms"]
        if duration >= 0:
            figures.add(TYPE, "token_latency", "ms", duration)
    return request


def _end_request(figures: _Figures, last: Mapping[str, float]) -> None:
    for name, (duration, count, rate) in _REQUEST.items():
        if duration in last and count in last:
            figures.add_timing(name, last[duration], int(last[count]), last.get(rate))
