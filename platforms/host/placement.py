"""Choice of the CPUs to measure on: observed, not guessed, and only CPUs that exist.

FAI-PEP pinned each program to a random CPU between 5 and 14. A random core makes control and treatment run on different
cores, and a core that does not exist makes every run fail.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import psutil
from msgspec import Struct

from harness import shell
from harness.core.errors import BenchmarkUnsupported
from harness.core.percent import in_percent
from platforms.cpu_kinds import group_by_kind
from platforms.host.identity import allowed_cpus
from platforms.staging import check_cpus

_OBSERVE_S = 0.1
"""Time for which the CPUs are observed before one is chosen: ten ticks of the kernel's accounting."""


class Cpu(Struct, frozen=True):
    """One CPU as a candidate.

    Attributes:
        number: The kernel's number.
        core: Number of the lowest CPU of the same physical core.
        max_mhz: Highest frequency, which differs between big and small cores; 0 where the kernel does not report.
        busy: Share of its time that was used while it was observed.
    """

    number: int
    core: int
    max_mhz: float
    busy: float


class Placement(Struct, frozen=True):
    """CPUs in order of preference: fast before slow, idle before busy, one per physical core first.

    Attributes:
        cpus: The CPUs.
        is_asked_for: Whether a person wants programs on these CPUs, and on no others.
    """

    cpus: tuple[Cpu, ...]
    is_asked_for: bool = False

    def choose(self, threads: int | None) -> tuple[int, ...]:
        """Return the CPUs for so many threads, all where there are fewer.

        A program of unknown threads is left to the system, but among the CPUs that were asked for.
        """
        if threads is None:
            return tuple(sorted(cpu.number for cpu in self.cpus)) if self.is_asked_for else ()
        return tuple(sorted(cpu.number for cpu in self.cpus[: max(1, threads)]))

    def describe(self) -> str:
        """Describe the reason for the choice."""
        shares = ", ".join(f"{cpu.number}: {in_percent(cpu.busy)}" for cpu in self.cpus[:16])
        return f"fastest, then least busy over {_OBSERVE_S * 1000:.0f} ms ({shares})"


def rank_cpus(candidates: Sequence[int] | None = None) -> Placement:
    """Observe the allowed CPUs for a moment and rank them.

    Args:
        candidates: Only these; None means all that are allowed.

    Raises:
        BenchmarkUnsupported: A candidate does not exist or is not allowed.
    """
    numbers = check_pinnable(candidates) if candidates else allowed_cpus()
    busy = _observe_load()
    cpus = [Cpu(number, _core(number), max_mhz(number), busy.get(number, 0.0)) for number in numbers]
    # CPU 0 serves most interrupts: last among equals.
    order = sorted(cpus, key=lambda cpu: (-cpu.max_mhz, round(cpu.busy, 1), cpu.number == 0, cpu.number))
    cores: set[int] = set()
    firsts: list[Cpu] = []
    siblings: list[Cpu] = []
    for cpu in order:
        (siblings if cpu.core in cores else firsts).append(cpu)
        cores.add(cpu.core)
    return Placement((*firsts, *siblings), is_asked_for=bool(candidates))


def kinds_of_cpus() -> tuple[tuple[int, ...], ...]:
    """Return the allowed CPUs by kind, the fastest kind first; one kind where the kernel does not report any."""
    numbers = allowed_cpus()
    capacities = {number: _read_number(number, "cpu_capacity") for number in numbers}
    is_known = all(capacities.values())
    return group_by_kind(capacities if is_known else {number: max_mhz(number) for number in numbers})


def check_pinnable(cpus: Sequence[int]) -> tuple[int, ...]:
    """Return CPUs in ascending order, if programs can be pinned to them.

    Raises:
        BenchmarkUnsupported: One of them is not usable; the hint lists those that are. Or nothing can be pinned here.
    """
    if cpus and not can_pin():
        raise BenchmarkUnsupported(
            "programs cannot be pinned to CPUs on this system",
            hint="leave out --cpus: the system places programs itself",
        )
    return check_cpus(cpus, allowed_cpus(), "here")


def can_pin() -> bool:
    """Return whether programs can be pinned to CPUs."""
    return _taskset() is not None or hasattr(psutil.Process, "cpu_affinity")


def pin_prefix(cpus: Sequence[int]) -> tuple[str, ...]:
    """Return the words that pin a program to these CPUs from its beginning; none without `taskset`."""
    taskset = _taskset()
    return (taskset, "-c", ",".join(map(str, cpus))) if taskset else ()


def pin_process(pid: int, cpus: Sequence[int]) -> None:
    """Pin a process that was just started, on systems that can and have no `taskset`: Windows, small containers.

    It may have run elsewhere for a moment. One that has ended is no error.

    Raises:
        BenchmarkUnsupported: The system refuses.
    """
    if sys.platform == "darwin" or _taskset() is not None or not can_pin():
        return
    try:
        psutil.Process(pid).cpu_affinity(list(cpus))
    except psutil.NoSuchProcess:
        return
    except (psutil.Error, OSError, ValueError) as error:
        raise BenchmarkUnsupported(
            f"the system did not pin the program to CPU {', '.join(map(str, cpus))}: {error}", hint="leave out --cpus"
        ) from error


@cache
def _taskset() -> str | None:
    return shutil.which("taskset")


def _observe_load() -> dict[int, float]:
    before = psutil.cpu_times(percpu=True)
    shell.pause(_OBSERVE_S)
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


def max_mhz(number: int) -> float:
    """Return the highest frequency of a CPU; 0 where the kernel does not report it."""
    return _read_number(number, "cpufreq/cpuinfo_max_freq") / 1000


def _read_number(cpu: int, name: str) -> float:
    try:
        return float(Path(f"/sys/devices/system/cpu/cpu{cpu}/{name}").read_text())
    except (OSError, ValueError):
        return 0.0
