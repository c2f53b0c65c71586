"""Failures of the runner: one sentence for a person, one exit status for a program."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit status, the same as in the native runner's `failure.h`."""

    OK = 0
    USAGE = 2
    NOT_LOADED = 3
    NOT_EXECUTED = 4
    OUT_OF_MEMORY = 5


class RunnerFailure(Exception):
    """End of the run.

    Args:
        status: The exit status of the process.
        sentence: The message for a person.
    """

    def __init__(self, status: ExitStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
