"""CPUs of a phone, and which of them a program is pinned to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Self

from msgspec import Struct, field

from platforms.android.scripts import read_script
from platforms.cpu_kinds import group_by_kind
from platforms.staging import check_cpus

CPUS_SCRIPT: Final = read_script("cpus.sh")
"""Prints what `CpuTopology.parse` reads."""

_CPU = re.compile(r"/cpu([0-9]{1,4})/(cpu_capacity|cpufreq/cpuinfo_max_freq):([0-9]{1,9})$")
_ONLINE = re.compile(r"/cpu/online:([0-9,-]+)$")
_MOST_CPUS: Final = 4096


class CpuTopology(Struct, frozen=True):
    """CPUs of a phone, as its kernel describes them.

    Attributes:
        ranks: Capacity and highest clock in kHz by CPU; 0 where one of them is unknown. Empty when both are.
        online: CPUs that are switched on; None when unknown.
    """

    ranks: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    online: frozenset[int] | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse what `CPUS_SCRIPT` printed; anything else is skipped."""
        capacities: dict[int, int] = {}
        clocks_khz: dict[int, int] = {}
        online: frozenset[int] | None = None
        for line in text.splitlines():
            if match := _CPU.search(line):
                (capacities if match[2] == "cpu_capacity" else clocks_khz)[int(match[1])] = int(match[3])
            elif match := _ONLINE.search(line):
                online = _parse_cpu_list(match[1])
        cpus = capacities.keys() | clocks_khz.keys()
        return cls({cpu: (capacities.get(cpu, 0), clocks_khz.get(cpu, 0)) for cpu in cpus}, online)

    @property
    def usable(self) -> tuple[int, ...]:
        """All CPUs that can be used now; none when the phone does not report."""
        return tuple(sorted(cpu for cpu in self.ranks if self.online is None or cpu in self.online))

    def describe_offline(self) -> str | None:
        """Describe the CPUs that exist and cannot be used now; None when all can, or the phone does not report.

        Phones switch cores off when they are warm, or to save power: results of a phone without its biggest cores
        cannot be compared.
        """
        offline = sorted(set(self.ranks) - set(self.usable))
        if not offline:
            return None
        bigger = " (bigger ones among them)" if self._by_size(self.ranks)[0] in offline else ""
        return ", ".join(map(str, offline)) + bigger

    @property
    def kinds(self) -> tuple[tuple[int, ...], ...]:
        """CPUs that can be used, by kind, the fastest kind first; by capacity where the kernel has it."""
        has_capacity = all(self.ranks[cpu][0] for cpu in self.usable)
        return group_by_kind({cpu: self.ranks[cpu][0 if has_capacity else 1] for cpu in self.usable})

    def describe_mixture(self, cpus: Sequence[int]) -> str | None:
        """Describe the kinds that CPUs are of; None where they are of one kind, or unknown."""
        parts = [tuple(cpu for cpu in kind if cpu in cpus) for kind in self.kinds]
        parts = [part for part in parts if part]
        return "; ".join(self._describe_part(part) for part in parts) if len(parts) > 1 else None

    def _describe_part(self, cpus: Sequence[int]) -> str:
        khz = max(self.ranks[cpu][1] for cpu in cpus)
        return f"CPU {', '.join(map(str, cpus))}" + (f" up to {khz // 1000} MHz" if khz else "")

    def check(self, cpus: Sequence[int]) -> tuple[int, ...]:
        """Return CPUs in ascending order; a phone that does not report its CPUs is believed to have them.

        Raises:
            BenchmarkUnsupported: One of them is not usable; the hint lists those that are.
        """
        return check_cpus(cpus, self.usable or cpus, "on the phone")

    def choose(self, threads: int, candidates: Sequence[int] = ()) -> tuple[int, ...]:
        """Return the biggest CPUs for so many threads in ascending order; fewer when there are not so many.

        Args:
            threads: Number of threads.
            candidates: CPUs to choose from; none means all.
        """
        ranked = self._by_size(self.usable)
        if candidates:
            ranked = [cpu for cpu in ranked if cpu in candidates] or list(candidates)
        return tuple(sorted(ranked[: max(1, threads)]))

    def _by_size(self, cpus: Iterable[int]) -> list[int]:
        """Sort CPUs by capacity, then by highest clock, because clocks of different designs do not compare.

        Capacity: Linux, `sched-capacity.rst`. CPU 0, which serves most interrupts, comes last among equals.
        """
        return sorted(cpus, key=lambda cpu: (-self.ranks[cpu][0], -self.ranks[cpu][1], cpu == 0, cpu))


def _parse_cpu_list(text: str) -> frozenset[int]:
    """Parse a list of the kernel: `0-3,6`."""
    cpus: set[int] = set()
    for part in text.split(","):
        ends = [int(end) for end in part.split("-") if end][:2]
        if ends and ends[-1] < _MOST_CPUS:
            cpus.update(range(ends[0], ends[-1] + 1))
    return frozenset(cpus)
