"""Clocks of iterations."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from frameworks.python_runner.failure import ExitStatus, RunnerFailure

_THREAD: Final = "/proc/thread-self/schedstat"
"""Nanoseconds that its thread ran, that it waited for a CPU, and how often it ran (the kernel's `sched-stats`)."""
_UNTOLD: Final = f"the system does not tell how long a thread waited for a CPU ({_THREAD})"
_LONGEST: Final = 64


class Clocks(NamedTuple):
    """Clocks of iterations, in nanoseconds.

    Attributes:
        wall: Wall clock.
        cpu: CPU time, of the calling thread or of the process.
    """

    wall: Callable[[], int]
    cpu: Callable[[], int]


def open_own_time() -> Callable[[], int]:
    """Return a wall clock that leaves out when the calling thread could have run, and others had the CPU.

    Returns:
        The clock, in nanoseconds, for this thread and as long as the process lives.

    Raises:
        RunnerFailure: The system does not tell it.
    """
    untold = RunnerFailure(ExitStatus.USAGE, f"argument --own-time: {_UNTOLD}")
    if sys.platform == "win32":
        raise untold
    try:
        file = os.open(_THREAD, os.O_RDONLY | os.O_CLOEXEC)
        time.thread_time_ns()  # brings the kernel's account of a young thread up to date
        ran_ns = int(os.pread(file, _LONGEST, 0).split()[0])
    except (OSError, ValueError, IndexError) as error:
        raise untold from error
    if ran_ns == 0:  # a kernel without this accounting tells zeros
        raise untold

    def waited_ns() -> int:
        return int(os.pread(file, _LONGEST, 0).split()[1])

    def now_ns() -> int:
        before = waited_ns()
        while True:
            now = time.monotonic_ns()
            after = waited_ns()
            if after == before:  # else another program ran between the two
                return now - after
            before = after

    return now_ns
