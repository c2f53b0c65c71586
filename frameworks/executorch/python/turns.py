"""Taking turns with another process: iterations when we are told, idle between."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TextIO

from frameworks.executorch.python.arguments import LARGEST, whole
from frameworks.executorch.python.failure import ExitStatus, Failure


def turns(told: TextIO, said: TextIO) -> Iterator[int]:
    """Say `ready`, and give each turn's number of iterations; say that it is `done` when the next one is wanted.

    Args:
        told: Lines `run N`, until `end` or its end.
        said: Where the two words are written, at once.

    Raises:
        Failure: On any other word.
    """
    print("ready", file=said, flush=True)
    while (line := told.readline()) and line.rstrip("\n") != "end":
        count = _count(line.rstrip("\n"))
        yield count
        print(f"done {count}", file=said, flush=True)


def _count(line: str) -> int:
    if not line.startswith("run "):
        raise Failure(ExitStatus.USAGE, f"on standard input: '{line}' is neither 'run N' nor 'end'")
    try:
        return whole(1, LARGEST)(line.removeprefix("run "))
    except argparse.ArgumentTypeError as error:
        raise Failure(ExitStatus.USAGE, f"argument run: {error}") from error
