"""Notes about where a program ran, from the lines of the app for iPhones."""

from __future__ import annotations

from frameworks.executorch.placement import note_placement
from frameworks.observations.observer import parse_lines
from harness.core.note import Note


def notes_of(*places: str) -> list[Note]:
    lines = [
        f'PyTorchObserver {{"type": "RUN", "metric": "partition_{index}", "unit": "", "info_string": "{place}"}}'
        for index, place in enumerate(places)
    ]
    observations, problems = parse_lines("\n".join(lines))
    assert not problems
    return list(note_placement(observations))


def test_devices_that_core_ml_prefers_are_noted_with_what_to_check() -> None:
    (note,) = notes_of("CoreMLBackend: neural_engine 120, cpu 4", "XnnpackBackend: cpu")
    assert note.code == "placement"
    assert note.message == (
        "where the program ran: CoreMLBackend: neural_engine 120, cpu 4 (partition 0); "
        "XnnpackBackend: cpu (partition 1)"
    )
    assert note.hint is not None
    assert "harness evaluate" in note.hint
    assert note.trust


def test_equal_partitions_are_told_together() -> None:
    (note,) = notes_of("XnnpackBackend: cpu", "XnnpackBackend: cpu", "MPSBackend: gpu", "XnnpackBackend: cpu")
    assert "XnnpackBackend: cpu (3 partitions from 0 to 3)" in note.message
    assert "MPSBackend: gpu (partition 2)" in note.message
    assert note.hint is None
    (note,) = notes_of("XnnpackBackend: cpu", "XnnpackBackend: cpu")
    assert note.message.endswith("XnnpackBackend: cpu (partitions 0 to 1)")


def test_many_kinds_are_cut_with_their_number() -> None:
    (note,) = notes_of(*(f"CoreMLBackend: cpu {count}" for count in range(1, 9)))
    assert note.message.endswith("; and 2 other kinds")


def test_a_runner_that_tells_no_places_gets_no_note() -> None:
    assert notes_of() == []
