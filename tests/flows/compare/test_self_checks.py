"""Self-checks: verdicts of comparing a runner with itself, by device."""

from __future__ import annotations

from pathlib import Path

from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.result import Outcome, Report
from harness.flows.compare import self_check
from harness.flows.compare.self_check import VerdictCounter
from tests.presentation.comparison_samples import compared, made_pairs


def count_verdicts(*changes: tuple[str, float], lost: tuple[str, ...] = ()) -> VerdictCounter:
    """Return the verdicts of a check with given changes, by device, and with lost devices."""
    listening = VerdictCounter()
    for name, change in (*changes, *((name, 0.05) for name in lost)):
        result = compared("a", made_pairs(change, 30))
        update = {"device": device(name), "outcome": Outcome.DEVICE_LOST if name in lost else Outcome.OK}
        listening.report(Report(result=result.model_copy(update=update)))
    return listening


def device(name: str) -> Device:
    return Device(platform="instant", identity=name, name=name)


def test_a_false_alarm_counts_for_its_device(tmp_path: Path) -> None:
    settings = Settings(cache_dir=tmp_path)
    self_check.store(settings, count_verdicts(("A", 0.0), ("A", 0.0), ("B", 0.05), lost=("C",)))
    diagnoses = {name: self_check.diagnose(settings, device(name)) for name in "ABC"}
    assert (diagnoses["A"].ok, diagnoses["B"].ok, diagnoses["C"].ok) == (True, None, None)
    assert diagnoses["A"].found.endswith(": 2 no change")
    assert diagnoses["B"].found.endswith(": 1 regression")
    assert "never compared" in diagnoses["C"].found
    for file in (settings.cache_dir / "self-checks").iterdir():
        file.write_text("{")
    assert "never compared" in self_check.diagnose(settings, device("A")).found


def test_failed_measurements_are_not_counted() -> None:
    summary = self_check.summarise(count_verdicts(("A", 0.0), ("B", 0.0), lost=("C", "D", "E")))
    assert summary == "self-check: no false alarm in 2 comparisons of a runner with itself"


def test_a_check_without_a_measurement_is_reported() -> None:
    assert "nothing was checked" in self_check.summarise(count_verdicts(lost=("A",)))


def test_a_single_difference_is_reported() -> None:
    assert "1 of 2 comparisons" in self_check.summarise(count_verdicts(("A", 0.0), ("B", -0.05)))
