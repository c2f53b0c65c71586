"""Self-checks: verdicts of comparing a runner with itself, by device."""

from __future__ import annotations

import io
import time
from pathlib import Path

from frameworks.generic.framework import Generic
from harness.config.settings import Settings
from harness.core.comparison import Parameters
from harness.core.device import Device
from harness.core.errors import ExitCode
from harness.core.result import Outcome, Report
from harness.core.verdict import Verdict
from harness.display.plain import PlainDisplay
from harness.flows.compare import self_check
from harness.flows.compare.self_check import VerdictCounter
from harness.flows.compare.sensitivity import SelfCheckRequest, check_devices
from harness.flows.measure.workload import Workload
from tests.flows.instant import Instant, benchmark
from tests.presentation.comparison_samples import compared, made_pairs
from tests.presentation.self_check_samples import CHECK, sensitivity_of


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


def test_the_last_self_check_is_shown_with_its_age_and_device(tmp_path: Path) -> None:
    settings = Settings(cache_dir=tmp_path)
    check = self_check.store_sensitivity(
        settings, device("A"), sensitivity_of(CHECK).model_copy(update={"time": time.time()})
    )
    assert (check.schema_version, check.identity, check.verdicts) == (2, "A", {Verdict.NO_CHANGE: 1})
    finding = self_check.diagnose(settings, device("A"))
    assert finding.ok
    assert finding.found.startswith("A on ")
    assert (
        "(just now): nothing speaks against verdicts of this machine: changes of 0.84 % can be shown" in finding.found
    )


def test_a_later_comparison_with_itself_keeps_what_can_be_shown(tmp_path: Path) -> None:
    settings = Settings(cache_dir=tmp_path)
    self_check.store_sensitivity(settings, device("A"), sensitivity_of(CHECK))
    self_check.store(settings, count_verdicts(("A", 0.05)))
    stored = self_check.read(settings, device("A"))
    assert stored is not None
    assert stored.sensitivity is not None
    assert ": 1 regression; on " in self_check.diagnose(settings, device("A")).found


def test_a_check_that_measured_nothing_keeps_the_last_one(tmp_path: Path) -> None:
    settings = Settings(cache_dir=tmp_path)
    self_check.store_sensitivity(settings, device("A"), sensitivity_of(CHECK))
    check = self_check.store_sensitivity(settings, device("A"), sensitivity_of())
    assert check.verdicts == {}
    assert "changes of 0.84 % can be shown" in self_check.diagnose(settings, device("A")).found


def test_a_comparison_that_decided_nothing_is_no_good_check(tmp_path: Path) -> None:
    settings = Settings(cache_dir=tmp_path)
    self_check.store_sensitivity(settings, device("A"), sensitivity_of(CHECK))
    undecided = VerdictCounter()
    undecided.report(Report(result=compared("a", made_pairs(0.0, 4)).model_copy(update={"device": device("A")})))
    self_check.store(settings, undecided)
    finding = self_check.diagnose(settings, device("A"))
    assert finding.ok is None
    assert ": 1 undecided; on " in finding.found
    assert "changes of 0.84 % can be shown" in finding.found


def test_a_self_check_of_an_older_harness_is_readable(tmp_path: Path) -> None:
    settings = Settings(cache_dir=tmp_path)
    file = tmp_path / "self-checks" / "A.json"
    file.parent.mkdir()
    file.write_text('{"time": 1760000000.0, "verdicts": {"no change": 3}}')
    finding = self_check.diagnose(settings, device("A"))
    assert finding.ok
    assert "on 2025-10-09" in finding.found
    assert finding.found.endswith(": 3 no change")


def test_devices_are_checked_and_the_checks_stored(tmp_path: Path) -> None:
    settings = Settings(cache_dir=tmp_path / "cache", local_reporter=tmp_path / "results")
    program = tmp_path / "program"
    program.touch(mode=0o755)
    frameworks = {"generic": Generic({"program": program})}
    workload = Workload((benchmark("a"), benchmark("b")), Instant(["A", "B"]), frameworks, ("all",))
    request = SelfCheckRequest(minutes=0.3, parameters=Parameters(seed=3), trials=20)  # a pair takes 0.2 s
    code, checks = check_devices(workload, request, settings, PlainDisplay(io.StringIO()))
    assert code is ExitCode.OK
    assert sorted(check.device for check in checks) == ["A", "B"]
    for check in checks:
        assert check.sensitivity is not None
        assert all(checked.pairs > 25 for checked in check.sensitivity.benchmarks)
        assert all((checked.smallest_change or 1.0) < 0.01 for checked in check.sensitivity.benchmarks)
        assert self_check.diagnose(settings, device(check.identity)).ok
