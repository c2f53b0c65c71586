"""Probes that sample stacks: launches that are long enough, and what is kept of a profile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.core.benchmark import Benchmark
from harness.core.errors import BenchmarkFailed
from harness.core.note import Note
from harness.core.probe import Artifact
from harness.core.protocols import ProbeReading
from harness.probes.stacks import StackProfile

LEAST_S: Final = 2.0
"""Seconds that the iterations of a sampled launch last at least: a thousand samples at 499 per second."""

ARTIFACT_BYTES: Final = 64 << 20
"""Largest file that is kept beside a result."""

_FEW: Final = 100
"""Samples below which shares are too coarse: 1 % is one sample."""
_MOST_ITERATIONS: Final = 200_000
"""Runners print about 250 bytes for each, and what prints more than `shell.MAX_OUTPUT_BYTES` is ended."""


def plan_sampling(benchmark: Benchmark, iteration_s: float | None, least_s: float = LEAST_S) -> tuple[Benchmark, ...]:
    """Return one launch that lasts long enough, as far as its iterations can be chosen and one's time is known."""
    if benchmark.commands or benchmark.app is not None or not iteration_s:
        return (benchmark,)
    least_s = min(least_s, benchmark.timeout_s / 4)  # a program takes longer under a probe
    iterations = max(benchmark.iterations, 1, math.ceil(least_s / iteration_s))
    return (benchmark.model_copy(update={"iterations": min(_MOST_ITERATIONS, iterations), "time_limit_s": None}),)


def make_reading(
    profile: StackProfile, prefix: str, files: Sequence[tuple[str, Path]], notes: Sequence[Note] = ()
) -> ProbeReading:
    """Return what is kept of the profile of one launch.

    Args:
        profile: Its stacks.
        prefix: Begins the names of the artifacts.
        files: Further artifacts by the ending of their names.
        notes: What a reader must know beside what the number of samples says.

    Raises:
        BenchmarkFailed: There is no sample.
    """
    if not profile.samples:
        raise BenchmarkFailed("no sample was taken", hint="let the program run longer: raise `iter`")
    artifacts = [Artifact(name=f"{prefix}.folded.txt", content=profile.fold().encode())]
    noted = list(notes)
    for ending, path in files:
        artifact, note = keep_file(f"{prefix}.{ending}", path)
        artifacts += [artifact] if artifact is not None else []
        noted += [note] if note is not None else []
    if profile.samples < _FEW:
        noted.append(
            Note(
                code="few_samples",
                message=f"{profile.samples} samples only: shares of functions are coarse",
                hint="let the program run longer, or raise the frequency of the probe",
            )
        )
    return ProbeReading(
        ((),), tuple(noted), tuple(artifacts), profile.samples, profile.list_functions(), profile.list_frames()
    )


def keep_file(name: str, path: Path) -> tuple[Artifact | None, Note | None]:
    """Return a file as an artifact, or a note that it is too large to be kept."""
    size = path.stat().st_size
    if size <= ARTIFACT_BYTES:
        return Artifact(name=name, content=path.read_bytes()), None
    return None, Note(
        code="artifact_too_large",
        message=f"{name} has {size >> 20} MiB and is not kept: more than {ARTIFACT_BYTES >> 20} MiB are too many",
        hint="record less: a lower frequency, or fewer iterations",
    )
