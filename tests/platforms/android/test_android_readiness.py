from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.core.device import DeviceState
from harness.core.errors import EnvironmentProblem, UsageError
from harness.testing.progress import RecordedProgress
from platforms.android.state.readiness import (
    Condition,
    ReadinessGate,
    ReadinessLimits,
    check_without_waiting,
    describe_overridden,
    obstacles_in,
)
from platforms.android.state.state import PhoneState, SkinSensor
from platforms.phone_options import PhoneOptions

PATIENT = ReadinessLimits(timeout_s=60.0, poll_s=0.001)
IMPATIENT = ReadinessLimits(timeout_s=0.05, poll_s=0.001)


def reading(
    skin_c: float | None = 30.0,
    limit_c: float | None = 39.0,
    status: int | None = 0,
    percent: float | None = 80.0,
    battery_c: float | None = 25.0,
    *,
    plugged: bool | None = True,
    overridden: bool = False,
    health: int | None = None,
) -> PhoneState:
    state = DeviceState(time=0.0, thermal_status=status, battery_percent=percent, plugged=plugged)
    skins = (SkinSensor("skin", skin_c, limit_c),) if skin_c is not None else ()
    return PhoneState(state, skins, battery_c, overridden, battery_health=health)


def one_after_another(*readings: PhoneState) -> Callable[[], PhoneState]:
    """The last one stays."""
    left = list(readings)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def settled(*readings: PhoneState, limits: ReadinessLimits = PATIENT) -> RecordedProgress:
    progress = RecordedProgress()
    ReadinessGate("Pixel", limits, progress).wait_until_ready(one_after_another(*readings))
    return progress


def refusal(*readings: PhoneState) -> EnvironmentProblem:
    with pytest.raises(EnvironmentProblem) as refused:
        settled(*readings, limits=IMPATIENT)
    return refused.value


def test_a_cool_charged_phone_is_ready_at_once_without_a_message() -> None:
    progress = settled(reading())
    assert (progress.tasks, progress.lines) == ([], [])


def test_waiting_for_a_warm_phone_shows_value_and_limit() -> None:
    progress = settled(reading(skin_c=41.2), reading(skin_c=40.0), reading(skin_c=36.0))
    assert progress.tasks == ["Pixel: waiting, skin sensor skin at 41.2 °C, must be below 39.0 °C"]


def test_a_phone_that_was_too_warm_must_cool_below_its_limit() -> None:
    assert "38.5 °C, must be below 37.0 °C" in str(refusal(reading(skin_c=41.0), reading(skin_c=38.5)))
    assert settled(reading(skin_c=38.5)).tasks == []  # it never was too warm


def test_a_phone_that_stays_warm_is_refused_with_the_remedy() -> None:
    error = refusal(reading(status=2, skin_c=41.0))
    assert "thermal status 2" in error.message
    assert "--cool-timeout" in (error.hint or "")


def test_a_status_alone_is_enough_to_wait() -> None:
    assert settled(reading(status=1), reading()).tasks == ["Pixel: waiting, thermal status 1, must be 0"]


def test_a_skin_sensor_without_a_limit_gets_one() -> None:
    assert "must be below 36.0" in str(refusal(reading(skin_c=38.0, limit_c=None)))


def test_the_battery_replaces_unknown_skin_sensors() -> None:
    error = refusal(reading(skin_c=None, status=None, battery_c=43.0))
    assert "battery at 43.0 °C" in error.message


def test_a_low_battery_is_refused_at_once_off_power() -> None:
    gate = ReadinessGate("Pixel", ReadinessLimits(timeout_s=3600.0, poll_s=3600.0), RecordedProgress())
    with pytest.raises(EnvironmentProblem, match="battery at 29 %, must be at least 30 %") as refused:
        gate.wait_until_ready(one_after_another(reading(percent=29.0, plugged=False)))
    assert refused.value.hint == "charge it"


@pytest.mark.parametrize(("health", "words"), [(4, "that it is dead"), (5, "too high a voltage"), (6, "a failure")])
def test_a_broken_battery_is_refused_at_once_unless_it_is_overridden(health: int, words: str) -> None:
    with pytest.raises(EnvironmentProblem, match=f"its battery reports {words}") as refused:
        check_without_waiting("Pixel", reading(health=health), ReadinessLimits())
    assert "dangerous" in str(refused.value.hint)
    check_without_waiting("Pixel", reading(health=health), ReadinessLimits(overridden=frozenset({Condition.BATTERY})))


@pytest.mark.parametrize(("health", "words"), [(3, "that it overheats"), (7, "that it is too cold")])
def test_a_battery_that_is_too_warm_or_too_cold_is_waited_for(health: int, words: str) -> None:
    progress = settled(reading(health=health), reading(health=2))
    assert progress.tasks == [f"Pixel: waiting, its battery reports {words}"]


@pytest.mark.parametrize("health", [None, 1, 2])
def test_a_battery_of_which_nothing_bad_is_known_is_used(health: int | None) -> None:
    assert settled(reading(health=health)).tasks == []


@pytest.mark.parametrize(("percent", "plugged"), [(30.0, False), (10.0, True)])
def test_charge_at_its_limit_passes(percent: float, plugged: bool) -> None:
    assert settled(reading(percent=percent, plugged=plugged)).tasks == []


def test_a_nearly_empty_phone_that_charges_is_waited_for() -> None:
    progress = settled(reading(percent=9.0), reading(percent=10.0))
    assert progress.tasks == ["Pixel: waiting, battery at 9 %, must be at least 10 % while it charges"]


def test_a_phone_that_reports_nothing_is_ready_and_a_warning_is_shown_once() -> None:
    progress = RecordedProgress()
    gate = ReadinessGate("Pixel", PATIENT, progress)
    blind = reading(skin_c=None, status=None, percent=None, battery_c=None, plugged=None)
    gate.wait_until_ready(lambda: blind)
    gate.wait_until_ready(lambda: blind)
    assert len(progress.lines) == 2
    assert "heat is ignored" in progress.lines[0] + progress.lines[1]


def test_overridden_readings_are_shown_with_their_remedy() -> None:
    progress = settled(reading(percent=None, overridden=True))
    assert "dumpsys battery reset" in progress.lines[0]


def limits_of(**options: object) -> ReadinessLimits:
    max_skin: float | None = options.pop("max_skin", None)  # type: ignore[assignment]
    return ReadinessLimits.from_options(PhoneOptions(**options), timeout_s=0.05, max_skin_c=max_skin)  # type: ignore[arg-type]


def test_the_limits_of_the_options_are_those_of_the_code() -> None:
    assert limits_of() == ReadinessLimits(timeout_s=0.05)


def test_limits_can_be_set() -> None:
    limits = limits_of(min_battery=15.0, min_battery_charging=0.0, max_skin=33.0, max_battery_temperature=35.0)
    passing = (reading(percent=15.0, plugged=False), reading(percent=0.0), reading(skin_c=32.9))
    refused = (
        reading(percent=14.0, plugged=False),
        reading(skin_c=33.0),
        reading(skin_c=33.0, limit_c=None),
        reading(skin_c=None, battery_c=35.0),
    )
    assert [len(tuple(obstacles_in(state, limits))) for state in passing] == [0, 0, 0]
    assert [len(tuple(obstacles_in(state, limits))) for state in refused] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("battery", reading(percent=3.0, plugged=False)),
        ("temperature", reading(skin_c=50.0)),
        ("thermal-status", reading(status=3)),
    ],
)
def test_a_condition_is_overridden_by_its_name_and_no_other_is(name: str, state: PhoneState) -> None:
    others = tuple(condition for condition in Condition if condition != name)
    (obstacle,) = obstacles_in(state, limits_of(override=others))
    assert not any(obstacles_in(state, limits_of(override=(name,))))
    note = describe_overridden(state, limits_of(override=(name,)))
    assert note is not None
    assert (note.code, note.trust) == ("overridden", False)
    assert note.message == f"measured without demanding {name}: {obstacle.text}"


def test_an_overridden_condition_is_told_even_if_it_was_met() -> None:
    note = describe_overridden(reading(), limits_of(override=("battery", "fixed-performance")))
    assert note is not None
    assert note.message == "measured without demanding battery, fixed-performance"
    assert describe_overridden(reading(status=3), limits_of()) is None


def test_an_unknown_condition_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no condition `heat`") as refused:
        limits_of(override=("heat",))
    assert "thermal-status" in (refused.value.hint or "")
