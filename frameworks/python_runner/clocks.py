"""Clocks of iterations."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from frameworks.python_runner.failure import ExitStatus, RunnerFailure

_THREAD: Final = "/proc/thread-self/schedstat"
"""Nanoseconds that its thread ran, that it waited for a CPU, and how often it ran (the kernel's `sched-stats`)."""
_UNTOLD: Final = f"the system does not tell how long a thread waited for a CPU ({_THREAD})"
_LONGEST: Final = 64

_TASKS: Final = Path("/proc/self/task")
"""Folder of the threads of this process."""


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


def open_process_time() -> Callable[[], int]:
    """Return a clock of the CPU time of all threads of this process, those that have ended too, in nanoseconds.

    Linux's own (`time.process_time_ns`) adds up the accounts of the threads, but brings only that of the calling one up
    to date; another one that runs at this moment is credited at its next tick, milliseconds later. Reading the clock of
    a thread brings its account up to date, wherever it runs (`task_sched_runtime` in kernel/sched/core.c).

    Returns:
        The clock, for as long as the process lives; that of the system where it tells no clocks of threads.
    """
    if sys.platform == "win32":
        return time.process_time_ns
    try:
        folder = os.open(_TASKS, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # a system without this folder
        return time.process_time_ns
    count, threads = 0, list[int]()

    def list_threads() -> None:
        nonlocal count, threads
        count = os.fstat(folder).st_nlink  # two more than threads
        threads = [_thread_clock(int(task.name)) for task in _TASKS.iterdir()]

    def update_accounts() -> bool:
        """Return whether no thread has begun or ended since they were listed."""
        if os.fstat(folder).st_nlink != count:
            return False
        try:
            for thread in threads:
                time.clock_gettime_ns(thread)
        except OSError:  # it has ended
            return False
        return True

    def now_ns() -> int:
        if not update_accounts():
            list_threads()
            update_accounts()
        return time.process_time_ns()

    for _ in range(2):
        list_threads()
        if update_accounts():
            return now_ns
    os.close(folder)  # the ids of the threads are not those of our namespace
    return time.process_time_ns


def _thread_clock(thread: int) -> int:
    """Return the clock of the CPU time of a thread, as `pthread_getcpuclockid` makes it of its number.

    It is `MAKE_THREAD_CPUCLOCK` with `CPUCLOCK_SCHED` of include/linux/posix-timers_types.h.
    """
    return ~thread << 3 | 6
