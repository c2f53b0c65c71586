"""Notes on launches whose runtime does not tell its threads: the number that was observed counts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from frameworks.notes import note_launch
from harness.core.metric import Observation
from harness.testing.frameworks import benchmark_of


def codes(threads: int | None, *observations: tuple[str, str, Sequence[float]]) -> list[str]:
    """Return the codes of the notes that spoil trust, with so many threads asked for."""
    metrics = [
        Observation(type="NET" if unit else "RUN", metric=metric, unit=unit, samples=tuple(samples))
        for metric, unit, samples in observations
    ]
    return [note.code for note in note_launch(metrics, benchmark_of("onnxruntime", threads=threads)) if not note.trust]


@pytest.mark.parametrize(("asked", "observed", "noted"), [(1, 2, True), (1, 1, False), (4, 2, False), (None, 3, False)])
def test_more_threads_than_asked_for_are_noted(asked: int | None, observed: int, noted: bool) -> None:
    assert codes(asked, ("threads_observed", "", [observed])) == (["threads_observed"] if noted else [])


@pytest.mark.parametrize(
    ("asked", "observed", "noted"), [(None, 1, True), (2, 1, True), (1, 2, False), (None, 2, False)]
)
def test_waiting_shows_where_a_single_thread_was_observed(asked: int | None, observed: int, noted: bool) -> None:
    clocks = (("latency", "ns", [900.0]), ("cpu_time", "ns", [300.0]))
    assert ("disturbed" in codes(asked, *clocks, ("threads_observed", "", [observed]))) == noted


def test_what_the_runtime_tells_counts_before_what_was_observed() -> None:
    clocks = (("latency", "ns", [900.0]), ("cpu_time", "ns", [300.0]), ("threads_observed", "", [1.0]))
    assert codes(None, *clocks, ("threads", "", [2.0])) == []
