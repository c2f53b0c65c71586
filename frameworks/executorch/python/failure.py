"""How the runner fails: one sentence for a person, one exit status for a program."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """The same as in `native/failure.h`."""

    OK = 0
    USAGE = 2
    NOT_LOADED = 3
    NOT_EXECUTED = 4
    OUT_OF_MEMORY = 5


class Failure(Exception):
    """The end of the run.

    Args:
        status: What the process ends with.
        sentence: What to tell the person.
    """

    def __init__(self, status: ExitStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
