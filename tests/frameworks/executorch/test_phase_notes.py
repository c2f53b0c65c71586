"""Notes on figures of memory and load that could not be had."""

from __future__ import annotations

from frameworks.executorch.notes import note_launch
from harness.core.metric import Observation
from harness.testing.frameworks import benchmark_of


def test_a_load_that_was_not_cold_and_peaks_that_cannot_be_reset_are_noted() -> None:
    reasons = {
        "cold_load_unavailable": "2 of 6 pages of the program stayed in the page cache",
        "peak_memory_unavailable": "this system does not let a process reset its peak between phases",
    }
    observations = [Observation(type="RUN", metric=metric, info=reason) for metric, reason in reasons.items()]
    notes = {note.code: note for note in note_launch(observations, benchmark_of("executorch"))}
    assert set(notes) == set(reasons)
    assert all(reason in notes[code].message and notes[code].trust for code, reason in reasons.items())
