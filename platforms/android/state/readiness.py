"""Readiness of a phone to be measured on, and waiting for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Self

from harness import shell
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.note import Note
from harness.core.protocols import Progress
from platforms.android.state.state import PhoneState
from platforms.phone_options import PhoneOptions

_COOLING = "take it out of its case and the sun, put a fan on it, or give it more time (--cool-timeout)"
_CHARGING = "charge it"
_RESET_BATTERY = "`adb shell dumpsys battery reset` lets it read its battery again"


class Condition(StrEnum):
    """A condition of a measurement that a user may override by its name."""

    BATTERY = "battery"
    TEMPERATURE = "temperature"
    THERMAL_STATUS = "thermal-status"
    FIXED_PERFORMANCE = "fixed-performance"

    @classmethod
    def parse(cls, names: Iterable[str]) -> frozenset[Self]:
        """Return the conditions of these names.

        Raises:
            UsageError: One of them is none.
        """
        known = [condition.value for condition in cls]
        for name in names:
            if name not in known:
                raise UsageError(f"--override: there is no condition `{name}`", hint=f"one of {', '.join(known)}")
        return frozenset(cls(name) for name in names)


@dataclass(frozen=True, slots=True)
class ReadinessLimits:
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
    hysteresis_c: float = 2.0
    poll_s: float = 5.0
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
            overridden=Condition.parse(options.override),
        )


class Obstacle(NamedTuple):
    """A reason why a phone is not ready.

    Attributes:
        condition: The condition that is not met.
        text: The value and its limit.
        remedy: What a person can do.
        passes: Whether it passes by itself.
    """

    condition: Condition
    text: str
    remedy: str
    passes: bool = True


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
        state = read()
        self._show_unreadable(state)
        if obstacles := tuple(obstacles_in(state, self._limits)):
            self._wait(obstacles, read)

    def _wait(self, obstacles: tuple[Obstacle, ...], read: Callable[[], PhoneState]) -> None:
        started = time.monotonic()
        left_s = self._limits.timeout_s
        with self._progress.task(f"{self._name}: waiting, {_texts(obstacles)}", self._limits.timeout_s) as task:
            while obstacles:
                if left_s <= 0 or not all(obstacle.passes for obstacle in obstacles):
                    raise _not_ready(self._name, obstacles, time.monotonic() - started)
                shell.pause(min(self._limits.poll_s, left_s))
                left_s = started + self._limits.timeout_s - time.monotonic()
                obstacles = tuple(obstacles_in(read(), self._limits, self._limits.hysteresis_c))
                if obstacles:
                    waited_s = self._limits.timeout_s - max(0.0, left_s)
                    task.update(completed=waited_s, text=f"{self._name}: waiting, {_texts(obstacles)}")

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
        raise _not_ready(name, lasting, 0.0)


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
        yield Obstacle(Condition.THERMAL_STATUS, f"thermal status {status}, must be 0", _COOLING)
    for sensor, celsius, limit_c in _temperatures(state, limits):
        if celsius >= limit_c - margin_c:
            yield Obstacle(
                Condition.TEMPERATURE,
                f"{sensor} at {celsius:.1f} °C, must be below {limit_c - margin_c:.1f} °C",
                _COOLING,
            )
    yield from _charge(state, limits)


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


def _charge(state: PhoneState, limits: ReadinessLimits) -> Iterator[Obstacle]:
    percent, plugged = state.device.battery_percent, bool(state.device.plugged)
    least = limits.plugged_percent if plugged else limits.battery_percent
    if percent is not None and percent < least:
        text = f"battery at {percent:.0f} %, must be at least {least:.0f} %"
        yield Obstacle(
            Condition.BATTERY, text + (" while it charges" if plugged else " on battery"), _CHARGING, passes=plugged
        )


def _not_ready(name: str, obstacles: tuple[Obstacle, ...], waited_s: float) -> EnvironmentProblem:
    after = f" after {waited_s:.0f} s" if waited_s >= 1 else ""
    remedies = dict.fromkeys(obstacle.remedy for obstacle in obstacles)
    return EnvironmentProblem(
        f"{name} is not ready to be measured on{after}: {_texts(obstacles)}", hint="; ".join(remedies)
    )


def _texts(obstacles: tuple[Obstacle, ...]) -> str:
    return "; ".join(obstacle.text for obstacle in obstacles)
