"""Scenarios: the blocks `arrival` and `sustained` of a test."""

from __future__ import annotations

import math
from typing import Final

from harness.core.placeholders import find_placeholders
from harness.core.scenario import LEAST_SUSTAINED_S, SCENARIO, Arrival, Pattern, SustainedRequest
from harness.specification.document import Findings, join
from harness.specification.file_format import ArrivalEntry, SustainedEntry, Test
from harness.specification.scope import PlaceholderScope

_INTERVALS: Final = ("every_ms", "per_second")

_ONCE: Final = {
    "operators": "operators are timed in executions that follow each other",
    "data": "outputs of a data set are compared, and nothing is timed",
}
"""Keys that mean nothing where executions are paced, and why."""


def check_scenario(test: Test, pointer: str, findings: Findings) -> None:
    """Report what contradicts itself in the blocks, or means nothing beside them."""
    if test.arrival is not None:
        _check_arrival(test, test.arrival, pointer, findings)
    commands = [text for text in (test.command, test.arguments, *(test.commands or ())) if text]
    named = {name for text in commands for name in find_placeholders(text)}
    for key, placeholder in zip(("arrival", "sustained"), SCENARIO, strict=True):
        if getattr(test, key) is not None and commands and placeholder not in named:
            findings.add(
                join(pointer, key),
                f"`{key}` has no effect on `commands` that do not name {{{placeholder}}}",
                f"pass {{{placeholder}}} to the program, and let it print `NET start_time` beside `NET latency`",
            )


def request_arrival(entry: ArrivalEntry | None, scope: PlaceholderScope, pointer: str) -> Arrival | None:
    """Return when the executions of a test are asked for; None where nothing is said, or a problem was found."""
    if entry is None:
        return None
    every_ms = _number(entry.every_ms, scope, join(pointer, "every_ms"))
    per_second = _number(entry.per_second, scope, join(pointer, "per_second"))
    deadline_ms = _number(entry.deadline_ms, scope, join(pointer, "deadline_ms"))
    if every_ms is None and per_second is None:
        return None
    return Arrival(
        pattern=Pattern.POISSON if entry.random else Pattern.PERIODIC,
        interval_s=every_ms / 1000 if every_ms is not None else 1 / (per_second or 1),
        deadline_s=None if deadline_ms is None else deadline_ms / 1000,
        seed=entry.seed,
    )


def request_sustained(entry: SustainedEntry | None, scope: PlaceholderScope, pointer: str) -> SustainedRequest | None:
    """Return the long run that a test asks for; None where it asks for none, or a problem was found."""
    if entry is None:
        return None
    place = join(pointer, "seconds")
    seconds = _number(entry.seconds, scope, place)
    if seconds is not None and seconds < LEAST_SUSTAINED_S:
        scope.findings.add(place, f"{seconds:g} s are no long run", f"give {LEAST_SUSTAINED_S:g} s at least")
        return None
    return None if seconds is None else SustainedRequest(seconds=seconds)


def _check_arrival(test: Test, entry: ArrivalEntry, pointer: str, findings: Findings) -> None:
    place = join(pointer, "arrival")
    given = [key for key in _INTERVALS if getattr(entry, key) is not None]
    if len(given) != 1:
        message = (
            "`every_ms` and `per_second` are both given" if given else "neither `every_ms` nor `per_second` is given"
        )
        findings.add(place, message, "give one of them, or leave out `arrival`: then executions are back to back")
    if entry.seed and not entry.random:
        findings.add(join(place, "seed"), "`seed` means nothing at fixed intervals", 'add "random": true')
    for key, reason in _ONCE.items():
        if getattr(test, key):
            message = f"`{key}` means nothing in a test with `arrival`: {reason}"
            findings.add(join(pointer, key), message, f"leave out `{key}`, or `arrival`")


def _number(given: float | str | None, scope: PlaceholderScope, pointer: str) -> float | None:
    """Return a positive number that is given, or that a placeholder has; None where there is none."""
    if not isinstance(given, str):
        return given
    text = scope.resolve(given, pointer)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isfinite(number) and number > 0:
        return number
    if text != given or not find_placeholders(given):  # else the placeholder is unknown, which has been reported
        scope.findings.add(pointer, f"`{given}` is {text!r}, not a number above 0", "give the axis such numbers")
    return None
