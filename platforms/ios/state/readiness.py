"""Readiness of an iPhone to be measured on: battery, temperature, thermal state and low power mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Final, Self

from msgspec import Struct

from harness.core.device import DeviceState
from harness.core.note import Note
from harness.core.protocols import Progress
from platforms.ios.state.phone_state import THERMAL_STATUS
from platforms.phone_options import PhoneOptions
from platforms.readiness import COOLING, Obstacle, charge_obstacle, not_ready_error, parse_conditions, wait_until_ready

_POLL_S: Final = 15.0
"""Pause between two looks at a phone: each starts an app, which wakes it and warms it a little."""
_NAMES: Final = {status: name for name, status in THERMAL_STATUS.items()}


class IPhoneCondition(StrEnum):
    """A condition of a measurement that a user may override by its name."""

    BATTERY = "battery"
    TEMPERATURE = "temperature"
    THERMAL_STATUS = "thermal-status"
    LOW_POWER = "low-power"


_SEEN_BY_APPS: Final = frozenset({IPhoneCondition.THERMAL_STATUS, IPhoneCondition.LOW_POWER})


class IPhoneLimits(Struct, frozen=True):
    """Limits within which an iPhone is ready.

    Attributes:
        timeout_s: How long it may take to become ready.
        battery_percent: Least charge; low power mode is offered at 20 %.
        plugged_percent: Least charge while it is plugged in.
        battery_c: Limit of its battery's temperature: its skin's cannot be read.
        overridden: Conditions that are not demanded.
    """

    timeout_s: float = 900.0
    battery_percent: float = 30.0
    plugged_percent: float = 10.0
    battery_c: float = 40.0
    overridden: frozenset[IPhoneCondition] = frozenset()

    @classmethod
    def from_options(cls, options: PhoneOptions, timeout_s: float) -> Self:
        """Return the limits that a user set.

        Raises:
            UsageError: A condition that is to be overridden does not exist.
        """
        return cls(
            timeout_s=timeout_s,
            battery_percent=options.min_battery,
            plugged_percent=options.min_battery_charging,
            battery_c=options.max_battery_temperature,
            overridden=parse_conditions(IPhoneCondition, options.override),
        )


def wait_for_phone(name: str, read: Callable[[], DeviceState], limits: IPhoneLimits, progress: Progress) -> None:
    """Return as soon as a phone is ready.

    Args:
        name: Its name in messages.
        read: Reads its state. Only an app sees the thermal state and low power mode: where the last one saw it hot, or
            saving power, another is started to look.
        limits: Limits within which it is ready.
        progress: Shows what is waited for.

    Raises:
        EnvironmentProblem: It is not ready in time, or not without help.
        DeviceLost: It became unreachable.
    """
    wait_until_ready(
        name,
        lambda margin_c: tuple(obstacles_in(read(), limits, margin_c)),
        progress,
        timeout_s=limits.timeout_s,
        poll_s=_POLL_S,
    )


def check_without_waiting(name: str, state: DeviceState, limits: IPhoneLimits) -> None:
    """Check that nothing keeps a phone from being ready that does not pass by itself.

    Raises:
        EnvironmentProblem: Something does.
    """
    if lasting := tuple(obstacle for obstacle in obstacles_in(state, limits) if not obstacle.passes):
        raise not_ready_error(name, lasting)


def obstacles_in(state: DeviceState, limits: IPhoneLimits, margin_c: float = 0.0) -> Iterator[Obstacle]:
    """Yield the reasons why a phone is not ready now. Values that cannot be read are ignored.

    Args:
        state: Its state.
        limits: Limits within which it is ready.
        margin_c: How far below the limit its battery's temperature must be.
    """
    for obstacle in _find_obstacles(state, limits, margin_c):
        if obstacle.condition not in limits.overridden:
            yield obstacle


def sees_obstacle(state: DeviceState, limits: IPhoneLimits) -> bool:
    """Return whether something keeps a phone from being ready that only an app sees, and that may be over by now."""
    return any(obstacle.condition in _SEEN_BY_APPS for obstacle in obstacles_in(state, limits))


def note_overridden(state: DeviceState, limits: IPhoneLimits) -> Note | None:
    """Return the note on a launch for which a user overrode conditions; None where they did not."""
    if not limits.overridden:
        return None
    violated = [
        obstacle.text for obstacle in _find_obstacles(state, limits, 0.0) if obstacle.condition in limits.overridden
    ]
    names = ", ".join(sorted(limits.overridden))
    return Note(
        code="overridden",
        message=f"measured without demanding {names}" + (f": {'; '.join(violated)}" if violated else ""),
        hint="leave out --override",
        trust=False,
    )


def _find_obstacles(state: DeviceState, limits: IPhoneLimits, margin_c: float) -> Iterator[Obstacle]:
    if state.thermal_status:
        text = f"thermal state {_NAMES.get(state.thermal_status, state.thermal_status)}, must be nominal"
        yield Obstacle(IPhoneCondition.THERMAL_STATUS, text, COOLING)
    if state.temperature_c is not None and state.temperature_c >= limits.battery_c - margin_c:
        limit_c = limits.battery_c - margin_c
        text = f"battery at {state.temperature_c:.1f} °C, must be below {limit_c:.1f} °C"
        yield Obstacle(IPhoneCondition.TEMPERATURE, text, COOLING)
    charge = charge_obstacle(
        state.battery_percent,
        plugged=bool(state.plugged),
        battery_percent=limits.battery_percent,
        plugged_percent=limits.plugged_percent,
    )
    if charge is not None:
        yield charge
    if state.low_power_mode:
        yield Obstacle(
            IPhoneCondition.LOW_POWER,
            "low power mode is on, which limits its clocks",
            "switch it off (Settings, Battery), and charge it",
            passes=False,
        )
