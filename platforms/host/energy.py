"""Energy of this machine's processors and memory, as counted by Intel's RAPL and shown by Linux.

It includes whole packages, with everything else that runs on them. Linux lets only root read the counters since
CVE-2020-8694: `chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj` lets others, until the next start.
Source: Documentation/power/powercap/powercap.rst; AMD's processors show theirs in the same place. Where the files
cannot be read, the kernel's events of the same counters may be (`platforms.host.perf_energy`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from harness.core.command import Command, Completed
from harness.core.power import PowerMethod
from platforms.host import perf_energy

POWERCAP: Final = Path("/sys/class/powercap")
_ZONE: Final = r"intel-rapl:[0-9]+(:[0-9]+)?"
_COUNTED: Final = r"package-[0-9]+(-die-[0-9]+)?|dram"
"""Zones that add up. `core` and `uncore` are parts of their package, which is a part of `psys`."""

_MOST_W: Final = 1000.0
"""More than any package draws for long. A counter that may have wrapped around twice is useless."""

_NO_COUNTERS: Final = "the processors of this machine have no RAPL counters, or a virtual machine hides them"
_HIDDEN: Final = (
    "only root may read the RAPL counters of this machine: `sudo chmod a+r {folder}/intel-rapl:*/energy_uj` lets "
    "everybody until the next start, and `sudo sysctl kernel.perf_event_paranoid=-1` lets `perf` read them instead"
)
_UNREADABLE: Final = "the RAPL counters of this machine show no numbers"
_NOT_ITS_OWN: Final = "method `{method}` reads rails or battery of a phone: this machine has `rapl` at most"


class EnergyCounter(NamedTuple):
    """One counter of energy since boot.

    Attributes:
        microjoules: Its value.
        range_microjoules: Its largest value, after which it begins at 0.
    """

    microjoules: int
    range_microjoules: int


class RaplMeter(Struct, frozen=True):
    """Meter of this machine: RAPL's counters, or else the kernel's events of them.

    Attributes:
        folder: Folder in which Linux shows the counters.
        events: Folder of the kernel's events of them.
    """

    folder: Path = POWERCAP
    events: Path = perf_energy.EVENTS

    def find_obstacle(self, method: PowerMethod | None = None) -> str | None:
        """Return why nothing can be metered, with what helps; None where it can."""
        if method not in {None, PowerMethod.RAPL}:
            return _NOT_ITS_OWN.format(method=method)
        if _read_counters(self.folder) or perf_energy.is_readable(self.events):
            return None
        zones = _find_zones(self.folder)
        if not zones:
            return _NO_COUNTERS
        is_hidden = any(not os.access(zone / "energy_uj", os.R_OK) for zone in zones)
        return _HIDDEN.format(folder=self.folder) if is_hidden else _UNREADABLE

    def measure(self, command: Command, run: Callable[[Command], Completed]) -> Completed:
        """Run a program and return its result with the energy that was used meanwhile, or why that is unknown.

        Args:
            command: The program, with what pins it.
            run: Runs a program to its end.
        """
        if not _read_counters(self.folder) and perf_energy.is_readable(self.events):
            return perf_energy.measure(command, run, self.events)
        completed = measure_energy(lambda: run(command), self.folder)
        if completed.energy_unavailable is None:
            return completed
        return replace(completed, energy_unavailable=self.find_obstacle() or completed.energy_unavailable)


def measure_energy(run: Callable[[], Completed], folder: Path = POWERCAP) -> Completed:
    """Run a program and return its result with the energy that was used meanwhile, or why that is unknown.

    Args:
        run: Runs the program to its end.
        folder: Folder in which Linux shows the counters.
    """
    before = _read_counters(folder)
    completed = run()
    after = _read_counters(folder)
    if not before or before.keys() != after.keys():
        return replace(completed, energy_unavailable=_NO_COUNTERS)
    if any(completed.wall_s * _MOST_W * 1e6 > counter.range_microjoules for counter in before.values()):
        return replace(completed, energy_unavailable="it took so long that its counters may have wrapped around twice")
    return replace(completed, energy_mj={name: _used_mj(before[name], after[name]) for name in before})


def _used_mj(before: EnergyCounter, after: EnergyCounter) -> float:
    return (after.microjoules - before.microjoules) % (before.range_microjoules + 1) / 1000


def _find_zones(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("intel-rapl:*") if re.fullmatch(_ZONE, path.name))


def _read_counters(folder: Path) -> Mapping[str, EnergyCounter]:
    """Read counters by name: `package-0`, and `package-0 dram` for memory that it counts separately."""
    return dict(_iterate_counters(folder))


def _iterate_counters(folder: Path) -> Iterator[tuple[str, EnergyCounter]]:
    for zone in _find_zones(folder):
        try:
            name = (zone / "name").read_text().strip()
            is_subzone = zone.name.count(":") > 1
            package = folder / zone.name.rpartition(":")[0]
            prefix = f"{(package / 'name').read_text().strip()} " if is_subzone else ""
            counter = EnergyCounter(
                int((zone / "energy_uj").read_text()), int((zone / "max_energy_range_uj").read_text())
            )
        except (OSError, ValueError):
            continue
        if re.fullmatch(_COUNTED, name):
            yield f"{prefix}{name}", counter
