"""Padding of the environment: a variable of random length, so that neither side keeps a lucky place of its stack.

The kernel puts the environment and the arguments above the stack of a new program. So their size decides where the
stack begins, modulo a cache line or a page, and that can change the speed of a program by some per cent (Mytkowicz et
al., "Producing wrong data without doing anything obviously wrong!", ASPLOS 2009); one runner that loads vectors from
its stack was 30 % slower at some offsets modulo 64.

Every launch of a pair gets a length of its own. With one for both sides, paths of unequal length would still keep the
two stacks a constant distance apart, which no coin tosses; with two, the place of either stack is as random as that of
the other, so that whatever a place does to the speed is noise of the launch, and the randomisation of a pair stays
exact. The lengths follow from the seed of the comparison, and are recorded with each launch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from harness.core.command import Command

VARIABLE: Final = "HARNESS_PADDING"
"""Name of the variable. A benchmark that sets it keeps its own value in every launch."""

_LENGTHS: Final = 4096
"""Number of lengths: a page, so that every offset that caches can see is reached."""


def padding_length(seed: int, key: str, index: int, side: str) -> int:
    """Return the length for one launch: the same for the same seed, benchmark and device, like the coin of its pair."""
    digest = hashlib.sha256(f"padding:{seed}:{key}:{index}:{side}".encode()).digest()
    return int.from_bytes(digest[:4], "big") % _LENGTHS


def pad_environment(commands: Sequence[Command], length: int) -> tuple[Command, ...]:
    """Return the commands with a variable of this length; apps have no environment of their own."""
    return tuple(
        command
        if command.app is not None or VARIABLE in command.env
        else replace(command, env={**command.env, VARIABLE: "x" * length})
        for command in commands
    )


def separate_padding(env: Mapping[str, str]) -> tuple[dict[str, str], int | None]:
    """Return the other variables, and the length of the padding; None where there is none."""
    variables = {name: value for name, value in env.items() if name != VARIABLE}
    return variables, len(env[VARIABLE]) if VARIABLE in env else None
