"""Which of a phone's CPUs a program is pinned to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from harness.core.errors import BenchmarkUnsupported
from platforms.android.settings.clocks import biggest

_ALL: Final = 1 << 16
"""More CPUs than a phone has."""
_ONLINE = re.compile(r"^.*/cpu/online:.*\n?", re.MULTILINE)


def usable(cores: str) -> tuple[int, ...]:
    """All CPUs that may be used now; none when the phone does not say.

    Args:
        cores: What `clocks.CORES_SCRIPT` printed.
    """
    return biggest(cores, _ALL)


def offline(cores: str) -> str | None:
    """Which CPUs are there and cannot be used now, in words; None where all can, or nobody tells.

    Phones take cores away when they are warm, or to save power: numbers of a phone without its biggest do not compare.

    Args:
        cores: What `clocks.CORES_SCRIPT` printed.
    """
    whole = _ONLINE.sub("", cores)
    missing = set(usable(whole)) - set(usable(cores))
    if not missing:
        return None
    bigger = " (bigger ones among them)" if missing & set(biggest(whole, 1)) else ""
    return ", ".join(map(str, sorted(missing))) + bigger


def checked(cores: str, cpus: Sequence[int]) -> tuple[int, ...]:
    """The CPUs, if all of them are there and may be used; a phone that does not tell its CPUs is believed to have them.

    Args:
        cores: What `clocks.CORES_SCRIPT` printed.
        cpus: The CPUs.

    Raises:
        BenchmarkUnsupported: With those that there are.
    """
    there = usable(cores)
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
    for count in range(1, len(usable(cores)) + 1):
        chosen = tuple(cpu for cpu in biggest(cores, count) if cpu in candidates)
        if len(chosen) >= min(threads, len(candidates)):
            return chosen
    return tuple(candidates[: max(1, threads)])
