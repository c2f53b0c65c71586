"""Other processes of this machine, and the CPU time that they and the hypervisor took between two moments."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Final

import psutil
from msgspec import Struct

_MOST: Final = 3
"""Processes that are named: more would not be read."""

_LEAST_SHARE: Final = 0.01
"""Share of one CPU below which a process is not named."""


class Neighbour(Struct, frozen=True):
    """Process that is no part of the harness.

    Attributes:
        name: Name of the program.
        pid: Its number.
        share: CPU time per second: 0.5 is half a CPU.
    """

    name: str
    pid: int
    share: float


class Neighbours(Struct, frozen=True):
    """What others used of this machine.

    Attributes:
        steal: Share of the CPU time that the hypervisor gave to other virtual machines; None where it does not say.
        processes: The busiest processes, as far as this user and this container can see them.
    """

    steal: float | None
    processes: tuple[Neighbour, ...]


class NeighbourWatch:
    """Observation of other processes from its creation on.

    Programs that begin and end in between, such as compilers, count for the process that started them.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._times = psutil.cpu_times()
        self._before = _cpu_seconds()

    def read(self) -> Neighbours:
        """Return what others used so far."""
        elapsed_s = max(time.monotonic() - self._started, 1e-9)
        family, most_s = _family(), elapsed_s * (psutil.cpu_count() or 1)
        used = []
        for (name, pid), (own, children) in _cpu_seconds().items():
            own_before, children_before = self._before.get((name, pid), (0.0, 0.0))
            own_s, children_s = own - own_before, children - children_before
            # A child that ends hands over what it used in its whole life, of which only the last minutes may be ours.
            seconds = own_s + children_s if own_s + children_s <= most_s else min(own_s, most_s)
            if pid not in family:
                used.append(Neighbour(name, pid, seconds / elapsed_s))
        used.sort(key=lambda neighbour: -neighbour.share)
        processes = tuple(neighbour for neighbour in used[:_MOST] if neighbour.share >= _LEAST_SHARE)
        return Neighbours(self._steal(), processes)

    def _steal(self) -> float | None:
        before, now = self._times, psutil.cpu_times()
        total = sum(now) - sum(before)
        steal, steal_before = getattr(now, "steal", None), getattr(before, "steal", None)  # Linux alone has it
        if steal is None or steal_before is None or total <= 0:
            return None
        return min(1.0, max(0.0, float(steal - steal_before) / total))


def _cpu_seconds() -> Mapping[tuple[str, int], tuple[float, float]]:
    """Return the CPU seconds of every visible process, and those of its children that have ended."""
    seconds = {}
    for process in psutil.process_iter(["name", "cpu_times"]):
        times = process.info["cpu_times"]
        if times is not None:
            children = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
            seconds[process.info["name"] or "?", process.pid] = times.user + times.system, children
    return seconds


def _family() -> frozenset[int]:
    """Return the numbers of this process, of its ancestors, which count its time as theirs, and of its children."""
    ourselves = psutil.Process()
    family = {ourselves.pid}
    with contextlib.suppress(psutil.Error):
        family |= {process.pid for process in (*ourselves.parents(), *ourselves.children(recursive=True))}
    return frozenset(family)
