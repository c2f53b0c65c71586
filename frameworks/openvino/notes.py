"""Notes on what OpenVINO computed in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from frameworks.notes import find_observation
from harness.core.benchmark import Benchmark
from harness.core.metric import Observation
from harness.core.note import Note


def note_openvino(observations: Sequence[Observation], benchmark: Benchmark) -> Sequence[Note]:
    """Return the notes on a launch."""
    return tuple(_note_precision(observations, benchmark))


def _note_precision(observations: Sequence[Observation], benchmark: Benchmark) -> Iterator[Note]:
    """Note that the library chose: on many processors it would not compute in 32 bits, and its outputs would differ."""
    used = find_observation(observations, "RUN precision")
    own = find_observation(observations, "RUN precision_default")
    if used is None or own is None or used.info == own.info or "precision" in benchmark.backend_options:
        return
    yield Note(
        code="openvino_precision",
        message=f"OpenVINO computed in {used.info}, as the harness asks it to; by itself it would take {own.info} here",
        hint=f'for that, set "backend_options": {{"precision": "{own.info}"}}',
    )
