"""`litert_leaderboard`: lines of JSON of LiteRT's leaderboard (google-ai-edge/litert-samples, benchmark/leaderboard).

Two shapes share their identity (`row_id`, `model`, `file`, `platform`, `device`, `os`, `accelerator`, `status`,
`date`):

- `measurements.jsonl`: `latency_ms{median, avg, p5, p95, min, max, stddev, init, first_inference}` of `runs`
  inferences.
- `measurements-lm.jsonl`, of language models: `metrics{prefill_tok_s, decode_tok_s, ttft_s, init_total_ms}` are medians
  over `iterations` without the first `conditions.warmup_iterations`; every iteration is in the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import Field

from harness.core.foreign import ForeignBuild, ForeignContent, ForeignDevice, ForeignProblem, ForeignRecord
from harness.core.metric import Observation
from harness.core.outcome import Outcome
from harness.core.scalars import Scalar
from harness.formats.json_entries import Amount, ForeignEntry, Placed, Text, Whole, parse_entry, read_entries

_MEASURED: Final = "measured"
_ROUNDING: Final = 0.000_51
"""Rates are rounded to three decimals, and the median of two of them once more."""


class _Latency(ForeignEntry):
    median: Amount
    avg: Amount | None = None
    p5: Amount | None = None
    p95: Amount | None = None
    min: Amount | None = None
    max: Amount | None = None
    stddev: Amount | None = None
    init: Amount | None = None
    first_inference: Amount | None = None


class _Memory(ForeignEntry):
    overall_footprint: Amount | None = None


class _Conditions(ForeignEntry):
    prefill_tokens: Whole | None = None
    decode_tokens: Whole | None = None
    max_num_tokens: Whole | None = None
    warmup_iterations: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = 0


class _Rates(ForeignEntry):
    prefill_tok_s: Amount | None = None
    decode_tok_s: Amount | None = None
    ttft_s: Amount | None = None
    init_total_ms: Amount | None = None
    peak_mem_mb: Amount | None = None


class _Row(ForeignEntry):
    row_id: Text
    model: Text
    file: Text = ""
    platform: Text = ""
    device_id: Text = ""
    device: Text = ""
    os: Text = ""
    accelerator: Text = ""
    delegate: Text | None = None
    latency_ms: _Latency | None = None
    memory_mb: _Memory = _Memory()
    runs: Annotated[int, Field(strict=True, ge=1, le=2**53)] | None = None
    conditions: _Conditions = _Conditions()
    metrics: _Rates | None = None
    iterations: Annotated[tuple[_Rates, ...], Field(max_length=100_000)] = ()
    runtime: Text = "litert"
    runtime_version: Text = ""
    session: Text = ""
    status: Text = _MEASURED
    date: Text = ""


class LiteRtLeaderboardFormat:
    """The format."""

    name = "litert_leaderboard"
    marks = "lines of JSON with `row_id`, `accelerator` and `latency_ms` or `metrics`"

    def recognises(self, text: str, name: str) -> bool:  # noqa: ARG002 - part of the protocol
        """Return whether the names that no other format has are there."""
        return all(f'"{mark}"' in text for mark in ("row_id", "accelerator", "model"))

    def read(self, text: str, name: str) -> ForeignContent:  # noqa: ARG002
        """Read the file: one record for each row."""
        entries, found = read_entries(text)
        problems = list(found)
        records = []
        for placed in entries:
            row = parse_entry(_Row, placed)
            if isinstance(row, ForeignProblem):
                problems.append(row)
            else:
                records.append(_build(row, placed))
        return ForeignContent(records=tuple(records), problems=tuple(problems))


def create() -> LiteRtLeaderboardFormat:
    """Create the format."""
    return LiteRtLeaderboardFormat()


def _build(row: _Row, placed: Placed) -> ForeignRecord:
    observations = tuple(_observe_latency(row) if row.latency_ms is not None else _observe_rates(row))
    of_rates = row.latency_ms is None
    warmup = min(row.conditions.warmup_iterations, len(row.iterations))
    failed = row.status != _MEASURED
    reason = f"the file calls it `{row.status}`" if failed else None if observations else "the file has no figure of it"
    tokens = row.conditions
    axes: dict[str, Scalar] = {"delegate": row.delegate} if row.delegate else {}
    axes |= {
        name: value
        for name in ("prefill_tokens", "decode_tokens", "max_num_tokens")
        if (value := getattr(tokens, name)) is not None
    }
    time = _parse_day(row.date)
    stem = row.file.rpartition("/")[2] or row.model
    shape = [f"p{tokens.prefill_tokens}-d{tokens.decode_tokens}"] if tokens.prefill_tokens is not None else []
    return ForeignRecord(
        place=placed.place,
        model=row.model,
        identifier=" ".join([stem, *filter(None, [row.accelerator]), *shape]),
        framework=row.runtime,
        backend=row.accelerator,
        axes=axes,
        device=ForeignDevice(
            name=row.device or row.device_id,
            kind=row.device_id,
            os=row.os,
            attributes={"platform": row.platform} if row.platform else {},
        ),
        build=ForeignBuild(source=row.runtime, commit=row.runtime_version) if row.runtime_version else None,
        time=time,
        time_note="the file knows the day only" if time is not None else "which names no day that can be read",
        observations=() if failed else observations,
        warmup=warmup if of_rates else 0,
        published=_published(row),
        published_as=_describe_published(warmup if of_rates else 0),
        rounding=_ROUNDING if of_rates else 0.0,
        count=row.runs if not of_rates else len(row.iterations) or None,
        outcome=Outcome.FAILED if reason else Outcome.OK,
        reason=reason,
        meta={name: value for name, value in (("row_id", row.row_id), ("session", row.session)) if value},
    )


def _published(row: _Row) -> float | None:
    if row.latency_ms is not None:
        return row.latency_ms.median
    if row.metrics is None:
        return None
    return row.metrics.decode_tok_s if row.metrics.decode_tok_s is not None else row.metrics.prefill_tok_s


def _describe_published(warmup: int) -> str:
    if not warmup:
        return "median"
    return "median without the first, a warm-up" if warmup == 1 else f"median without the first {warmup}, a warm-up"


def _observe_latency(row: _Row) -> Iterator[Observation]:
    latency = row.latency_ms
    if latency is None:
        return
    known = {
        "n": float(row.runs) if row.runs is not None else None,
        "p50": latency.median,
        "mean": latency.avg,
        "p5": latency.p5,
        "p95": latency.p95,
        "p0": latency.min,
        "min": latency.min,
        "p100": latency.max,
        "max": latency.max,
        "stdev": latency.stddev,
    }
    summary = {name: value for name, value in known.items() if value is not None}
    yield Observation(type="NET", metric="latency", unit="ms", summary=summary)
    yield from _observe_once("load_time", "ms", latency.init)
    yield from _observe_once("first_iteration", "ms", latency.first_inference)
    yield from _observe_once("peak_memory", "MB", row.memory_mb.overall_footprint)


def _observe_rates(row: _Row) -> Iterator[Observation]:
    rates: tuple[tuple[str, str, Callable[[_Rates], float | None]], ...] = (
        ("decode_rate", "tokens/s", lambda each: each.decode_tok_s),
        ("prefill_rate", "tokens/s", lambda each: each.prefill_tok_s),
        ("time_to_first_token", "s", lambda each: each.ttft_s),
    )
    for name, unit, choose in rates:
        samples = tuple(value for each in row.iterations if (value := choose(each)) is not None)
        published = choose(row.metrics) if row.metrics is not None else None
        if samples and len(samples) == len(row.iterations):
            yield Observation(type="LLM", metric=name, unit=unit, samples=samples)
        elif published is not None:
            yield Observation(type="LLM", metric=name, unit=unit, summary={"p50": published})
    if row.metrics is not None:
        yield from _observe_once("load_time", "ms", row.metrics.init_total_ms)
        yield from _observe_once("peak_memory", "MB", row.metrics.peak_mem_mb)


def _observe_once(metric: str, unit: str, value: float | None) -> Iterator[Observation]:
    if value is not None:
        yield Observation(type="RUN", metric=metric, unit=unit, summary={"n": 1.0, "p50": value})


def _parse_day(text: str) -> float | None:
    """Return Unix seconds of the beginning of a day such as `2026-01-31`, UTC; None for anything else."""
    try:
        day = datetime.fromisoformat(text)
    except ValueError:
        return None
    return day.replace(tzinfo=day.tzinfo or UTC).timestamp() if 1970 < day.year < 2200 else None
