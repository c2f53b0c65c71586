"""`llama_bench`: what llama.cpp's `llama-bench -o json` and `-o jsonl` print.

One object for each test: `model_filename`, `n_prompt`, `n_gen`, `n_depth`, `backends`, `n_threads`, `n_gpu_layers`,
`build_commit`, `test_time`, `avg_ts` (mean of tokens per second), `stddev_ts`, and `samples_ts`, one for each
repetition after the warm-up run (tools/llama-bench/llama-bench.cpp of ggml-org/llama.cpp). Tests are called as
llama-bench's own table calls them: `pp512`, `tg128`, `pp512+tg128`, `tg128 @ d4096`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from harness.core.foreign import ForeignBuild, ForeignContent, ForeignDevice, ForeignProblem, ForeignRecord
from harness.core.metric import Observation
from harness.core.outcome import Outcome
from harness.core.scalars import Scalar
from harness.foreign.json_entries import (
    Amount,
    ForeignEntry,
    Placed,
    Samples,
    Text,
    Whole,
    parse_entry,
    read_entries,
)

_RATE: Final = "tokens/s"
_FOLDERS: Final = re.compile(r".*[/\\]", re.DOTALL)


class _BenchTest(ForeignEntry):
    model_filename: Text
    n_prompt: Whole
    n_gen: Whole
    n_depth: Whole = 0
    build_commit: Text = ""
    backends: Text = ""
    cpu_info: Text = ""
    gpu_info: Text = ""
    model_type: Text = ""
    n_threads: Whole | None = None
    n_gpu_layers: Whole | None = None
    n_batch: Whole | None = None
    n_ubatch: Whole | None = None
    type_k: Text | None = None
    type_v: Text | None = None
    flash_attn: bool | Whole | Text | None = None
    test_time: Text = ""
    avg_ts: Amount | None = None
    stddev_ts: Amount | None = None
    samples_ts: Samples = ()


class LlamaBenchFormat:
    """The format."""

    name = "llama_bench"
    marks = "JSON list or lines of objects with `model_filename`, `n_prompt`, `n_gen` and `avg_ts`"

    def recognises(self, text: str, name: str) -> bool:  # noqa: ARG002 - part of the protocol
        """Return whether the names that no other format has are there."""
        return all(f'"{mark}"' in text for mark in ("model_filename", "n_prompt", "avg_ts"))

    def read(self, text: str, name: str) -> ForeignContent:  # noqa: ARG002
        """Read the file: one record for each test."""
        entries, found = read_entries(text)
        problems = list(found)
        records = []
        for placed in entries:
            entry = parse_entry(_BenchTest, placed)
            if isinstance(entry, ForeignProblem):
                problems.append(entry)
            else:
                records.append(_build(entry, placed))
        return ForeignContent(records=tuple(records), problems=tuple(problems))


def create() -> LlamaBenchFormat:
    """Create the format."""
    return LlamaBenchFormat()


def _build(entry: _BenchTest, placed: Placed) -> ForeignRecord:
    observation = _observe(entry)
    on_gpu = entry.gpu_info if entry.backends not in {"", "CPU"} else ""
    time = _parse_time(entry.test_time)
    axes: dict[str, Scalar] = {
        name: value if isinstance(value, str | int) else str(value)
        for name in ("n_gpu_layers", "n_batch", "n_ubatch", "type_k", "type_v", "flash_attn")
        if (value := getattr(entry, name)) is not None
    }
    return ForeignRecord(
        place=placed.place,
        model=_FOLDERS.sub("", entry.model_filename).removesuffix(".gguf") or "unnamed",
        identifier=_name_test(entry),
        framework="llama.cpp",
        backend=entry.backends,
        axes=axes,
        threads=entry.n_threads if entry.n_threads is not None and entry.n_threads > 0 else None,
        device=ForeignDevice(
            name=on_gpu or entry.cpu_info,
            kind=on_gpu or entry.cpu_info,
            attributes={"cpu": entry.cpu_info} if on_gpu and entry.cpu_info else {},
        ),
        build=ForeignBuild(source="llama.cpp", commit=entry.build_commit) if entry.build_commit else None,
        time=time,
        time_note="" if time is not None else "which names none that can be read",
        observations=(observation,) if observation is not None else (),
        published=entry.avg_ts,
        published_as="mean",
        count=len(entry.samples_ts) or None,
        outcome=Outcome.OK if observation is not None else Outcome.FAILED,
        reason=None if observation is not None else "the file has no figure of it: neither `samples_ts` nor `avg_ts`",
        meta={"model_type": entry.model_type} if entry.model_type else {},
    )


def _observe(entry: _BenchTest) -> Observation | None:
    """Return the tokens per second; None where there are none, or where nothing was generated at all."""
    kind = "token_rate" if entry.n_prompt and entry.n_gen else "prefill_rate" if entry.n_prompt else "decode_rate"
    if entry.samples_ts and any(entry.samples_ts):
        return Observation(type="LLM", metric=kind, unit=_RATE, samples=entry.samples_ts)
    if not entry.avg_ts:
        return None
    spread = {} if entry.stddev_ts is None else {"stdev": entry.stddev_ts}
    return Observation(type="LLM", metric=kind, unit=_RATE, summary={"mean": entry.avg_ts, **spread})


def _name_test(entry: _BenchTest) -> str:
    parts = [f"{word}{count}" for word, count in (("pp", entry.n_prompt), ("tg", entry.n_gen)) if count]
    depth = f" @ d{entry.n_depth}" if entry.n_depth else ""
    return ("+".join(parts) or "nothing") + depth


def _parse_time(text: str) -> float | None:
    """Return Unix seconds of `2026-01-31T12:00:00Z`; None for anything else."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() if 1970 < time.year < 2200 else None
