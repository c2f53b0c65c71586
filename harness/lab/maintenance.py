"""`harness lab withdraw`, `return` and `check`: what a person does with a device of a lab."""

from __future__ import annotations

import getpass
import socket
import time
from collections.abc import Callable
from typing import Final

from harness.core.errors import EnvironmentProblem, ExitCode, UsageError
from harness.lab.client import LabClient
from harness.lab.health import WITHOUT_SHELL
from harness.lab.jobs import Place
from harness.lab.pool import PersonalAction, PoolAction
from harness.lab.targets import choose_targets
from harness.presentation.numbers import format_duration
from harness.shell import pause

_POLL_S: Final = 0.5
_TAKEN_S: Final = 30.0
"""How long a host may take to carry out what a person did."""
_CHECKED_S: Final = 1800.0
"""The same of a check, which waits for what is measured."""


def act(client: LabClient, action: PoolAction, name: str, reason: str, say: Callable[[str], None]) -> ExitCode:
    """Let a host withdraw, return or check a device, and say what became of it.

    Args:
        client: Client of the lab.
        action: What to do.
        name: Name or identity of the device.
        reason: Why; of a withdrawal.
        say: Shows a line.

    Raises:
        UsageError: There is no such device, or nothing to do.
        EnvironmentProblem: Its host does not do it.
    """
    before = _find(client, name)
    _reject_nothing_to_do(before, action)
    client.request_action(before, PersonalAction(action=action, person=_person(), time=time.time(), reason=reason))
    after = _wait(client, before, _CHECKED_S if action is PoolAction.CHECK else _TAKEN_S)
    if action is PoolAction.CHECK:
        return _say_check(before, after, say)
    if action is PoolAction.RETURN:
        say(f"{after.device.name} is returned" + (f", but stays out: {after.health}" if after.health else ""))
        return ExitCode.OK
    text = f"{after.device.name} is withdrawn"
    if after.job is not None:
        left_s = after.job.left_s
        left = "" if left_s is None or left_s < 0 else f", which takes {format_duration(left_s)} more"
        text += f" as soon as it has measured {after.job.title}{left}"
    say(f"{text}; `harness lab return` brings it back")
    return ExitCode.OK


def _find(client: LabClient, name: str) -> Place:
    (target,) = choose_targets(client.places(), (), [name])
    return target.places[0]


def _reject_nothing_to_do(place: Place, action: PoolAction) -> None:
    name = place.device.name
    if action is PoolAction.RETURN and not place.health:
        raise UsageError(f"{name} is in the pool", hint="`harness lab status` shows which devices are not")
    if action is PoolAction.RETURN and place.returns_at is not None:
        raise UsageError(
            f"{name} is not withdrawn: {place.health}", hint="start `harness lab join` there without --quiet-hours"
        )
    if action is PoolAction.CHECK and place.device.platform in WITHOUT_SHELL:
        raise UsageError(f"{name} has no shell, which the reference of checks needs", hint="measure on it, and look")


def _wait(client: LabClient, place: Place, most_s: float) -> Place:
    """Wait until the host has done it, and return the device as it is then.

    Raises:
        EnvironmentProblem: That takes too long.
    """
    began = time.monotonic()
    while time.monotonic() - began < most_s:
        pause(_POLL_S)
        found = next((each for each in client.places() if each.device.identity == place.device.identity), None)
        if found is not None and not found.is_action_pending:  # else its process starts anew
            return found
    raise EnvironmentProblem(
        f"the host of {place.device.name}, {place.host}, has not done it",
        hint="it does it as soon as it can: look there",
    )


def _say_check(before: Place, after: Place, say: Callable[[str], None]) -> ExitCode:
    name = after.device.name
    if after.checked_at is None or after.checked_at == before.checked_at:
        raise EnvironmentProblem(f"{name} could not be checked", hint=f"`harness lab join` on {after.host} says why")
    if not after.check_reason:
        say(f"{name} is healthy")
        return ExitCode.OK
    is_out = after.health.endswith(after.check_reason)
    say(f"{name} is not healthy: {after.check_reason}" + ("" if is_out else "; its host lets it stay in the pool"))
    return ExitCode.BENCHMARK_FAILED


def _person() -> str:
    """Return who does it, for those who wonder why a device is not there."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):  # there is no such account
        user = "somebody"
    return f"{user}@{socket.gethostname()}"[:500]
