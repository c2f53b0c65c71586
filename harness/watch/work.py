"""What the loop asks others to do. The flows join it with builds, devices and statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import JsonValue

from harness.core.commit import Commit
from harness.core.errors import HarnessError
from harness.core.values import Value
from harness.watch.store.records import Alarm, Compared, Document, Judgement, Series


class Stopped(HarnessError):
    """Work was given up because a person wants the watcher to stop. It is done again later."""


class Confirmation(Value):
    """What measuring a suspicion again said.

    Attributes:
        confirmed: Whether it is there.
        why: In words, when not.
        document: What is worth telling.
    """

    confirmed: bool
    why: str = ""
    document: Document = {}


Compare = Callable[[Commit, Commit], Compared]
"""Builds and compares control and treatment.

It returns when every result is safe on the disk, and not before: what it returns is then counted.

Raises:
    Stopped: It was given up on the way.
    BuildFailed: The treatment cannot be built; it is not tried again. (A control that cannot be built is returned.)
    BenchmarkFailed: The commit has no numbers; it is not tried again.
    EnvironmentProblem: Device, tool or disk: it is tried again.
    UsageError: It can never work; the watcher ends.
"""

Judge = Callable[[Series], Judgement]
"""What a series says. Pure, and quick: it is asked while the newest point is being recorded."""

Confirm = Callable[[Alarm], Confirmation]
"""Measures a suspicion again. Whatever it raises but `Stopped`, it is tried again later."""

Search = Callable[[Alarm, JsonValue, Callable[[JsonValue], None]], Document]
"""Finds the culprit of an alarm. Whatever it raises but `Stopped`, it is tried again later, a few times.

It gets the progress that it saved last (None at first), and a function that saves it: after each step, so that a killed
search goes on where it was.
"""


def says_nothing(series: Series) -> Judgement:  # noqa: ARG001 - for series that nobody judges
    """No sign at all."""
    return Judgement()


@dataclass(frozen=True, slots=True)
class Work:
    """The work of others.

    Attributes:
        compare: Required.
        judge: Turns series into suspicions.
        confirm: Verifies them; None takes every suspicion for true.
        search: Finds culprits; None leaves them.
    """

    compare: Compare
    judge: Judge = says_nothing
    confirm: Confirm | None = None
    search: Search | None = None
