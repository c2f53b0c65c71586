"""What comparing a runner with itself says of each device, and of nothing that was not measured."""

from __future__ import annotations

from pathlib import Path

from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.result import Outcome, Report
from harness.flows.compare import self_check
from harness.flows.compare.self_check import VerdictCounter
from tests.presentation.comparison_samples import compared, made_pairs


def checked(*changes: tuple[str, float], lost: tuple[str, ...] = ()) -> VerdictCounter:
    """A check that found these changes, by device, and could not measure on others."""
    listening = VerdictCounter()
    for name, change in (*changes, *((name, 0.05) for name in lost)):
        result = compared("a", made_pairs(change, 30))
        update = {"device": device(name), "outcome": Outcome.DEVICE_LOST if name in lost else Outcome.OK}
        listening.report(Report(result=result.model_copy(update=update)))
    return listening


def device(name: str) -> Device:
    return Device(platform="instant", identity=name, name=name)


def test_a_false_alarm_counts_for_the_device_that_gave_it(tmp_path: Path) -> None:
    settings = Settings(cache_dir=tmp_path)
    self_check.store(settings, checked(("A", 0.0), ("A", 0.0), ("B", 0.05), lost=("C",)))
    found = {name: self_check.diagnose(settings, device(name)) for name in "ABC"}
    assert (found["A"].ok, found["B"].ok, found["C"].ok) == (True, None, None)
    assert found["A"].found.endswith(": 2 no change")
    assert found["B"].found.endswith(": 1 regression")
    assert "never compared" in found["C"].found


def test_what_could_not_be_measured_is_no_part_of_the_count() -> None:
    told = self_check.summarise(checked(("A", 0.0), ("B", 0.0), lost=("C", "D", "E")))
    assert told == "self-check: no false alarm in 2 comparisons of a runner with itself"


def test_a_check_without_a_measurement_says_so() -> None:
    assert "nothing was checked" in self_check.summarise(checked(lost=("A",)))


def test_a_difference_is_told_however_many_found_none() -> None:
    assert "1 of 2 comparisons" in self_check.summarise(checked(("A", 0.0), ("B", -0.05)))
