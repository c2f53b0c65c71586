"""Counts of launches, and of one iteration as the difference of two launches."""

from __future__ import annotations

import pytest

from harness.core.errors import BenchmarkFailed
from harness.probes.counters import CountedLaunch, EventCount, name_metric, plan_counting, read_counts
from harness.testing.frameworks import benchmark_of


def launch(iterations: int | None, **counts: float | None) -> CountedLaunch:
    return CountedLaunch(
        tuple(EventCount(name, value, absence="not supported") for name, value in counts.items()), iterations
    )


def test_launches_of_one_iteration_and_of_all_take_turns() -> None:
    planned = plan_counting(benchmark_of("executorch", iterations=50, time_limit_s=3.0), pairs=2)
    assert [each.iterations for each in planned] == [1, 50, 1, 50]
    assert planned[0].time_limit_s is None


def test_iterations_of_commands_are_theirs() -> None:
    assert len(plan_counting(benchmark_of("generic", commands=("{program}",)), pairs=3)) == 1


def test_an_iteration_is_the_difference_without_loading_and_warming_up() -> None:
    reading = read_counts([launch(1, instructions=1000.0), launch(51, instructions=6000.0)])
    assert reading.observations[0] == ()
    counts = {each.name: each.samples for each in reading.observations[1]}
    assert counts == {"RUN instructions": (6000.0,), "NET instructions": (100.0,)}
    assert reading.notes == ()


def test_less_than_nothing_is_nothing() -> None:
    reading = read_counts([launch(1, faults=10.0), launch(51, faults=9.0)])
    assert {each.name: each.samples for each in reading.observations[1]}["NET faults"] == (0.0,)


def test_no_iteration_is_said_to_take_no_time() -> None:
    first, second = (launch(1, **{"task-clock": 900.0}, faults=1.0), launch(51, **{"task-clock": 890.0}, faults=1.0))
    reading = read_counts([first, second, launch(1, **{"task-clock": 880.0}), launch(51, **{"task-clock": 900.0})])
    assert {each.name for found in reading.observations for each in found} == {
        *("RUN task_clock", "RUN faults", "NET faults"),
    }
    (note,) = reading.notes
    assert (note.code, note.message) == (
        "counters_hidden",
        "task-clock: not known of one iteration: launches differ by more than all of them need",
    )


@pytest.mark.parametrize("iterations", [(None, None), (1, None), (5, 5)])
def test_without_known_iterations_counts_are_of_launches_and_say_so(iterations: tuple[int | None, int | None]) -> None:
    reading = read_counts([launch(iterations[0], faults=10.0), launch(iterations[1], faults=90.0)])
    assert [each.name for each in reading.observations[1]] == ["RUN faults"]
    assert [note.code for note in reading.notes] == ["counters_of_launch"]


def test_what_the_device_does_not_count_is_named_once() -> None:
    reading = read_counts([launch(1, cycles=None, faults=1.0), launch(2, cycles=None, faults=2.0)])
    (note,) = reading.notes
    assert note.code == "counters_absent"
    assert note.message == "cycles: not supported by this device"


def test_counting_nothing_at_all_is_a_failure() -> None:
    with pytest.raises(BenchmarkFailed, match="nothing was counted"):
        read_counts([launch(1, cycles=None), launch(2, cycles=None)])


def test_counters_that_share_the_processor_are_said_to_be_extrapolated() -> None:
    counted = CountedLaunch((EventCount("cycles", 5.0, running=0.5),), 3)
    assert [note.code for note in read_counts([counted]).notes] == ["counters_shared", "counters_of_launch"]


@pytest.mark.parametrize(("event", "name"), [("page-faults", "page_faults"), ("l1d/x=1/", "l1d/x=1/"), ("\n", "event")])
def test_events_have_names_of_metrics(event: str, name: str) -> None:
    assert name_metric(event) == name
