"""Interleaving with another process: iterations on request, idle in between."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TextIO

from frameworks.python_runner.arguments import LARGEST, whole
from frameworks.python_runner.failure import ExitStatus, RunnerFailure


def read_turns(requests: TextIO, replies: TextIO) -> Iterator[int]:
    """Print `ready`, then yield the iterations of each turn; print `done N` when the next turn is asked for.

    Args:
        requests: Lines `run N`, until `end` or the end of the stream.
        replies: Receives `ready` and `done N`, without delay.

    Raises:
        RunnerFailure: On any other line.
    """
    print("ready", file=replies, flush=True)
    while (line := requests.readline()) and line.rstrip("\n") != "end":
        count = _parse_count(line.rstrip("\n"))
        yield count
        print(f"done {count}", file=replies, flush=True)


def _parse_count(line: str) -> int:
    if not line.startswith("run "):
        raise RunnerFailure(ExitStatus.USAGE, f"on standard input: '{line}' is neither 'run N' nor 'end'")
    try:
        return whole(1, LARGEST)(line.removeprefix("run "))
    except argparse.ArgumentTypeError as error:
        raise RunnerFailure(ExitStatus.USAGE, f"argument run: {error}") from error
