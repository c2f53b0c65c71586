"""Which of a phone's CPUs a program is pinned to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.core.errors import BenchmarkUnsupported
from platforms.android.clocks import biggest

_ALL: Final = 1 << 16
"""More CPUs than a phone has."""


def checked(cores: str, cpus: Sequence[int]) -> tuple[int, ...]:
    """The CPUs, if all of them are there and may be used; a phone that does not tell its CPUs is believed to have them.

    Args:
        cores: What `clocks.CORES_SCRIPT` printed.
        cpus: The CPUs.

    Raises:
        BenchmarkUnsupported: With those that there are.
    """
    there = biggest(cores, _ALL)
    missing = sorted(set(cpus) - set(there)) if there else []
    if missing:
        raise BenchmarkUnsupported(
            f"CPU {', '.join(map(str, missing))} does not exist on the phone, or may not be used",
            hint=f"CPUs that may be used: {', '.join(map(str, there))}",
        )
    return tuple(sorted(set(cpus)))


def choose(cores: str, candidates: Sequence[int], threads: int) -> tuple[int, ...]:
    """The biggest CPUs for so many threads; all candidates when there are fewer.

    Args:
        cores: What `clocks.CORES_SCRIPT` printed.
        candidates: CPUs to choose from; none means all.
        threads: How many are wanted.
    """
    if not candidates:
        return biggest(cores, threads)
    # Taking more and more of the biggest of all until enough of them are candidates keeps the order of size.
    for count in range(1, len(biggest(cores, _ALL)) + 1):
        chosen = tuple(cpu for cpu in biggest(cores, count) if cpu in candidates)
        if len(chosen) >= min(threads, len(candidates)):
            return chosen
    return tuple(candidates[: max(1, threads)])
