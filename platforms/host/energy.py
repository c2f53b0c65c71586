"""Energy of this machine's processors and memory, as Intel's RAPL counts it and Linux shows it.

It is that of whole packages, with everything else that runs on them. Linux lets only root read the counters since
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
"""What no package draws for long. A counter that could have begun anew twice says nothing."""

_HIDDEN: Final = "the processors of this machine have no RAPL counters, or only root may read them"


class Counter(NamedTuple):
    """One counter of energy since boot.

    Attributes:
        microjoules: What it says.
        range_microjoules: Behind this it begins anew.
    """

    microjoules: int
    range_microjoules: int


def metered(run: Callable[[], Completed], folder: Path = _POWERCAP) -> Completed:
    """What became of a program, with the energy that was spent meanwhile, or why that is not known.

    Args:
        run: Runs the program to its end.
        folder: Where Linux shows the counters.
    """
    before = _counters(folder)
    completed = run()
    after = _counters(folder)
    if not before or before.keys() != after.keys():
        return replace(completed, energy_unavailable=_HIDDEN)
    if any(completed.wall_s * _MOST_W * 1e6 > counter.range_microjoules for counter in before.values()):
        return replace(completed, energy_unavailable="it took so long that its counters may have begun anew twice")
    return replace(completed, energy_mj={name: _spent_mj(before[name], after[name]) for name in before})


def _spent_mj(before: Counter, after: Counter) -> float:
    return (after.microjoules - before.microjoules) % (before.range_microjoules + 1) / 1000


def _counters(folder: Path) -> Mapping[str, Counter]:
    """By name: `package-0`, and `package-0 dram` for the memory that it counts beside itself."""
    return dict(_found(folder))


def _found(folder: Path) -> Iterator[tuple[str, Counter]]:
    for zone in sorted(one for one in folder.glob("intel-rapl:*") if _ZONE.fullmatch(one.name)):
        try:
            name = (zone / "name").read_text().strip()
            inside = zone.name.count(":") > 1
            place = folder / zone.name.rpartition(":")[0]
            owner = f"{(place / 'name').read_text().strip()} " if inside else ""
            counter = Counter(int((zone / "energy_uj").read_text()), int((zone / "max_energy_range_uj").read_text()))
        except (OSError, ValueError):
            continue
        if _COUNTED.fullmatch(name):
            yield f"{owner}{name}", counter
