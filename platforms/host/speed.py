"""Speed of a CPU right before and right after a launch: fixed integer work, timed by the CPU time of its thread.

A neighbour on the same physical core, which only the hypervisor sees, and a lower clock slow a program down while its
CPU time stays its wall time. Nothing else that the harness reads shows that on a virtual machine. docs/decisions/0085
says why it is measured like this.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from harness.core.command import Completed
from harness.files.atomic import write_atomically
from harness.files.reading import read_bounded
from platforms.host import placement

_ITERATIONS: Final = 2000
"""About a quarter of a millisecond."""
_SPENT_NS: Final = 1_000_000
_FEWEST: Final = 3
"""The work is repeated for so long, and so often at least, and the fastest time counts: the first ones warm the caches,
and interrupts come in between. Twice for each launch that is 2 ms, and 8 ms on a machine that is five times slower."""
_SESSIONS: Final = 30
"""Sessions whose best times are kept: a machine that was moved to slower hardware is the usual one after so many."""
_LONGEST_MS: Final = 1000.0


class SpeedGauge:
    """Times of the fixed work in a session, and the best of earlier ones on CPUs of the same kind.

    Args:
        path: File of the best times of earlier sessions; a damaged one counts as none.
        cpu_model: Model of this machine's processor.
        spin: Does the work once and returns milliseconds.
    """

    def __init__(self, path: Path, cpu_model: str, spin: Callable[[], float] | None = None) -> None:
        self._path = path
        self._cpu_model = cpu_model
        self._spin = spin or spin_once
        self._earlier = _read(path)
        self._bests: dict[str, float] = {}

    def gauge(self, cpus: Sequence[int], run: Callable[[], Completed]) -> Completed:
        """Run a program, and return its result with the lower time of the work on its first CPU before and after it.

        A CPU that idled before may have a low clock; after the program it has the one that the program had. Where the
        program is not pinned, or a thread cannot be, there are no times.
        """
        before = self._time_on(cpus)
        completed = run()
        times = [time_ms for time_ms in (before, self._time_on(cpus)) if time_ms is not None]
        if not times:
            return completed
        kind = self._kind_of(cpus[0])
        lowest_ms = min(times)
        self._bests[kind] = min(lowest_ms, self._bests.get(kind, lowest_ms))
        best_ms = min(self._bests[kind], *self._earlier.get(kind, ()), lowest_ms)
        return replace(completed, spin_ms=lowest_ms, best_spin_ms=best_ms)

    def save(self) -> None:
        """Keep the best times of this session. Not knowing them later is no reason to fail."""
        kept = {kind: list(times) for kind, times in self._earlier.items()}
        for kind, best_ms in self._bests.items():
            kept[kind] = [*kept.get(kind, ()), round(best_ms, 6)][-_SESSIONS:]
        if self._bests:
            with contextlib.suppress(OSError):
                write_atomically(self._path, json.dumps(kept))

    def _time_on(self, cpus: Sequence[int]) -> float | None:
        """Return the fewest milliseconds of the work on the first CPU; None where a thread cannot be pinned."""
        if not cpus:
            return None
        try:
            allowed = move_thread(cpus[:1])
        except OSError:
            return None
        if allowed is None:
            return None
        try:
            return self._repeat()
        finally:
            move_thread(allowed)

    def _repeat(self) -> float:
        end_ns = time.thread_time_ns() + _SPENT_NS
        times = [self._spin() for _ in range(_FEWEST)]
        while time.thread_time_ns() < end_ns:
            times.append(self._spin())
        return min(times)

    def _kind_of(self, cpu: int) -> str:
        """Return everything that the time of the work depends on, and that does not change from run to run."""
        python = f"{platform.python_implementation()} {platform.python_version()}"
        return f"{self._cpu_model} at {placement.max_mhz(cpu):g} MHz, {python}"


def move_thread(cpus: Iterable[int]) -> Iterable[int] | None:
    """Let this thread run on these CPUs, and return those that it could run on; None where no system call does that.

    Raises:
        OSError: It may not run there.
    """
    get: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    move: Callable[[int, Iterable[int]], None] | None = getattr(os, "sched_setaffinity", None)
    if get is None or move is None:
        return None
    allowed = get(0)  # of this thread, whose programs inherit it
    move(0, cpus)
    return allowed


def spin_once() -> float:
    """Do the fixed work once and return the milliseconds of CPU time that it took.

    Independent additions and shifts keep the units of a core busy that it shares with a neighbour; a chain of dependent
    ones would wait most of the time, and be as fast beside a neighbour.
    """
    began_ns = time.thread_time_ns()
    first, second, third = 1, 7, 3
    for number in range(_ITERATIONS):
        first = (first * 5 + number) & 0xFFFF
        second = ((second ^ first) + third) & 0xFFFF
        third = (third + second) & 0xFFFF
    return (time.thread_time_ns() - began_ns) / 1e6


def _read(path: Path) -> Mapping[str, tuple[float, ...]]:
    try:
        content = json.loads(read_bounded(path))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict):
        return {}
    return {
        str(kind): tuple(float(time_ms) for time_ms in times[-_SESSIONS:] if _is_time(time_ms))
        for kind, times in content.items()
        if isinstance(times, list)
    }


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _LONGEST_MS
