"""Notes that qualify the numbers of a launch with ExecuTorch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from frameworks import notes
from frameworks.executorch import llama_main, openvino, placement
from frameworks.notes import find_observation
from harness.core.benchmark import Benchmark
from harness.core.metric import Observation
from harness.core.note import Note

_OPERATORS_HINT: Final = "use the native runner (--runner native) with executorch 1.5 or newer"


def note_launch(observations: Sequence[Observation], benchmark: Benchmark) -> Iterator[Note]:
    """Yield every note that applies to the observations of a launch."""
    yield from notes.note_launch(observations, benchmark, operators_hint=_OPERATORS_HINT)
    yield from _note_libc(observations)
    yield from openvino.note_precision(observations)
    yield from placement.note_placement(observations)
    yield from llama_main.note_generation(observations, benchmark)


def _note_libc(observations: Sequence[Observation]) -> Iterator[Note]:
    """Note the C library, which the runner tells only where that is not the one of the device."""
    libc = find_observation(observations, "RUN libc")
    if libc is not None:
        yield Note(
            code="libc",
            message=f"the runner used {libc.info} with its allocator and threads, not the C library of the device",
            hint="apps use the device's; compare these numbers with others of the same kind, or build the runner with "
            "Android's NDK",
        )
