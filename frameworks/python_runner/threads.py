"""Threads that compute: those of this process that use CPU time while it iterates, whatever a runtime says."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

_TASKS: Final = Path("/proc/self/task")

_SHARE: Final = 0.02
"""Share of the busiest thread's CPU time from which on a thread counts: helpers that only wake up do not."""


class ThreadObserver:
    """Count of the threads that use CPU time between two moments."""

    def __init__(self) -> None:
        self._begin: dict[str, int] = {}

    def begin(self) -> None:
        """Begin to observe."""
        self._begin = _read_times()

    def count(self) -> int | None:
        """Return how many threads used CPU time since then; None where the system does not tell."""
        used = [time - self._begin.get(task, 0) for task, time in _read_times().items()]
        most = max(used, default=0)
        return sum(time >= _SHARE * most for time in used if time > 0) if most > 0 else None


def _read_times() -> dict[str, int]:
    """Return the CPU time of each thread in nanoseconds; of none where the system does not tell."""
    times: dict[str, int] = {}
    with contextlib.suppress(OSError):
        for task in _TASKS.iterdir():
            with contextlib.suppress(OSError, ValueError, IndexError):  # a thread may end meanwhile
                times[task.name] = int((task / "schedstat").read_text().split()[0])
    return times
