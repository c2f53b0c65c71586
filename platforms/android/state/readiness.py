"""Readiness of a phone to be measured on, and waiting for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Final, Self

from msgspec import Struct

from harness.core.note import Note
from harness.core.protocols import Progress
from platforms.android.state.state import PhoneState
from platforms.phone_options import PhoneOptions
from platforms.readiness import (
    COOLING,
    HYSTERESIS_C,
    POLL_S,
    Obstacle,
    charge_obstacle,
    not_ready_error,
    parse_conditions,
    wait_until_ready,
)

_REPLACE: Final = "look at its battery: it may be dangerous"
_RESET_BATTERY = "`adb shell dumpsys battery reset` lets it read its battery again"


class Condition(StrEnum):
    """A condition of a measurement that a user may override by its name."""

    BATTERY = "battery"
    TEMPERATURE = "temperature"
    THERMAL_STATUS = "thermal-status"
    FIXED_PERFORMANCE = "fixed-performance"


_UNHEALTHY: Final = {
    3: Obstacle(Condition.BATTERY, "its battery reports that it overheats", COOLING),
    4: Obstacle(Condition.BATTERY, "its battery reports that it is dead", _REPLACE, passes=False),
    5: Obstacle(Condition.BATTERY, "its battery reports too high a voltage", _REPLACE, passes=False),
    6: Obstacle(Condition.BATTERY, "its battery reports a failure", _REPLACE, passes=False),
    7: Obstacle(Condition.BATTERY, "its battery reports that it is too cold", "bring it to a warmer place"),
}
"""By `BatteryManager.BATTERY_HEALTH_*`. No sensor of a phone tells that its battery swells."""


class ReadinessLimits(Struct, frozen=True):
    """Limits within which a phone is ready.

    Attributes:
        timeout_s: How long it may take to become ready.
        battery_percent: Least charge; below it phones save power.
        plugged_percent: Least charge while it is plugged in.
        skin_c: Limit of a skin sensor that has none. Phones with limits of their own throttle from 37 to 40 °C on.
        set_skin_c: Limit of every skin sensor in place of its own; None leaves it its own.
        battery_c: Limit of the battery where no skin sensor can be read. Charging is slowed from 45 °C on (JEITA's
            guideline for lithium-ion cells), and phones react before that.
        hysteresis_c: How far below its limit a phone that was too warm must cool.
        poll_s: Pause between two readings; a reading wakes the phone up for a moment.
        overridden: Conditions that are not demanded.
    """

    timeout_s: float = 900.0
    battery_percent: float = 30.0
    plugged_percent: float = 10.0
    skin_c: float = 38.0
    set_skin_c: float | None = None
    battery_c: float = 40.0
    hysteresis_c: float = HYSTERESIS_C
    poll_s: float = POLL_S
    overridden: frozenset[Condition] = frozenset()

    @classmethod
    def from_options(cls, options: PhoneOptions, timeout_s: float, *, max_skin_c: float | None = None) -> Self:
        """Return the limits that a user set.

        Raises:
            UsageError: A condition that is to be overridden does not exist.
        """
        return cls(
            timeout_s=timeout_s,
            battery_percent=options.min_battery,
            plugged_percent=options.min_battery_charging,
            set_skin_c=max_skin_c,
            battery_c=options.max_battery_temperature,
            overridden=parse_conditions(Condition, options.override),
        )


class ReadinessGate:
    """Waits before each launch until one phone is ready.

    Args:
        name: Name of the phone in messages.
        limits: Limits within which it is ready.
        progress: Shows what is waited for, and once what cannot be read.
    """

    def __init__(self, name: str, limits: ReadinessLimits, progress: Progress) -> None:
        self._name = name
        self._limits = limits
        self._progress = progress
        self._shown: frozenset[str] = frozenset()

    @property
    def limits(self) -> ReadinessLimits:
        """Limits within which the phone is ready."""
        return self._limits

    def wait_until_ready(self, read: Callable[[], PhoneState]) -> None:
        """Return as soon as the phone is ready.

        A phone that was too warm must cool `hysteresis_c` below its limit: right at the limit the next launch would
        be throttled.

        Args:
            read: Reads the phone's state.

        Raises:
            EnvironmentProblem: It is not ready in time, or not without help.
            DeviceLost: The phone became unreachable.
            Interrupted: The harness is being stopped.
        """
        self._show_unreadable(state := read())
        states = [state]

        def find(margin_c: float) -> tuple[Obstacle, ...]:
            return tuple(obstacles_in(states.pop() if states else read(), self._limits, margin_c))

        wait_until_ready(
            self._name,
            find,
            self._progress,
            timeout_s=self._limits.timeout_s,
            poll_s=self._limits.poll_s,
            hysteresis_c=self._limits.hysteresis_c,
        )

    def _show_unreadable(self, state: PhoneState) -> None:
        unreadable = frozenset(describe_unreadable(state))
        for text in sorted(unreadable - self._shown):
            self._progress.say(f"{self._name}: {text}")
        self._shown |= unreadable


def check_without_waiting(name: str, state: PhoneState, limits: ReadinessLimits) -> None:
    """Check that nothing keeps a phone from being ready that does not pass by itself.

    Raises:
        EnvironmentProblem: Something does.
    """
    if lasting := tuple(obstacle for obstacle in obstacles_in(state, limits) if not obstacle.passes):
        raise not_ready_error(name, lasting)


def obstacles_in(state: PhoneState, limits: ReadinessLimits, margin_c: float = 0.0) -> Iterator[Obstacle]:
    """Yield the reasons why a phone is not ready now. Values that cannot be read are ignored.

    Args:
        state: The phone's state.
        limits: Limits within which it is ready.
        margin_c: How far below the limits its temperatures must be.
    """
    for obstacle in _find_obstacles(state, limits, margin_c):
        if obstacle.condition not in limits.overridden:
            yield obstacle


def describe_overridden(state: PhoneState, limits: ReadinessLimits) -> Note | None:
    """Return the note on a measurement for which a user overrode conditions; None where they did not."""
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


def _find_obstacles(state: PhoneState, limits: ReadinessLimits, margin_c: float) -> Iterator[Obstacle]:
    status = state.device.thermal_status
    if status:
        yield Obstacle(Condition.THERMAL_STATUS, f"thermal status {status}, must be 0", COOLING)
    for sensor, celsius, limit_c in _temperatures(state, limits):
        if celsius >= limit_c - margin_c:
            yield Obstacle(
                Condition.TEMPERATURE,
                f"{sensor} at {celsius:.1f} °C, must be below {limit_c - margin_c:.1f} °C",
                COOLING,
            )
    charge = charge_obstacle(
        state.device.battery_percent,
        plugged=bool(state.device.plugged),
        battery_percent=limits.battery_percent,
        plugged_percent=limits.plugged_percent,
    )
    if charge is not None:
        yield charge
    if state.battery_health in _UNHEALTHY:
        yield _UNHEALTHY[state.battery_health]


def describe_unreadable(state: PhoneState) -> Iterator[str]:
    """Yield clauses about values that readiness depends on and that cannot be read."""
    if state.overridden:
        yield f"its battery readings are overridden and not used ({_RESET_BATTERY})"
    elif state.device.battery_percent is None:
        yield "the charge of its battery cannot be read and is ignored"
    if state.device.thermal_status is None and not state.skins:
        instead = "the battery's temperature is used instead" if state.battery_c is not None else "heat is ignored"
        yield f"it does not report whether it is too warm; {instead}"
    elif state.blind:
        yield "it reports no skin temperature at which it throttles: its thermal status may stay 0 whatever its heat"


def _temperatures(state: PhoneState, limits: ReadinessLimits) -> Iterator[tuple[str, float, float]]:
    for skin in state.skins:
        own_c = skin.limit_c if skin.limit_c is not None else limits.skin_c
        yield f"skin sensor {skin.name}", skin.celsius, own_c if limits.set_skin_c is None else limits.set_skin_c
    if not state.skins and state.battery_c is not None:
        yield "battery", state.battery_c, limits.battery_c
