"""Waiting until a phone is ready to be measured on: what every platform of phones shares."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

from harness import shell
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.protocols import Progress

COOLING: Final = "take it out of its case and the sun, put a fan on it, or give it more time (--cool-timeout)"
CHARGING: Final = "charge it"
POLL_S: Final = 5.0
"""Pause between two readings; a reading wakes a phone up for a moment."""
HYSTERESIS_C: Final = 2.0
"""How far below its limit a phone that was too warm must cool: right at it the next launch would be throttled."""


ConditionT = TypeVar("ConditionT", bound=StrEnum)


def parse_conditions(kind: type[ConditionT], names: Iterable[str]) -> frozenset[ConditionT]:
    """Return the conditions that users named (`--override`).

    Args:
        kind: The conditions that phones of a platform have.
        names: Their names.

    Raises:
        UsageError: One of them is none.
    """
    known = [condition.value for condition in kind]
    for name in names:
        if name not in known:
            raise UsageError(f"--override: there is no condition `{name}`", hint=f"one of {', '.join(known)}")
    return frozenset(kind(name) for name in names)


class Obstacle(NamedTuple):
    """A reason why a phone is not ready.

    Attributes:
        condition: The condition that is not met, by the name with which users override it.
        text: The value and its limit.
        remedy: What a person can do.
        passes: Whether it passes by itself.
    """

    condition: str
    text: str
    remedy: str
    passes: bool = True


def wait_until_ready(
    name: str,
    find: Callable[[float], Sequence[Obstacle]],
    progress: Progress,
    *,
    timeout_s: float,
    poll_s: float = POLL_S,
    hysteresis_c: float = HYSTERESIS_C,
) -> None:
    """Return as soon as nothing keeps a phone from being measured on.

    Args:
        name: Its name in messages.
        find: Reads its state and returns the obstacles, with temperatures so many degrees Celsius below their limits.
        progress: Shows what is waited for.
        timeout_s: How long it may take.
        poll_s: Pause between two readings.
        hysteresis_c: How far below its limits a phone that was not ready must cool.

    Raises:
        EnvironmentProblem: It is not ready in time, or not without help.
        DeviceLost: It became unreachable.
        Interrupted: The harness is being stopped.
    """
    obstacles = find(0.0)
    if not obstacles:
        return
    started = time.monotonic()
    left_s = timeout_s
    with progress.task(f"{name}: waiting, {_texts(obstacles)}", timeout_s) as task:
        while obstacles:
            if left_s <= 0 or not all(obstacle.passes for obstacle in obstacles):
                raise not_ready_error(name, obstacles, time.monotonic() - started)
            shell.pause(min(poll_s, left_s))
            left_s = started + timeout_s - time.monotonic()
            obstacles = find(hysteresis_c)
            if obstacles:
                text = f"{name}: waiting, {_texts(obstacles)}"
                task.update(completed=timeout_s - max(0.0, left_s), text=text)


def not_ready_error(name: str, obstacles: Sequence[Obstacle], waited_s: float = 0.0) -> EnvironmentProblem:
    """Return the error of a phone that is not ready."""
    after = f" after {waited_s:.0f} s" if waited_s >= 1 else ""
    remedies = dict.fromkeys(obstacle.remedy for obstacle in obstacles)
    return EnvironmentProblem(
        f"{name} is not ready to be measured on{after}: {_texts(obstacles)}", hint="; ".join(remedies)
    )


def charge_obstacle(
    percent: float | None, *, plugged: bool, battery_percent: float, plugged_percent: float
) -> Obstacle | None:
    """Return the obstacle of a battery that is too low; None where it is not, or where its charge is unknown.

    Args:
        percent: Its charge.
        plugged: Whether the phone is plugged in, and its charge will rise.
        battery_percent: Least charge of a phone that runs on its battery.
        plugged_percent: Least charge of a phone that is plugged in.
    """
    least = plugged_percent if plugged else battery_percent
    if percent is None or percent >= least:
        return None
    text = f"battery at {percent:.0f} %, must be at least {least:.0f} %"
    return Obstacle("battery", text + (" while it charges" if plugged else " on battery"), CHARGING, passes=plugged)


def _texts(obstacles: Sequence[Obstacle]) -> str:
    return "; ".join(obstacle.text for obstacle in obstacles)
