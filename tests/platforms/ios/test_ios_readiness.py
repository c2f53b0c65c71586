from __future__ import annotations

import pytest

from harness.config.options import declared_options
from harness.core.device import DeviceState
from harness.core.errors import EnvironmentProblem, UsageError
from harness.testing.progress import RecordedProgress
from platforms.ios.apps.protocol import AppState
from platforms.ios.link.client import Battery
from platforms.ios.options import IosOptions
from platforms.ios.platform import Ios
from platforms.ios.state.phone_state import THERMAL_STATUS, device_state
from platforms.ios.state.readiness import (
    IPhoneCondition,
    IPhoneLimits,
    check_without_waiting,
    note_overridden,
    obstacles_in,
    wait_for_phone,
)
from platforms.phone_options import PhoneOptions

READY = DeviceState(time=0.0, battery_percent=80.0, plugged=True, temperature_c=28.0, low_power_mode=False)
LIMITS = IPhoneLimits(timeout_s=0.05)


def changed(**members: object) -> DeviceState:
    return READY.model_copy(update=members)


@pytest.mark.parametrize(
    ("state", "condition", "passes"),
    [
        (changed(battery_percent=9.0), IPhoneCondition.BATTERY, True),
        (changed(battery_percent=29.0, plugged=False), IPhoneCondition.BATTERY, False),
        (changed(temperature_c=40.0), IPhoneCondition.TEMPERATURE, True),
        (changed(low_power_mode=True), IPhoneCondition.LOW_POWER, False),
        (changed(thermal_status=3), IPhoneCondition.THERMAL_STATUS, True),
    ],
)
def test_what_keeps_a_phone_from_being_measured_is_named(
    state: DeviceState, condition: IPhoneCondition, *, passes: bool
) -> None:
    (obstacle,) = obstacles_in(state, LIMITS)
    assert (obstacle.condition, obstacle.passes) == (condition, passes)
    assert not tuple(obstacles_in(state, IPhoneLimits(overridden=frozenset({condition}))))
    note = note_overridden(state, IPhoneLimits(overridden=frozenset({condition})))
    assert note is not None
    assert not note.trust
    assert obstacle.text in note.message


@pytest.mark.parametrize("state", [READY, DeviceState(time=0.0)])
def test_a_phone_that_is_ready_or_says_nothing_is_not_waited_for(state: DeviceState) -> None:
    progress = RecordedProgress()
    wait_for_phone("iPhone 15", lambda: state, LIMITS, progress)
    assert not progress.lines


def test_a_phone_that_stays_hot_is_named_with_its_remedy() -> None:
    with pytest.raises(EnvironmentProblem, match=r"iPhone 15 is not ready.*battery at 41\.0 °C") as caught:
        wait_for_phone("iPhone 15", lambda: changed(temperature_c=41.0), LIMITS, RecordedProgress())
    assert caught.value.hint is not None
    assert "fan" in caught.value.hint


def test_before_anything_is_built_only_what_lasts_is_an_error() -> None:
    check_without_waiting("iPhone 15", changed(temperature_c=45.0), LIMITS)
    with pytest.raises(EnvironmentProblem, match="low power mode"):
        check_without_waiting("iPhone 15", changed(low_power_mode=True), LIMITS)


def test_an_unknown_condition_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="fixed-performance") as caught:
        IPhoneLimits.from_options(PhoneOptions(override=("fixed-performance",)), 1.0)
    assert "low-power" in (caught.value.hint or "")


def test_the_limits_of_the_options_are_those_of_the_code() -> None:
    assert IPhoneLimits.from_options(PhoneOptions(), 900.0) == IPhoneLimits()


@pytest.mark.parametrize(("name", "status"), [*THERMAL_STATUS.items(), ("molten", None), (None, None)])
def test_thermal_states_are_degrees_of_throttling(name: str | None, status: int | None) -> None:
    assert device_state(AppState(time=1.0, thermal_state=name), Battery(), 2.0).thermal_status == status


def test_what_the_computer_reads_counts_before_what_the_app_saw() -> None:
    app = AppState(time=1.0, battery_percent=50.0, battery_state="unplugged", brightness=0.25, low_power_mode=True)
    alone = device_state(app, Battery(), 2.0)
    both = device_state(app, Battery(percent=51.0, plugged=True, temperature_c=30.0), 2.0)
    assert (alone.battery_percent, alone.plugged, alone.temperature_c) == (50.0, False, None)
    assert (both.battery_percent, both.plugged, both.temperature_c) == (51.0, True, 30.0)
    assert (both.brightness, both.low_power_mode) == (0.25, True)


def test_an_iphone_can_do_what_the_options_of_phones_ask_for() -> None:
    options = (*declared_options(IosOptions), *declared_options(PhoneOptions))
    assert {option.name for option in options if option.option.of_device} == set(Ios.device_options)
