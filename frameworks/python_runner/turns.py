"""Interleaving with another process: iterations on request, idle in between and, on request, between tokens."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple, TextIO

from frameworks.python_runner.arguments import LARGEST, whole
from frameworks.python_runner.failure import ExitStatus, RunnerFailure


class Turn(NamedTuple):
    """One turn.

    Attributes:
        iterations: Iterations to make.
        tokens: After so many tokens of a generation it pauses, and after the first; 0 where it does not.
        prompts: Before each generation its prompt is processed so often, each time with a pause after it.
    """

    iterations: int
    tokens: int = 0
    prompts: int = 0


class Turns:
    """Turns that another process gives.

    Args:
        requests: Lines `run N`, `run N by K` or `run N by K after R`, until `end` or the end of the stream.
        replies: Receives `ready`, `done N` and `paused`, without delay.
    """

    def __init__(self, requests: TextIO, replies: TextIO) -> None:
        self._requests = requests
        self._replies = replies
        self._is_alone = False

    def __iter__(self) -> Iterator[Turn]:
        """Print `ready`, then yield each turn; print `done N` when the next one is asked for.

        Raises:
            RunnerFailure: On any other line.
        """
        self._say("ready")
        while (line := self._requests.readline()) and line.rstrip("\n") != "end":
            turn = _parse_turn(line.rstrip("\n"))
            yield turn
            self._say(f"done {turn.iterations}")

    def pause(self) -> None:
        """Print `paused` and wait for `go on`. From the end of the stream on there are no pauses.

        Raises:
            RunnerFailure: On any other line.
        """
        if self._is_alone:
            return
        self._say("paused")
        line = self._requests.readline()
        self._is_alone = not line
        if line and line.rstrip("\n") != "go on":
            reason = f"on standard input: '{line.rstrip(chr(10))}' is not 'go on'"
            raise RunnerFailure(ExitStatus.USAGE, reason)

    def _say(self, words: str) -> None:
        print(words, file=self._replies, flush=True)


def _parse_turn(line: str) -> Turn:
    if not line.startswith("run "):
        raise RunnerFailure(ExitStatus.USAGE, f"on standard input: '{line}' is neither 'run N' nor 'end'")
    iterations, by, rest = line.removeprefix("run ").partition(" by ")
    tokens, after, prompts = rest.partition(" after ")
    count = whole(1, LARGEST)
    try:
        return Turn(count(iterations), count(tokens) if by else 0, count(prompts) if after else 0)
    except argparse.ArgumentTypeError as error:
        raise RunnerFailure(ExitStatus.USAGE, f"argument run: {error}") from error
