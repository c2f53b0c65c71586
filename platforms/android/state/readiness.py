"""Whether a phone is fit to be measured on, and waiting until it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from harness import shell
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Progress
from platforms.android.state.state import Reading

_COOLING = "take it out of its case and the sun, put a fan on it, or give it more time (--cool_timeout)"
_CHARGING = "charge it"
_UNFAKE = "`adb shell dumpsys battery reset` lets it read its battery again"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a phone must be.

    Attributes:
        timeout_s: How long it may take to become so.
        battery_percent: Least charge; below it phones save power.
        plugged_percent: Least charge while it is plugged in.
        skin_c: Limit of a skin sensor that tells none. Phones that tell theirs begin to hold back between 37 and 40 °C.
        battery_c: Limit of the battery where no skin sensor can be read. Charging is slowed from 45 °C on (JEITA's
            guideline for lithium-ion cells), and phones react before that.
        hysteresis_c: How far below its limit a phone that was too warm must cool.
        poll_s: Pause between two looks; a look wakes the phone up for a moment.
    """

    timeout_s: float = 900.0
    battery_percent: float = 30.0
    plugged_percent: float = 10.0
    skin_c: float = 38.0
    battery_c: float = 40.0
    hysteresis_c: float = 2.0
    poll_s: float = 5.0


class Obstacle(NamedTuple):
    """Something that stands against measuring.

    Attributes:
        text: What it is: the value and the limit.
        remedy: What a person can do.
        passes: Whether it passes by itself.
    """

    text: str
    remedy: str
    passes: bool = True


class Gate:
    """Stands before each launch on one phone.

    Args:
        name: What a person calls the phone.
        limits: What it must be.
        progress: Told what is waited for, and once what cannot be seen.
    """

    def __init__(self, name: str, limits: Limits, progress: Progress) -> None:
        self._name = name
        self._limits = limits
        self._progress = progress
        self._told: frozenset[str] = frozenset()

    def wait_until_ready(self, read: Callable[[], Reading]) -> None:
        """Return at once where nothing is wrong, else when it has passed.

        A phone that was too warm is let cool `hysteresis_c` below its limit: right at the limit the next launch would
        be the one that is held back.

        Args:
            read: Reads the phone's state.

        Raises:
            EnvironmentProblem: It does not pass in time, or not by itself.
            DeviceLost: The phone went away.
            Interrupted: The harness is being stopped.
        """
        reading = read()
        self._tell_unseen(reading)
        if obstacles := tuple(obstacles_in(reading, self._limits)):
            self._wait(obstacles, read)

    def _wait(self, obstacles: tuple[Obstacle, ...], read: Callable[[], Reading]) -> None:
        started = time.monotonic()
        left_s = self._limits.timeout_s
        with self._progress.task(f"{self._name}: waiting, {_texts(obstacles)}", self._limits.timeout_s) as task:
            while obstacles:
                if left_s <= 0 or not all(obstacle.passes for obstacle in obstacles):
                    raise self._refused(obstacles, time.monotonic() - started)
                shell.pause(min(self._limits.poll_s, left_s))
                left_s = started + self._limits.timeout_s - time.monotonic()
                obstacles = tuple(obstacles_in(read(), self._limits, self._limits.hysteresis_c))
                if obstacles:
                    waited_s = self._limits.timeout_s - max(0.0, left_s)
                    task.update(completed=waited_s, text=f"{self._name}: waiting, {_texts(obstacles)}")

    def _refused(self, obstacles: tuple[Obstacle, ...], waited_s: float) -> EnvironmentProblem:
        after = f" after {waited_s:.0f} s" if waited_s >= 1 else ""
        remedies = dict.fromkeys(obstacle.remedy for obstacle in obstacles)
        return EnvironmentProblem(
            f"{self._name} is not fit to be measured on{after}: {_texts(obstacles)}", hint="; ".join(remedies)
        )

    def _tell_unseen(self, reading: Reading) -> None:
        unseen = frozenset(unseen_in(reading))
        for text in sorted(unseen - self._told):
            self._progress.say(f"{self._name}: {text}")
        self._told |= unseen


def obstacles_in(reading: Reading, limits: Limits, margin_c: float = 0.0) -> Iterator[Obstacle]:
    """What stands against measuring now. What cannot be read does not.

    Args:
        reading: The phone's state.
        limits: What it must be.
        margin_c: How far below its limits it must be.
    """
    status = reading.state.thermal_status
    if status:
        yield Obstacle(f"thermal status {status}, must be 0", _COOLING)
    for sensor, celsius, limit_c in _temperatures(reading, limits):
        if celsius >= limit_c - margin_c:
            yield Obstacle(f"{sensor} at {celsius:.1f} °C, must be below {limit_c - margin_c:.1f} °C", _COOLING)
    yield from _charge(reading, limits)


def unseen_in(reading: Reading) -> Iterator[str]:
    """What a gate would look at and cannot, in words."""
    if reading.faked:
        yield f"somebody holds its battery readings at chosen values, they are not used ({_UNFAKE})"
    elif reading.state.battery_percent is None:
        yield "the charge of its battery cannot be read and is not looked at"
    if reading.state.thermal_status is None and not reading.skins:
        instead = "the battery's temperature is looked at instead" if reading.battery_c is not None else "nothing is"
        yield f"it does not tell whether it is too warm; {instead}"


def _temperatures(reading: Reading, limits: Limits) -> Iterator[tuple[str, float, float]]:
    for skin in reading.skins:
        yield f"skin sensor {skin.name}", skin.celsius, skin.limit_c if skin.limit_c is not None else limits.skin_c
    if not reading.skins and reading.battery_c is not None:
        yield "battery", reading.battery_c, limits.battery_c


def _charge(reading: Reading, limits: Limits) -> Iterator[Obstacle]:
    percent, plugged = reading.state.battery_percent, bool(reading.state.plugged)
    least = limits.plugged_percent if plugged else limits.battery_percent
    if percent is not None and percent < least:
        text = f"battery at {percent:.0f} %, must be at least {least:.0f} %"
        yield Obstacle(text + (" while it charges" if plugged else " on battery"), _CHARGING, passes=plugged)


def _texts(obstacles: tuple[Obstacle, ...]) -> str:
    return "; ".join(obstacle.text for obstacle in obstacles)
