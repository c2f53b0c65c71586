"""Kinds of CPUs of one device: the clusters of a phone, the big and small cores of a PC."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from harness.config.parsing import CpuKind
from harness.core.errors import EnvironmentProblem

_TOLERANCE: Final = 0.1
"""Share by which CPUs of one kind may differ: PCs let their best cores run a little faster than the others, and phones
have clusters of one design at clocks 6 % apart; the smallest step between designs that was seen is 13 %."""


def group_by_kind(ranks: Mapping[int, float]) -> tuple[tuple[int, ...], ...]:
    """Group CPUs by kind, the fastest kind first.

    Args:
        ranks: Capacity of each CPU, or its highest clock. Zero for unknown.
    """
    groups: list[list[int]] = []
    fastest = 0.0
    for cpu in sorted(ranks, key=lambda cpu: (-ranks[cpu], cpu)):
        if not groups or ranks[cpu] < (1 - _TOLERANCE) * fastest:
            groups.append([])
            fastest = ranks[cpu]
        groups[-1].append(cpu)
    return tuple(tuple(sorted(group)) for group in groups)


def choose_kind(
    kinds: Sequence[tuple[int, ...]], word: CpuKind, device: str, say: Callable[[str], None]
) -> tuple[int, ...]:
    """Return the CPUs of the kind that was asked for, and say it where a device has only one.

    Args:
        kinds: CPUs by kind, the fastest first; none where the device does not report.
        word: The kind.
        device: Its name in messages.
        say: Shows a sentence to a person.

    Raises:
        EnvironmentProblem: The device does not report the kinds of its CPUs.
    """
    if not kinds:
        raise EnvironmentProblem(
            f"--cpus {word}: {device} does not report of which kind its CPUs are", hint="name them by number"
        )
    if len(kinds) == 1:
        say(f"--cpus {word}: {device} reports CPUs of one kind only ({', '.join(map(str, kinds[0]))}): all may be used")
    return select_kind(kinds, word)


def select_kind(kinds: Sequence[tuple[int, ...]], word: CpuKind) -> tuple[int, ...]:
    """Return the CPUs of a kind.

    `prime` is the fastest kind, `little` the slowest. `big` is the fastest below `prime` where there are three kinds or
    more, so that it has several CPUs, else the fastest.

    Args:
        kinds: CPUs by kind, the fastest first; at least one kind.
        word: The kind.
    """
    if word == "little":
        return kinds[-1]
    return kinds[1] if word == "big" and len(kinds) > 2 else kinds[0]
