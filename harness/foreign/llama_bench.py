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
from harness.core.outcome import Outcome
from harness.core.scalars import Scalar
from harness.formats.json_entries import Placed, parse_entry, read_entries
from harness.formats.llama_bench import LlamaBenchTest, observe

_FOLDERS: Final = re.compile(r".*[/\\]", re.DOTALL)


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
            entry = parse_entry(LlamaBenchTest, placed)
            if isinstance(entry, ForeignProblem):
                problems.append(entry)
            else:
                records.append(_build(entry, placed))
        return ForeignContent(records=tuple(records), problems=tuple(problems))


def create() -> LlamaBenchFormat:
    """Create the format."""
    return LlamaBenchFormat()


def _build(entry: LlamaBenchTest, placed: Placed) -> ForeignRecord:
    observation = observe(entry)
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
        identifier=entry.name,
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


def _parse_time(text: str) -> float | None:
    """Return Unix seconds of `2026-01-31T12:00:00Z`; None for anything else."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() if 1970 < time.year < 2200 else None
