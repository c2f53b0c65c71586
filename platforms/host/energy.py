"""Energy of this machine's processors and memory, as counted by Intel's RAPL and shown by Linux.

It includes whole packages, with everything else that runs on them. Linux lets only root read the counters since
CVE-2020-8694: `chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj` lets others.
Source: Documentation/power/powercap/powercap.rst; AMD's processors show theirs in the same place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from harness.core.command import Completed

_POWERCAP: Final = Path("/sys/class/powercap")
_ZONE: Final = re.compile(r"intel-rapl:[0-9]+(:[0-9]+)?")
_COUNTED: Final = re.compile(r"package-[0-9]+(-die-[0-9]+)?|dram")
"""Zones that add up. `core` and `uncore` are parts of their package, which is a part of `psys`."""

_MOST_W: Final = 1000.0
"""More than any package draws for long. A counter that may have wrapped around twice is useless."""

_HIDDEN: Final = "the processors of this machine have no RAPL counters, or only root may read them"


class EnergyCounter(NamedTuple):
    """One counter of energy since boot.

    Attributes:
        microjoules: Its value.
        range_microjoules: Its largest value, after which it begins at 0.
    """

    microjoules: int
    range_microjoules: int


def measure_energy(run: Callable[[], Completed], folder: Path = _POWERCAP) -> Completed:
    """Run a program and return its result with the energy that was used meanwhile, or why that is unknown.

    Args:
        run: Runs the program to its end.
        folder: Folder in which Linux shows the counters.
    """
    before = _read_counters(folder)
    completed = run()
    after = _read_counters(folder)
    if not before or before.keys() != after.keys():
        return replace(completed, energy_unavailable=_HIDDEN)
    if any(completed.wall_s * _MOST_W * 1e6 > counter.range_microjoules for counter in before.values()):
        return replace(completed, energy_unavailable="it took so long that its counters may have wrapped around twice")
    return replace(completed, energy_mj={name: _used_mj(before[name], after[name]) for name in before})


def _used_mj(before: EnergyCounter, after: EnergyCounter) -> float:
    return (after.microjoules - before.microjoules) % (before.range_microjoules + 1) / 1000


def _read_counters(folder: Path) -> Mapping[str, EnergyCounter]:
    """Read counters by name: `package-0`, and `package-0 dram` for memory that it counts separately."""
    return dict(_iterate_counters(folder))


def _iterate_counters(folder: Path) -> Iterator[tuple[str, EnergyCounter]]:
    for zone in sorted(path for path in folder.glob("intel-rapl:*") if _ZONE.fullmatch(path.name)):
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
        if _COUNTED.fullmatch(name):
            yield f"{prefix}{name}", counter
