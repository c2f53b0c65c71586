"""Which CPUs to measure on: looked at, not guessed, and only CPUs that exist.

FAI-PEP pinned each program to a random CPU between 5 and 14. A random core makes two arms run on different cores,
and a core that does not exist makes every run fail.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

from harness import shell
from harness.core.errors import BenchmarkUnsupported
from platforms.host.identity import allowed_cpus

_LOOK_S = 0.1
"""How long the CPUs are watched before one is chosen: ten ticks of the kernel's accounting."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """One CPU as a candidate.

    Attributes:
        number: The kernel's number.
        core: The physical core it belongs to, named by its lowest sibling.
        max_mhz: Highest frequency; tells big cores from small ones. 0 where the kernel does not say.
        busy: Share of its time that was used while it was watched.
    """

    number: int
    core: int
    max_mhz: float
    busy: float


@dataclass(frozen=True, slots=True)
class Placement:
    """CPUs in order of preference: fast before slow, idle before busy, one per physical core first."""

    cpus: tuple[Cpu, ...]

    def choose(self, threads: int) -> tuple[int, ...]:
        """The CPUs for so many threads; all there are when there are fewer."""
        return tuple(sorted(cpu.number for cpu in self.cpus[: max(1, threads)]))

    def describe(self) -> str:
        """The reason for the choice, for the record."""
        shares = ", ".join(f"{cpu.number}: {cpu.busy:.0%}" for cpu in self.cpus[:16])
        return f"fastest, then least busy over {_LOOK_S * 1000:.0f} ms ({shares})"


def look(candidates: Sequence[int] | None = None) -> Placement:
    """Watch the allowed CPUs for a moment and rank them.

    Args:
        candidates: Only these; None means all that are allowed.

    Raises:
        BenchmarkUnsupported: A candidate is not there or not allowed.
    """
    numbers = checked(candidates) if candidates else allowed_cpus()
    busy = _watch()
    found = [Cpu(number, _core(number), _max_mhz(number), busy.get(number, 0.0)) for number in numbers]
    # CPU 0 serves most interrupts: last among equals.
    order = sorted(found, key=lambda cpu: (-cpu.max_mhz, round(cpu.busy, 1), cpu.number == 0, cpu.number))
    seen: set[int] = set()
    first: list[Cpu] = []
    second: list[Cpu] = []
    for cpu in order:
        (second if cpu.core in seen else first).append(cpu)
        seen.add(cpu.core)
    return Placement((*first, *second))


def checked(cpus: Sequence[int]) -> tuple[int, ...]:
    """The CPUs, if all of them exist and may be used, and programs can be pinned to them.

    Raises:
        BenchmarkUnsupported: With the ones that there are.
    """
    if cpus and not can_pin():
        raise BenchmarkUnsupported(
            "programs cannot be pinned to CPUs here: there is no `taskset`", hint="apt install util-linux, on Linux"
        )
    allowed = allowed_cpus()
    missing = sorted(set(cpus) - set(allowed))
    if missing:
        raise BenchmarkUnsupported(
            f"CPU {', '.join(map(str, missing))} does not exist here or may not be used",
            hint=f"CPUs that may be used: {', '.join(map(str, allowed))}",
        )
    return tuple(sorted(set(cpus)))


def can_pin() -> bool:
    """Whether programs can be pinned to CPUs."""
    return _taskset() is not None


def pinned(cpus: Sequence[int]) -> tuple[str, ...]:
    """The prefix that pins a program to these CPUs; none where programs cannot be pinned."""
    taskset = _taskset()
    return (taskset, "-c", ",".join(map(str, cpus))) if taskset else ()


@cache
def _taskset() -> str | None:
    return shutil.which("taskset")


def _watch() -> dict[int, float]:
    before = psutil.cpu_times(percpu=True)
    shell.pause(_LOOK_S)
    after = psutil.cpu_times(percpu=True)
    shares = {}
    for number, (old, new) in enumerate(zip(before, after, strict=False)):
        total = sum(new) - sum(old)
        shares[number] = max(0.0, 1.0 - (new.idle - old.idle) / total) if total > 0 else 0.0
    return shares


def _core(number: int) -> int:
    try:
        siblings = Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list").read_text()
    except OSError:
        return number
    return int(siblings.replace("-", ",").split(",")[0])


def _max_mhz(number: int) -> float:
    try:
        return float(Path(f"/sys/devices/system/cpu/cpu{number}/cpufreq/cpuinfo_max_freq").read_text()) / 1000
    except (OSError, ValueError):
        return 0.0
