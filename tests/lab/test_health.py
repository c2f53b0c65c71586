"""Health of a device: what is a drift, when a check is due, and what happens to a damaged file."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.device import Device
from harness.lab.health import (
    RETRY_S,
    DeviceHealth,
    HealthCheck,
    explain_drift,
    judge,
    read_health,
    reference_job,
    write_health,
)
from tests.presentation.comparison_samples import compared, failed, made_pairs

pytest.importorskip("distributed")

DAY_S = 86400.0
NOW = 1e9


def check(
    figure: float, *, reason: str = "", subject: str = "a", spread: float = 0.01, time: float = NOW
) -> HealthCheck:
    return HealthCheck(time=time, subject=subject, figure=figure, spread=spread, reason=reason)


@pytest.mark.parametrize(
    ("figure", "earlier", "drifts"),
    [
        (104, 5 * [check(100)], False),
        (107, 5 * [check(100)], True),
        (93, 5 * [check(100)], True),
        (107, 4 * [check(100)], False),  # too few to know how it scatters
        (130, 4 * [check(100)], True),
        (107, [check(90), check(95), check(100), check(105), check(110)], False),  # its own figures scatter by more
        (190, [check(70), check(80), check(100), check(120), check(140)], True),
        (200, [check(100, subject="another version")], False),
        (200, [check(100), check(200, reason="drift"), check(200, reason="drift")], True),  # the bad ones do not count
        (200, [], False),
    ],
)
def test_a_drift_is_more_than_a_device_scatters(figure: float, earlier: list[HealthCheck], drifts: bool) -> None:
    assert bool(explain_drift(check(figure), earlier, launches=30)) is drifts


def test_a_noisy_check_needs_a_larger_change() -> None:
    assert not explain_drift(check(110, spread=0.2), 5 * [check(100)], launches=30)
    assert explain_drift(check(110, spread=0.01), 5 * [check(100)], launches=30)


def test_a_check_is_due_each_day_and_sooner_after_a_bad_one() -> None:
    assert DeviceHealth().is_due(NOW, DAY_S)
    good, bad = (DeviceHealth(checks=(check(1, reason=reason),)) for reason in ("", "hot"))
    assert not good.is_due(NOW + DAY_S - 1, DAY_S)
    assert good.is_due(NOW + DAY_S, DAY_S)
    assert not bad.is_due(NOW + RETRY_S - 1, DAY_S)
    assert bad.is_due(NOW + RETRY_S, DAY_S)


def test_a_check_of_the_future_is_made_again_once() -> None:
    """The clock was wrong, or jumped back."""
    health = DeviceHealth(checks=(check(1, time=NOW + 100 * DAY_S),))
    assert health.is_due(NOW, DAY_S)
    assert not health.with_check(check(1, time=NOW)).is_due(NOW + 1, DAY_S)


def test_a_damaged_file_is_said_and_set_aside(tmp_path: Path) -> None:
    file = tmp_path / "phone.json"
    assert read_health(file) == (DeviceHealth(), "")
    health = DeviceHealth(checks=(check(1),))
    write_health(file, health)
    assert read_health(file) == (health, "")
    file.write_text(file.read_text()[:20])
    read, problem = read_health(file)
    assert read == DeviceHealth()
    assert "is damaged" in problem
    assert not file.exists()
    assert file.with_suffix(".damaged").exists()
    assert read_health(file) == (DeviceHealth(), "")


def test_what_a_person_accepted_is_usual_from_then_on() -> None:
    earlier = DeviceHealth(checks=(*(5 * [check(100)]), check(200, reason="drift"))).accept(NOW)
    assert earlier.is_good
    assert not explain_drift(check(200), earlier.checks, launches=30)
    again = earlier.with_check(check(200))
    assert explain_drift(check(100), again.checks, launches=30)


def test_history_is_bounded() -> None:
    health = DeviceHealth()
    for number in range(100):
        health = health.with_check(check(number + 1))
    assert len(health.checks) == 60
    assert health.checks[-1].figure == 100


def test_results_in_doubt_are_those_since_the_last_good_check() -> None:
    good, bad = check(1, time=NOW), check(1, time=NOW + 5, reason="hot")
    assert DeviceHealth(checks=(good, bad, bad)).last_good == NOW
    assert DeviceHealth(checks=(bad,)).last_good is None


DEVICE = Device(platform="android", identity="one", name="Pixel 8")


@pytest.mark.parametrize(
    ("checks", "doubts"),
    [
        ([], []),
        ([check(1)], []),
        ([check(1, reason="hot")], []),  # nothing was measured in the lab before
        ([check(1), check(1, time=NOW + 5, reason="drift")], [(NOW, NOW + 5, "drift", False)]),
        (
            [check(1), check(0, time=NOW + 5, reason="hot"), check(1, time=NOW + 9, reason="drift")],
            [(NOW, NOW + 9, "drift", False)],
        ),
        ([check(1), check(1, time=NOW + 5, reason="drift"), check(1, time=NOW + 9)], [(NOW, NOW + 5, "drift", False)]),
        ([check(1), check(0, time=NOW + 5, reason="hot"), check(1, time=NOW + 9)], [(NOW, NOW + 5, "hot", True)]),
        ([check(1), check(0, time=NOW + 5, reason="hot")], [(NOW, NOW + 5, "hot", False)]),
        (
            [check(1), check(1, time=NOW + 1, reason="a"), check(1, time=NOW + 2), check(1, time=NOW + 3, reason="b")],
            [(NOW, NOW + 1, "a", False), (NOW + 2, NOW + 3, "b", False)],
        ),
    ],
)
def test_bad_checks_put_the_time_since_the_last_good_one_in_doubt(
    checks: list[HealthCheck], doubts: list[tuple[float, float, str, bool]]
) -> None:
    """A phone that was too warm to be checked, and then is as fast as before, has measured well."""
    measured = [each if each.figure else each.model_copy(update={"figure": None}) for each in checks]
    found = DeviceHealth(checks=tuple(measured)).doubts(DEVICE, "pixel-8")
    assert [(doubt.since, doubt.until, doubt.reason, doubt.resolved) for doubt in found] == doubts


def test_the_reference_needs_no_file() -> None:
    job = reference_job(Settings())
    assert not job.files
    assert job.pairs is not None
    assert job.pairs.control is None


def test_a_reference_that_equals_itself_is_healthy() -> None:
    judged = judge(compared("shell-loop", made_pairs(0.0, 15)), DeviceHealth(), NOW)
    assert (judged.reason, judged.time) == ("", NOW)
    assert judged.figure == pytest.approx(8.0, rel=0.01)


def test_a_reference_that_differs_from_itself_is_not() -> None:
    judged = judge(compared("shell-loop", made_pairs(0.1, 30)), DeviceHealth(), NOW)
    assert "of the reference with itself" in judged.reason


def test_a_reference_that_fails_after_some_pairs_is_not() -> None:
    """Its pairs may all be sound: the device still cannot do what it could."""
    judged = judge(failed("shell-loop", pairs=made_pairs(0.0, 5)), DeviceHealth(), NOW)
    assert judged.reason.startswith("reference: ")
